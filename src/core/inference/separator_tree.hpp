// Clique trees of which only separators are stored: the tree of an order, and the memory that its passes take.
#pragma once
#include "inference/elimination_order.hpp"

namespace cp::inference {

// A clique eliminates the variables `own`; it shares `separator` with its parent (−1: a root).
struct SeparatorClique {
  std::vector<Int> axes, own, separator;  // variables, in the order of elimination
  std::vector<Int> children;
  Int parent = -1, stage = 0;
  double cells = 1.0, separator_cells = 1.0;
};

// The tree of an elimination order over variables of the model; children come before parents.
class SeparatorTree {
 public:
  std::vector<SeparatorClique> cliques;
  std::vector<Int> home;        // by variable: the clique that eliminates it, −1 if none does
  std::vector<Int> rank;        // by variable: its place in all scopes
  std::vector<Int> kept;        // variables that are not eliminated, in the order of `rank`
  std::vector<Int> up;          // the cliques in the order of the upward pass
  double cells = 0.0, largest = 0.0, separator_cells = 0.0, largest_separator = 0.0;
  double largest_own = 1.0;     // joint states of what one clique eliminates

  // `order` has nodes of the graph.
  SeparatorTree(const ScopeGraph& graph, const ReducedModel& model, const std::vector<Int>& order)
      : home(model.cards.size(), -1), rank(model.cards.size(), -1) {
    const std::vector<Int> place = positions(graph, order);
    for (Int v = 0; v < graph.size(); ++v) {
      rank[graph.variables[v]] = place[v];
      if (graph.stages[v] == KEPT) kept.push_back(graph.variables[v]);
    }
    std::vector<Int> parents(order.size(), -1), owner(order.size(), -1);
    std::vector<std::vector<Int>> later(order.size());
    eliminate_in_order(graph, order, [&](Int k, Words row, Int parent) {
      for_each_row(row, [&](Int u) { later[k].push_back(graph.variables[u]); });
      if (parent >= 0) parents[k] = place[parent];
    });
    for (std::size_t k = 0; k < order.size(); ++k) {
      const Int v = graph.variables[order[k]], stage = graph.stages[order[k]];
      if (owner[k] < 0) {
        owner[k] = cliques.size();
        SeparatorClique clique;
        clique.axes = later[k];
        clique.axes.push_back(v);
        clique.stage = stage;
        cliques.push_back(std::move(clique));
      }
      cliques[owner[k]].own.push_back(v);
      cliques[owner[k]].separator = later[k];
      home[v] = owner[k];
      const Int p = parents[k];  // a parent inside its child joins it
      if (p >= 0 && owner[p] < 0 && later[p].size() + 1 == later[k].size() && graph.stages[order[p]] == stage) owner[p] = owner[k];
    }
    for (std::size_t k = 0; k < order.size(); ++k)
      if (parents[k] >= 0 && owner[parents[k]] != owner[k]) cliques[owner[k]].parent = owner[parents[k]];
    finish(model);
  }

  // Whether each message is kept between the passes, if at most `segment` cells below it are not.
  std::vector<char> kept_messages(double segment) const {
    std::vector<double> unkept(cliques.size(), 0.0);
    std::vector<char> keep(cliques.size(), 1);
    for (Int i : up) {
      double below = cliques[i].separator_cells;
      for (Int c : cliques[i].children) below += unkept[c];
      keep[i] = below > segment || 64 * cliques[i].separator_cells < segment;
      unkept[i] = keep[i] ? 0.0 : below;
    }
    return keep;
  }

  // The largest number of cells in memory at a time, in both passes; `again` gets those of cliques formed once more.
  double peak_cells(double segment, double* again = nullptr) const {
    const std::vector<char> keep = kept_messages(segment);
    std::vector<char> here(cliques.size(), 0);
    double now = 0.0, peak = 0.0, repeated = 0.0;
    const auto add = [&](double x) { peak = std::max(peak, now += x); };
    for (Int i : up) {
      add(cliques[i].separator_cells);
      here[i] = 1;
      for (Int c : cliques[i].children) if (!keep[c]) now -= cliques[c].separator_cells, here[c] = 0;
    }
    std::vector<Int> stack;
    for (std::size_t r = 0; r < cliques.size(); ++r) {
      if (cliques[r].parent >= 0) continue;
      stack.push_back(r);
      while (!stack.empty()) {
        const Int i = stack.back();
        stack.pop_back();
        for (Int c : cliques[i].children) {
          for (Int m : missing_below(c, here)) add(cliques[m].separator_cells), here[m] = 1, repeated += cliques[m].cells;
          stack.push_back(c);
        }
        for (Int c : cliques[i].children) add(cliques[c].separator_cells);
        if (cliques[i].parent >= 0) now -= cliques[i].separator_cells;
        for (Int c : cliques[i].children) now -= cliques[c].separator_cells, here[c] = 0;
      }
    }
    if (again) *again = repeated;
    return peak;
  }

  // The messages to compute, children first, before that of clique `top` is there.
  std::vector<Int> missing_below(Int top, const std::vector<char>& here) const {
    std::vector<Int> out;
    if (here[top]) return out;
    out.push_back(top);
    for (std::size_t k = 0; k < out.size(); ++k)
      for (Int c : cliques[out[k]].children) if (!here[c]) out.push_back(c);
    std::reverse(out.begin(), out.end());
    return out;
  }

  // The largest segment whose peak is at most `limit` cells (∞: all messages are kept), else that of the lowest peak.
  double best_segment(double limit, double& peak) const {
    double best = INF;
    peak = peak_cells(INF);
    for (double segment = separator_cells / 2; peak > limit && segment >= std::max(1.0, largest_separator); segment /= 1.5) {
      const double other = peak_cells(segment);
      if (other < peak) peak = other, best = segment;
    }
    return best;
  }

  void sort(std::vector<Int>& scope) const {
    std::sort(scope.begin(), scope.end(), [&](Int a, Int b) { return rank[a] < rank[b]; });
  }

 private:
  void finish(const ReducedModel& model) {
    std::sort(kept.begin(), kept.end(), [&](Int a, Int b) { return rank[a] < rank[b]; });
    for (std::size_t i = 0; i < cliques.size(); ++i) {
      SeparatorClique& clique = cliques[i];
      sort(clique.axes);
      sort(clique.separator);
      for (Int v : clique.axes) clique.cells *= double(model.cards[v]);
      for (Int v : clique.separator) clique.separator_cells *= double(model.cards[v]);
      cells += clique.cells;
      largest = std::max(largest, clique.cells);
      largest_own = std::max(largest_own, clique.cells / clique.separator_cells);
      if (clique.parent < 0) continue;
      cliques[clique.parent].children.push_back(i);
      separator_cells += clique.separator_cells;
      largest_separator = std::max(largest_separator, clique.separator_cells);
    }
    std::vector<std::pair<Int, std::size_t>> stack;
    for (std::size_t r = 0; r < cliques.size(); ++r) {
      if (cliques[r].parent < 0) stack.push_back({r, 0});
      while (!stack.empty()) {
        auto& [i, next] = stack.back();
        auto& children = cliques[i].children;
        if (next == 0) std::stable_sort(children.begin(), children.end(), [&](Int a, Int b) { return cliques[a].cells > cliques[b].cells; });
        if (next < children.size()) {
          const Int child = children[next++];
          stack.push_back({child, 0});
        } else {
          up.push_back(i);
          stack.pop_back();
        }
      }
    }
  }
};

}  // namespace cp::inference
