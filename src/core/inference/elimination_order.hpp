// Elimination orders: their cost, greedy rules, and sweeps.
//
// The cost of an order is the number of cells of all its cliques. Variables of stage 0 are eliminated before those of
// stage 1; those of stage 2 are never eliminated.
#pragma once
#include <vector>

#include "base/bits.hpp"
#include "base/pulse.hpp"
#include "inference/reduced_model.hpp"

namespace cp::inference {

constexpr Int KEPT = 2;  // the stage of variables that are not eliminated
constexpr double MOST_BITS = 1000;  // larger tables count as 2^1000 cells
constexpr double BEYOND_HOPE = 0x1p100;  // cells of a greedy order from which no search finds a good one
constexpr Int MOST_GREEDY = 1'200'000'000;  // words that a greedy order may read: about three seconds

struct EliminationOrder {
  std::vector<Int> order;
  double total = INF, largest = 0.0;  // cells of all cliques, and of the largest
};

// Which variables share a factor, as bit rows over those that have two states or more.
struct ScopeGraph {
  std::vector<Int> variables, cards, stages;  // by node: the variable of the model, its states, its stage
  std::vector<double> bits;                   // log2 of the number of states
  std::vector<Word> rows;
  Int words = 0;

  ScopeGraph(const ReducedModel& model, Ints stage_of) {
    std::vector<Int> node(model.cards.size(), -1);
    for (std::size_t v = 0; v < model.cards.size(); ++v) {
      if (model.cards[v] < 2) continue;
      node[v] = variables.size();
      variables.push_back(v);
      cards.push_back(model.cards[v]);
      stages.push_back(stage_of[v]);
      bits.push_back(std::log2(double(model.cards[v])));
    }
    words = (size() + 63) / 64;
    rows.assign(size() * words, 0);
    for (const Factor& f : model.factors)
      for (Int u : f.scope) for (Int v : f.scope) join(node[u], node[v]);
    for (Int u = 0; u < size(); ++u)
      for (Int v = 0; v < size(); ++v) if (stages[u] == KEPT && stages[v] == KEPT) join(u, v);
  }

  // The graph of these bit rows, in which all nodes are eliminated.
  ScopeGraph(Matrix<const Word> neighbors, Ints sizes) : cards(sizes.begin(), sizes.end()), stages(cards.size(), 0), rows(neighbors.data, neighbors.data + neighbors.size()), words(neighbors.shape(1)) {
    for (Int v = 0; v < sizes.size(); ++v) {
      variables.push_back(v);
      bits.push_back(std::log2(double(sizes[v])));
    }
  }

  Int size() const { return variables.size(); }
  Vector<Word> row(Int v) { return {rows.data() + v * words, {words}}; }
  Words row(Int v) const { return {rows.data() + v * words, {words}}; }
  void join(Int u, Int v) {
    if (u != v) rows[u * words + (v >> 6)] |= bit(v);
  }
  // Remove v from the graph: it has no neighbors left.
  void isolate(Int v) {
    for_each_row(row(v), [&](Int u) { rows[u * words + (v >> 6)] &= ~bit(v); });
    row(v).fill(0);
  }
  double cells(double log2_cells) const { return std::exp2(std::min(log2_cells, MOST_BITS)); }
};

// The positions of nodes in an order; kept nodes come after all others.
inline std::vector<Int> positions(const ScopeGraph& graph, const std::vector<Int>& order) {
  std::vector<Int> place(graph.size(), -1);
  for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
  Int next = order.size();
  for (Int v = 0; v < graph.size(); ++v) if (place[v] < 0) place[v] = next++;
  return place;
}

// Eliminate in order: a node hands its later neighbors to the earliest of them alone.
//
// visit(k, neighbors, parent) is called for each node of the order, with its later neighbors and the first of them in
// the order (−1 if none is eliminated later).
template <class Visit>
void eliminate_in_order(const ScopeGraph& graph, const std::vector<Int>& order, Visit visit) {
  std::vector<Word> rows = graph.rows;
  const Int words = graph.words;
  const std::vector<Int> place = positions(graph, order);
  std::vector<Word> done(words, 0);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Int v = order[k];
    Vector<Word> row{rows.data() + v * words, {words}};
    done[v >> 6] |= bit(v);
    for (Int w = 0; w < words; ++w) row[w] &= ~done[w];
    Int parent = -1, first = order.size();
    for_each_row(row, [&](Int u) { if (place[u] < first) first = place[u], parent = u; });
    visit(k, Words(row), parent);
    if (parent < 0) continue;
    Vector<Word> above{rows.data() + parent * words, {words}};
    unite(above, row);
    above[parent >> 6] &= ~bit(parent);
  }
}

