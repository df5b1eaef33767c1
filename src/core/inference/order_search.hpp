// Local search on elimination orders: a node moves, and only the cliques between its two places are computed again.
#pragma once
#include "inference/elimination_order.hpp"

namespace cp::inference {

// Numbers below n from a state of `next_uniform`.
inline Int draw_index(Word& random, Int n) { return Int(mix_bits(random += SPLITMIX_STEP) % Word(n)); }

// An order and its cliques. `energy` is the sum of cells^power over all cliques.
class OrderWindow {
 public:
  const ScopeGraph& graph;
  std::vector<Int> order, place, parent;  // parent −1: none is eliminated later
  std::vector<std::vector<Int>> children;
  std::vector<double> cost;
  double energy = 0.0;
  Int work = 0;  // words read

  OrderWindow(const ScopeGraph& g, std::vector<Int> start, double power)
      : graph(g), order(std::move(start)), parent(g.size(), -1), children(g.size()), cost(g.size(), 0.0),
        power_(power), later_(g.rows.size()) {
    rebuild();
  }

  void rebuild() {
    place = positions(graph, order);
    moved_ = place;
    for (auto& list : children) list.clear();
    energy = 0.0;
    eliminate_in_order(graph, order, [&](Int k, Words row, Int above) {
      const Int v = order[k];
      std::copy(row.begin(), row.end(), later(v).begin());
      double log2_cells = graph.bits[v];
      for_each_row(row, [&](Int u) { log2_cells += graph.bits[u]; });
      parent[v] = above;
      cost[v] = weigh(log2_cells);
      energy += cost[v];
      if (above >= 0) children[above].push_back(v);
    });
    work += Int(order.size()) * (2 * graph.words + 20);
  }

  // The same cliques in an order in which each subtree is contiguous, children shuffled.
  void to_postorder(Word& random) {
    const auto shuffle = [&](std::vector<Int>& list) {
      for (Int k = Int(list.size()) - 1; k > 0; --k) std::swap(list[k], list[draw_index(random, k + 1)]);
    };
    std::vector<Int> out, roots;
    for (Int v : order) {
      if (parent[v] < 0) roots.push_back(v);
      shuffle(children[v]);
    }
    shuffle(roots);
    std::vector<std::pair<Int, std::size_t>> stack;
    for (Int root : roots) {
      stack.push_back({root, 0});
      while (!stack.empty()) {
        auto& [v, next] = stack.back();
        if (next < children[v].size()) {
          const Int child = children[v][next++];
          stack.push_back({child, 0});
        } else {
          out.push_back(v);
          stack.pop_back();
        }
      }
    }
    sort_by_stage(graph, out);
    order = std::move(out);
    rebuild();
  }

  // Take the node at `from` to position `to`, if the energy does not exceed `bound`.
  bool move(Int from, Int to, double bound) {
    const Int low = std::min(from, to), high = std::max(from, to), n = high - low + 1, words = graph.words, v = order[from];
    window_.assign(order.begin() + low, order.begin() + high + 1);
    if (from < to) std::rotate(window_.begin(), window_.begin() + 1, window_.end());
    else std::rotate(window_.begin(), window_.end() - 1, window_.end());
    cliques_.resize(n * words);
    double before = 0.0;
    for (Int k = 0; k < n; ++k) {
      const Int u = window_[k];
      moved_[u] = low + k;
      std::copy_n(graph.rows.data() + u * words, words, cliques_.data() + k * words);
      before += cost[u];
    }
    rehang(low, high, v);
    if (!weigh_window(low, high, bound - energy + before)) {
      for (Int k = low; k <= high; ++k) moved_[order[k]] = k;
      return false;
    }
    for (auto [child, above] : rehung_) hang(child, above);
    double after = 0.0;
    for (Int k = 0; k < n; ++k) {
      const Int u = window_[k];
      std::copy_n(cliques_.data() + k * words, words, later(u).begin());
      hang(u, new_parent_[k]);
      cost[u] = new_cost_[k];
      after += cost[u];
      order[low + k] = u;
      place[u] = low + k;
    }
    energy += after - before;
    return true;
  }

 private:
  double power_;
  std::vector<Word> later_;              // by node: the members of its clique that are eliminated later
  std::vector<Int> moved_, window_, new_parent_;
  std::vector<Word> cliques_;
  std::vector<double> new_cost_;
  std::vector<std::pair<Int, Int>> rehung_;

  Vector<Word> later(Int v) { return {later_.data() + v * graph.words, {graph.words}}; }
  double weigh(double log2_cells) const { return graph.cells(power_ * log2_cells); }

