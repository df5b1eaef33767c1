// Moves through the layers of a partition, and through its networks.
//
// The first layer holds the nodes without parents; every other node needs a parent in the layer before
// its own. So each network has one partition (Kuipers & Moffa 2017).
#pragma once
#include "learn/bayesian/order_chain.hpp"

namespace cp::bayesian {

constexpr Int ROUNDS = 4;      // of turned edges and a hop through orders, for each sample
constexpr Int ORDER_MOVES = 12;  // in a hop, for each turned edge: they cost a tenth of one
constexpr double NEGLIGIBLE = -1e-10;  // parent sets of a smaller share than this count as none

// The log of the sum over the parent sets inside `before` that touch `previous`.
inline double needing(Floats sums, Int before, Int previous) {
  const double gap = sums[before & ~previous] - sums[before];
  return gap > NEGLIGIBLE ? -INF : sums[before] + std::log(-std::expm1(gap));
}

// The candidates of a node in the layers before its own, and those in the last of them.
struct Reach {
  Int before = 0, previous = 0;
};

inline Reach reach_of(Ints candidates, Ints layer, Int level) {
  Reach reach;
  for (Int c = 0; c < candidates.size(); ++c) {
    const Int other = layer[candidates[c]], bit = Int(1) << c;
    if (other < level) reach.before |= bit;
    if (other == level - 1) reach.previous |= bit;
  }
  return reach;
}

// The log-weight of node i in the layer `level`: a parent from the layer before, or none.
inline double log_weight(const Tables& tables, Ints layer, Int i, Int level) {
  if (level == 0) return tables.sums(i, 0);
  const auto [before, previous] = reach_of(tables.candidates[i], layer, level);
  return needing(tables.sums[i], before, previous);
}

// Put v behind all layers, close the gap it may leave, and return the number of layers.
inline Int take_out(Vector<Int> layer, Int v) {
  Int n_layers = 0;
  bool alone = true;
  for (Int i = 0; i < layer.size(); ++i) {
    if (i == v) continue;
    n_layers = std::max(n_layers, layer[i] + 1);
    alone = alone && layer[i] != layer[v];
  }
  if (alone && layer[v] < n_layers) {
    n_layers -= 1;
    const Int gap = layer[v];
    for (Int& level : layer) level -= level > gap;
  }
  layer[v] = layer.size();
  return n_layers;
}

// Draw a new place for v from its conditional: in any layer, or alone between two; O(n k).
//
// `parts` (4, n + 3) and `logs` (2 n + 2) are scratch.
inline void move_in_layers(const Tables& tables, Vector<Int> layer, Int v, double uniform, Matrix<double> parts,
                           Vector<double> logs) {
  const Int n_layers = take_out(layer, v);
  // Row by row, sums over the nodes of a layer when v comes nowhere before them, well before them, joins
  // the layer before them, or is alone right before them.
  enum { NOWHERE, EARLIER, JOINED, ALONE };
  parts.fill(0.0);
  for (Int i = 0; i < layer.size(); ++i) {
    if (i == v) continue;
    const Floats sums = tables.sums[i];
    const Int t = layer[i], bit = tables.bits(i, v);
    const auto [before, previous] = reach_of(tables.candidates[i], layer, t);
    parts(ALONE, t) += bit == 0 ? -INF : needing(sums, before | bit, bit);
    if (t == 0) {
      parts(NOWHERE, 0) += sums[0];
      continue;
    }
    const double without = needing(sums, before, previous);
    parts(NOWHERE, t) += without;
    parts(EARLIER, t) += bit == 0 ? without : needing(sums, before | bit, previous);
    parts(JOINED, t) += bit == 0 ? without : needing(sums, before | bit, previous | bit);
  }
  for (Int t = n_layers - 1; t >= 0; --t) parts(EARLIER, t) += parts(EARLIER, t + 1);
  double sum_before = 0.0;
  for (Int t = 0; t <= n_layers; ++t) {
    const double weight = log_weight(tables, layer, v, t);
    logs[2 * t] = weight + sum_before + parts(ALONE, t) + parts(EARLIER, t + 1);
    sum_before += parts(NOWHERE, t);
    logs[2 * t + 1] = weight + sum_before + parts(JOINED, t + 1) + parts(EARLIER, t + 2);
  }
  const Int place = choose(logs.part(0, 2 * n_layers + 1), uniform), level = place / 2;
  if (place % 2 == 0)
    for (Int& other : layer) other += other >= level;
  layer[v] = level;
}

inline void draw_networks(const Tables& tables, Ints layer, Floats uniforms, SetDraw& draw, Vector<Int> chosen) {
  for (Int i = 0; i < layer.size(); ++i) {
    const auto [before, previous] = reach_of(tables.candidates[i], layer, layer[i]);
    chosen[i] = draw(i, before, previous, uniforms[i]);
  }
}

// Fill `chosen` with a parent set for each node, drawn from the networks of the partition.
inline void draw_by_layers(const Tables& tables, Ints layer, Floats uniforms, Vector<Int> chosen) {
  SetDraw draw(tables);
  draw_networks(tables, layer, uniforms, draw, chosen);
}

// Fill the layers of a network: one more than the last of a node's parents.
inline void fill_layers(Matrix<const Int> candidates, Ints chosen, Vector<Int> layer) {
  layer.fill(0);
  for (bool settled = false; !settled;) {
    settled = true;
    for (Int i = 0; i < layer.size(); ++i)
      for_each_bit(Word(chosen[i]), [&](Int c) {
        const Int parent = candidates(i, c);
        if (layer[i] > layer[parent]) return;
        layer[i] = layer[parent] + 1;
        settled = false;
      });
  }
}

// The candidates of i that are not its descendants; fills `below` with who is.
inline Int not_below(Matrix<const Int> candidates, Ints chosen, Int i, Vector<bool> below) {
  below.fill(false);
  below[i] = true;
  for (bool settled = false; !settled;) {
    settled = true;
    for (Int u = 0; u < chosen.size(); ++u) {
      if (below[u]) continue;
      for (Word left = Word(chosen[u]); left != 0; left &= left - 1)
        if (below[candidates(u, lowest_bit(left))]) {
          below[u] = true;
          settled = false;
          break;
        }
    }
  }
  Int free = 0;
  for (Int c = 0; c < candidates.shape(1); ++c)
    if (!below[candidates(i, c)]) free |= Int(1) << c;
  return free;
}

// Turn a random edge i → j, with new parents for both (Grzegorczyk & Husmeier 2008).
inline void reverse_edge(const Tables& tables, Vector<Int> chosen, Floats uniforms, SetDraw& draw, Vector<bool> below) {
  const Matrix<const Int> candidates = tables.candidates, bits = tables.bits;
  Int n_edges = 0;
  for (Int mask : chosen) n_edges += popcount(Word(mask));
  if (n_edges == 0) return;
  Int pick = std::min(n_edges - 1, Int(uniforms[0] * double(n_edges)));
  Int j = 0;
  while (pick >= popcount(Word(chosen[j]))) pick -= popcount(Word(chosen[j++]));
  Word parents = Word(chosen[j]);
  for (; pick > 0; --pick) parents &= parents - 1;
  const Int i = candidates(j, lowest_bit(parents));
  if (bits(i, j) == 0) return;
  const Floats sums_i = tables.sums[i], sums_j = tables.sums[j];
  const Int old_i = chosen[i], old_j = chosen[j];
  // As if the edge were turned back: j first, with i among its parents, then i.
  chosen[i] = chosen[j] = 0;
  double backward = needing(sums_j, not_below(candidates, chosen, j, below), bits(j, i));
  const Int free_i = not_below(candidates, chosen, i, below);
  chosen[j] = old_j;
  backward += sums_i[not_below(candidates, chosen, i, below)];
  chosen[j] = 0;
  double forward = needing(sums_i, free_i, bits(i, j));
  chosen[i] = draw(i, free_i, bits(i, j), uniforms[1]);
  const Int free_j = not_below(candidates, chosen, j, below);
  forward += sums_j[free_j];
  chosen[j] = draw(j, free_j, 0, uniforms[2]);
  const auto size = [](Int mask) { return popcount(Word(mask)); };
  const Int now = n_edges + size(chosen[i]) + size(chosen[j]) - size(old_i) - size(old_j);
  if (!(uniforms[3] * double(now) < double(n_edges) * std::exp(std::min(700.0, forward - backward)))) {
    chosen[i] = old_i;
    chosen[j] = old_j;
  }
}

// Take the nodes one by one, each one of those whose parents are taken: which, says pick(step, ready).
//
// Returns the log-probability of the order if each choice is uniform.
template <class Pick>
double take_in_turn(const Tables& tables, Ints chosen, Pick pick) {
  const Int n = tables.n();
  Array<Int, 1> before = zeros<Int>(n), ready(n);
  Array<bool, 1> taken = zeros<bool>(n);
  double log_share = 0.0;
  for (Int step = 0; step < n; ++step) {
    Int size = 0;
    for (Int i = 0; i < n; ++i)
      if (!taken[i] && (chosen[i] & ~before[i]) == 0) ready[size++] = i;
    const Int v = pick(step, ready.part(0, size));
    log_share -= std::log(double(size));
    taken[v] = true;
    for (Int i = 0; i < n; ++i) before[i] |= tables.bits(i, v);
  }
  return log_share;
}

// Move the network through orders: one that it fits, moves in it, and a network drawn from the last.
//
// The pair of network G and order O has the weight exp(score G) q(O | G), with q of `take_in_turn`. Moves
// of orders and the draw of a network are reversible for exp(score G) alone, so that the proposal is
// accepted by the ratio of q; without it a network would count once for each order that it fits.
// `uniforms`: n for the order, two for each move, n for the network and one for the acceptance.
inline void hop_by_orders(const Tables& tables, Vector<Int> chosen, Floats uniforms, SetDraw& draw,
                          Vector<double> logs) {
  const Int n = tables.n(), moves = (uniforms.size() - 2 * n - 1) / 2;
  Array<Int, 1> order(n), before(n), proposed(n);
  const double here = take_in_turn(tables, chosen, [&](Int step, Ints ready) {
    return order[step] = ready[std::min(ready.size() - 1, Int(uniforms[step] * double(ready.size())))];
  });
  fill_before(tables, order, before);
  for (Int move = 0; move < moves; ++move) {
    const Int at = n + 2 * move;
    move_in_order(tables, order, before, std::min(n - 1, Int(uniforms[at] * double(n))), uniforms[at + 1], logs);
  }
  for (Int i = 0; i < n; ++i) proposed[i] = draw(i, before[i], 0, uniforms[n + 2 * moves + i]);
  const double there = take_in_turn(tables, proposed, [&](Int step, Ints) { return order[step]; });
  if (std::log(uniforms[2 * n + 2 * moves]) < there - here) chosen.copy_from(proposed);
}

// Add each edge's probability given the partition; returns the log-score.
inline double add_partition(const Tables& tables, Ints layer, Matrix<double> edges) {
  double total = 0.0;
  for (Int i = 0; i < layer.size(); ++i) {
    const Floats sums = tables.sums[i];
    const auto [before, previous] = reach_of(tables.candidates[i], layer, layer[i]);
    total += log_weight(tables, layer, i, layer[i]);
    const double whole = sums[before], without = sums[before & ~previous] - whole;
    const double needed = -std::expm1(without);
    for (Int c = 0; c < tables.k(); ++c) {
      const Int bit = Int(1) << c;
      if (!(before & bit)) continue;
      double share = -std::expm1(sums[before & ~bit] - whole);
      if (!(previous & bit)) {  // without this parent and without the layer before
        share += std::exp(sums[before & ~bit & ~previous] - whole);
        share -= std::exp(without);
      }
      edges(i, c) += std::min(std::max(share / needed, 0.0), 1.0);
    }
  }
  return total;
}

// Take the moves of `uniforms` (samples, 9 n + 4 + 114 turns), and add up each sample's edges.
//
// A sample draws a network of the partition, turns edges of it and hops through orders in rounds, and moves
// as many nodes of the partition of the result. A lone edge turns whenever it is asked to, and after an even
// number of turns is what it was: the hops, which draw it anew, make both directions come up.
inline void walk_layers(const Tables& tables, Vector<Int> layer, Matrix<const double> uniforms, Matrix<double> edges,
                        Vector<double> log_scores) {
  const Int n = layer.size(), turns = (uniforms.shape(1) - 9 * n - 4) / 114;
  const Int of_hop = 2 * n + 1 + 2 * ORDER_MOVES * turns;
  SetDraw draw(tables);
  Array<double, 1> logs(2 * n + 2);
  Array<double, 2> parts(4, n + 3);
  Array<Int, 1> chosen(n);
  Array<bool, 1> below(n);
  Pulse pulse;
  for (Int sample = 0; sample < uniforms.shape(0); ++sample) {
    const Floats row = uniforms[sample];
    draw_networks(tables, layer, row, draw, chosen);
    Int at = n;
    for (Int round = 0; round < ROUNDS; ++round) {
      pulse(turns * (4 * n * tables.k() + 2 * tables.sets.shape(1) + 20 * ORDER_MOVES * n));
      for (Int turn = 0; turn < turns; ++turn, at += 4) reverse_edge(tables, chosen, row.part(at, at + 4), draw, below);
      pulse(n * (2 * n + tables.sets.shape(1)));
      hop_by_orders(tables, chosen, row.part(at, at + of_hop), draw, logs.part(0, n));
      at += of_hop;
    }
    fill_layers(tables.candidates, chosen, layer);
    for (Int move = 0; move < turns; ++move, at += 2) {
      pulse(n * (100 + tables.k()));
      move_in_layers(tables, layer, std::min(n - 1, Int(row[at] * double(n))), row[at + 1], parts, logs);
    }
    log_scores[sample] = add_partition(tables, layer, edges);
  }
}

}  // namespace cp::bayesian