inline EliminationOrder weigh_order(const ScopeGraph& graph, std::vector<Int> order) {
  EliminationOrder out;
  out.total = 0.0;
  eliminate_in_order(graph, order, [&](Int k, Words row, Int) {
    double log2_cells = graph.bits[order[k]];
    for_each_row(row, [&](Int u) { log2_cells += graph.bits[u]; });
    const double cells = graph.cells(log2_cells);
    out.total += cells;
    out.largest = std::max(out.largest, cells);
  });
  out.order = std::move(order);
  return out;
}

enum class Rule { weighted_fill, fill, weight, fill_times_weight };

// Always eliminate the node of the lowest score; gives up (total = ∞) when the cells exceed `bound`. Where the work
// exceeds a limit, or the cells all hope, the rest follows as it comes, and the total is ∞.
class GreedyOrder {
 public:
  Int work = 0;  // words read

  GreedyOrder(const ScopeGraph& graph, Rule rule, double noise, Word& random)
      : graph_(graph), rule_(rule), noise_(noise), random_(random) {}

  EliminationOrder run(double bound) {
    EliminationOrder out;
    std::vector<double> scores(graph_.size(), 0.0);
    std::vector<Int> waiting;
    Int stage_left[2] = {0, 0};
    for (Int v = 0; v < graph_.size(); ++v) {
      if (graph_.stages[v] == KEPT) continue;
      waiting.push_back(v);
      ++stage_left[graph_.stages[v]];
      scores[v] = score(v);
    }
    double total = 0.0;
    Pulse pulse;
    std::vector<char> left(graph_.size(), 0);
    for (Int v : waiting) left[v] = 1;
    while (!waiting.empty()) {
      const Int stage = stage_left[0] > 0 ? 0 : 1;
      std::size_t best = 0;
      double least = INF;
      for (std::size_t k = 0; k < waiting.size(); ++k) {
        if (graph_.stages[waiting[k]] != stage) continue;
        double s = scores[waiting[k]];
        if (noise_ > 0.0 && s > 1e-3) s *= 1.0 + noise_ * next_uniform(random_);
        if (s < least) least = s, best = k;
      }
      work += waiting.size();
      const Int v = waiting[best];
      waiting[best] = waiting.back();
      waiting.pop_back();
      left[v] = 0;
      --stage_left[stage];
      const double cells = eliminate(v);
      out.order.push_back(v);
      out.largest = std::max(out.largest, cells);
      total += cells;
      if (total > bound) return out;
      if (total > BEYOND_HOPE || work > MOST_GREEDY) {
        std::stable_sort(waiting.begin(), waiting.end(), [&](Int a, Int b) { return graph_.stages[a] < graph_.stages[b]; });
        out.order.insert(out.order.end(), waiting.begin(), waiting.end());
        return out;
      }
      for_each_row(Words{touched_.data(), {graph_.words}}, [&](Int u) { if (left[u]) scores[u] = score(u); });
      pulse(graph_.words * 100);
    }
    out.total = total;
    return out;
  }

 private:
  ScopeGraph graph_;
  Rule rule_;
  double noise_;
  Word& random_;
  std::vector<Word> touched_;  // nodes whose score may have changed

  double score(Int v) {
    const Words around = graph_.row(v);
    double fill = 0.0, log2_cells = graph_.bits[v];
    for_each_row(around, [&](Int a) {
      log2_cells += graph_.bits[a];
      const Words other = graph_.row(a);
      work += graph_.words + 4;
      if (rule_ == Rule::weighted_fill) {
        for (Int w = a >> 6; w < graph_.words; ++w) {
          const Word missing = around[w] & ~other[w] & (w == a >> 6 ? ~(bit(a) | (bit(a) - 1)) : ~Word(0));
          double states = 0.0;
          for_each_bit(missing, [&](Int b) { states += double(graph_.cards[b]); }, 64 * w);
          fill += double(graph_.cards[a]) * states;
          work += 2 * popcount(missing);
        }
      } else {
        Int missing = -1;
        for (Int w = 0; w < graph_.words; ++w) missing += popcount(around[w] & ~other[w]);
        fill += .5 * double(missing);
      }
    });
    if (fill == 0.0) return 1e-6 * log2_cells - 1.0;
    if (rule_ == Rule::weight) return log2_cells;
    if (rule_ == Rule::fill_times_weight) return std::log2(fill) + log2_cells + 2.0;
    return fill + 1e-6 * log2_cells;
  }