  // Cliques from before the window: those with v may have another parent now.
  void rehang(Int low, Int high, Int v) {
    const Int words = graph.words;
    rehung_.clear();
    for (Int u : window_) {
      for (Int child : children[u]) {
        if (place[child] >= low) continue;
        const Words row = later(child);
        Int above = u;
        work += words + 6;
        if (u == v || has(row, v)) {
          Int first = order.size();
          above = -1;
          for_each_row(row, [&](Int a) { if (moved_[a] < first) first = moved_[a], above = a; });
        }
        if (above != u) rehung_.push_back({child, above});
        const Int k = above >= 0 ? moved_[above] : -1;
        if (low <= k && k <= high) unite({cliques_.data() + (k - low) * words, {words}}, row);
      }
    }
  }

  // The cliques of the window; false as soon as their cost exceeds `room`.
  bool weigh_window(Int low, Int high, double room) {
    const Int n = high - low + 1, words = graph.words, last = Int(order.size());
    new_parent_.assign(n, -1);
    new_cost_.assign(n, 0.0);
    double total = 0.0;
    for (Int k = 0; k < n; ++k) {
      const Vector<Word> row{cliques_.data() + k * words, {words}};
      double log2_cells = graph.bits[window_[k]];
      Int first = last;
      for (Int w = 0; w < words; ++w) {
        Word word = row[w];
        for_each_bit(word, [&](Int a) {
          if (moved_[a] <= low + k) {
            word &= ~bit(a);
            return;
          }
          log2_cells += graph.bits[a];
          if (moved_[a] < first) first = moved_[a], new_parent_[k] = a;
        }, 64 * w);
        row[w] = word;
      }
      work += 2 * words + 12;
      new_cost_[k] = weigh(log2_cells);
      total += new_cost_[k];
      if (total > room) return false;
      if (first <= high) unite({cliques_.data() + (first - low) * words, {words}}, row);
    }
    return true;
  }

  void hang(Int child, Int above) {
    if (parent[child] == above) return;
    if (parent[child] >= 0) {
      auto& list = children[parent[child]];
      const auto at = std::find(list.begin(), list.end(), child);
      *at = list.back();
      list.pop_back();
    }
    parent[child] = above;
    if (above >= 0) children[above].push_back(child);
  }
};

// The best order reached from `start` while `budget` words are read.
//
// A move is accepted if log2 of the energy rises by at most T · −log2 u; T falls from .03 to .001. High temperatures
// were measured to ruin it.
inline EliminationOrder search_order(const ScopeGraph& graph, const EliminationOrder& start, double budget, double power, Word& random) {
  const Int n = start.order.size();
  if (n < 3) return start;
  constexpr double HOT = .03, COLD = .001;
  constexpr Int FARTHEST = 200;
  const Int n_first = std::count_if(start.order.begin(), start.order.end(), [&](Int v) { return graph.stages[v] == 0; });
  OrderWindow window(graph, start.order, power);
  double least = window.energy, heat = HOT;
  std::vector<Int> best = window.order;
  Pulse pulse;
  for (Int k = 0;; ++k) {
    if (k % 64 == 0) {
      const double share = double(window.work) / budget;
      if (share >= 1.0) break;
      heat = HOT * std::pow(COLD / HOT, share);
      pulse(64 * 1000);
    }
    window.work += 20;  // no endless loop where no move is possible
    if (k % (20 * n) == 0) window.to_postorder(random);
    else if (k % 2000 == 0) window.rebuild();  // sums of differences drift
    Int from = draw_index(random, n), to;
    if (next_uniform(random) < .5) {
      for (Int r = 0; r < 6; ++r) {
        const Int other = draw_index(random, n);
        if (window.cost[window.order[other]] > window.cost[window.order[from]]) from = other;
      }
    }
    const Int v = window.order[from];
    const auto& below = window.children[v];
    const double kind = next_uniform(random);
    if (kind < .3 && window.parent[v] >= 0) {
      to = window.place[window.parent[v]];
    } else if (kind < .6 && !below.empty()) {
      to = window.place[below[draw_index(random, below.size())]];
    } else {
      const Int distance = 1 + draw_index(random, Int(2) << draw_index(random, 6));
      to = next_uniform(random) < .5 ? from + distance : from - distance;
    }
    to = graph.stages[v] == 0 ? std::clamp<Int>(to, 0, n_first - 1) : std::clamp<Int>(to, n_first, n - 1);
    if (to == from || std::abs(to - from) > FARTHEST) continue;
    const double bound = window.energy * std::exp2(-heat * std::log2(next_uniform(random) + 1e-300));
    if (window.move(from, to, bound) && window.energy < least * (1 - 1e-9)) {
      least = window.energy;
      best = window.order;
    }
  }
  const EliminationOrder out = weigh_order(graph, std::move(best));
  return out.total < start.total ? out : start;
}

constexpr double CELLS_PER_SECOND = 1.5e8;  // of a plan, both passes and all marginals
constexpr double WORDS_PER_SECOND = 4e8;    // of a search for an order
constexpr double PATIENCE = WORDS_PER_SECOND;  // before a search that finds nothing is ended

// The best of greedy rules, sweeps, restarts and local search, as long as it can save more than it costs.
//
// `most_words` limits the search; it is also ended when it has taken half of what the passes would take, or saves less
// than it takes. Everything is counted in words read, so that the same graph has the same order on every machine. `uses` is how often the passes run.
inline EliminationOrder best_order(const ScopeGraph& graph, double most_words, double uses = 1.0) {
  constexpr double CHEAP = 1 << 14;
  Word random = 7;
  EliminationOrder best;
  double work = 0.0;
  const auto take = [&](EliminationOrder other) { if (other.total < best.total) best = std::move(other); };
  const auto greedy = [&](Rule rule, double noise, double bound) {
    GreedyOrder search(graph, rule, noise, random);
    EliminationOrder out = search.run(bound);
    work += double(search.work);
    return out;
  };
  EliminationOrder first = greedy(Rule::weighted_fill, 0.0, INF);
  if (first.total == INF) return weigh_order(graph, std::move(first.order));
  take(std::move(first));
  if (best.total < CHEAP) return best;
  for (Rule rule : {Rule::fill, Rule::weight, Rule::fill_times_weight}) {
    take(greedy(rule, 0.0, best.total));
    if (best.total < CHEAP) return best;
  }
  const Int far = farthest(graph, 0);
  for (Int start : {far, farthest(graph, far)}) take(sweep_order(graph, start));
  work = 0.0;
  const auto worth = [&] { return std::min(most_words, .5 * uses * best.total / CELLS_PER_SECOND * WORDS_PER_SECOND); };
  const double least = 100.0 * double(graph.size() * (2 * graph.words + 20));  // below, a search hardly gets anywhere
  if (worth() < least) return best;
  double slice = .2 * WORDS_PER_SECOND;
  std::vector<std::pair<double, double>> found;  // the work after each turn, and the cells then
  const auto pays = [&] {  // whether the last half of the work has saved more time in the passes than it took
    const auto half = std::find_if(found.begin(), found.end(), [&](auto& at) { return 2 * at.first >= work; });
    return work < PATIENCE || (half->second - best.total) / CELLS_PER_SECOND * uses > (work - half->first) / WORDS_PER_SECOND;
  };
  for (Int turn = 0; work < worth() && pays(); ++turn, slice = std::min(1.5 * slice, 3 * WORDS_PER_SECOND)) {
    const double budget = std::min(slice, std::max(least, worth() - work)), begun = work;
    EliminationOrder fresh;
    for (Int k = 0; work - begun < .3 * budget; ++k) {
      EliminationOrder other;
      if (k % 8 == 7) {
        other = sweep_order(graph, draw_index(random, graph.size()));
        work += double(graph.size() * (8 * graph.words + 40));
      } else {
        other = greedy(k % 3 ? Rule::weighted_fill : Rule::fill, k % 2 ? 1e-6 : .2, fresh.total);
      }
      if (other.total < fresh.total) fresh = std::move(other);
    }
    EliminationOrder start = turn % 3 == 2 && fresh.total < INF ? fresh : best;
    if (fresh.total < start.total) start = fresh;
    take(std::move(fresh));
    for (double power : {.5, 1.0}) start = search_order(graph, start, .35 * budget, power, random);
    work += .7 * budget;
    take(std::move(start));
    found.emplace_back(work, best.total);
  }
  return best;
}

// Fill `order` with the best order for so many uses that a search of so many words finds for the graph of these bit rows;
// returns the cells of its cliques.
inline double order_graph(Matrix<const Word> neighbors, Ints cards, double most_words, double uses, Vector<Int> order) {
  const ScopeGraph graph(neighbors, cards);
  if (graph.size() == 0) return 0.0;
  const EliminationOrder best = best_order(graph, most_words, uses);
  for (Int k = 0; k < order.size(); ++k) order[k] = best.order[k];
  return best.total;
}

}  // namespace cp::inference