  // Connect the neighbors of v and remove it; returns the cells of its clique.
  double eliminate(Int v) {
    const Int words = graph_.words;
    const std::vector<Word> around(graph_.row(v).begin(), graph_.row(v).end());
    const Words neighbors{around.data(), {words}};
    touched_ = around;
    double log2_cells = graph_.bits[v];
    bool added = false;
    for_each_row(neighbors, [&](Int a) {
      log2_cells += graph_.bits[a];
      const Vector<Word> row = graph_.row(a);
      row[v >> 6] &= ~bit(v);
      for (Int w = 0; w < words; ++w) {
        const Word fresh = around[w] & ~row[w] & ~(w == a >> 6 ? bit(a) : 0);
        added |= fresh != 0;
        row[w] |= fresh;
      }
    });
    if (added) for_each_row(neighbors, [&](Int a) { unite({touched_.data(), {words}}, graph_.row(a)); });
    graph_.row(v).fill(0);
    return graph_.cells(log2_cells);
  }
};

// Order nodes by stage; within a stage the order stays, and so do the cliques if it is one of an elimination tree.
inline void sort_by_stage(const ScopeGraph& graph, std::vector<Int>& order) {
  std::stable_sort(order.begin(), order.end(), [&](Int a, Int b) { return graph.stages[a] < graph.stages[b]; });
}

// Sweep from `start`: always the node of the frontier that adds least to it, the oldest first. Best on grids.
inline EliminationOrder sweep_order(const ScopeGraph& graph, Int start) {
  std::vector<char> state(graph.size(), 0);  // 1 in the frontier, 2 done
  std::vector<Int> frontier{start}, order, born(graph.size(), 0);
  Int clock = 0, unseen = 0;
  state[start] = 1;
  Pulse pulse;
  while (Int(order.size()) < graph.size()) {
    if (frontier.empty()) {
      while (state[unseen] != 0) ++unseen;
      frontier.push_back(unseen);
      state[unseen] = 1;
      born[unseen] = ++clock;
    }
    std::size_t best = 0;
    double least = INF;
    for (std::size_t k = 0; k < frontier.size(); ++k) {
      const Int v = frontier[k];
      double growth = 1e-4 * double(born[v]) - graph.bits[v];
      for_each_row(graph.row(v), [&](Int u) { if (state[u] == 0) growth += graph.bits[u]; });
      if (growth < least) least = growth, best = k;
    }
    const Int v = frontier[best];
    frontier.erase(frontier.begin() + Int(best));
    state[v] = 2;
    order.push_back(v);
    for_each_row(graph.row(v), [&](Int u) {
      if (state[u] != 0) return;
      state[u] = 1;
      frontier.push_back(u);
      born[u] = ++clock;
    });
    pulse(frontier.size() * graph.words);
  }
  std::erase_if(order, [&](Int v) { return graph.stages[v] == KEPT; });
  sort_by_stage(graph, order);
  return weigh_order(graph, std::move(order));
}

// A node far from `start`, of least degree among the farthest.
inline Int farthest(const ScopeGraph& graph, Int start) {
  std::vector<Int> distance(graph.size(), -1), queue{start};
  distance[start] = 0;
  for (std::size_t k = 0; k < queue.size(); ++k)
    for_each_row(graph.row(queue[k]), [&](Int u) { if (distance[u] < 0) distance[u] = distance[queue[k]] + 1, queue.push_back(u); });
  Int best = queue.back();
  for (Int v : queue)
    if (distance[v] == distance[queue.back()] && size_of(graph.row(v)) < size_of(graph.row(best))) best = v;
  return best;
}

}  // namespace cp::inference
