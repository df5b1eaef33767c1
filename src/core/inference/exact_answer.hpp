// Exact answers within a limit of memory: a plan, and its passes for each assignment of the columns conditioned on.
#pragma once
#include "inference/order_search.hpp"
#include "inference/separator_passes.hpp"

namespace cp::inference {

enum Task : Int { TASK_WEIGHT, TASK_MARGINALS, TASK_JOINT, TASK_BEST };

// What plan_exact reports, in this order.
enum PlanEntry : Int { PLAN_ORDERED, PLAN_CONDITIONED, PLAN_CELLS, PLAN_LARGEST, PLAN_PEAK, PLAN_SEGMENT, PLAN_RUNS, PLAN_REPEATED, PLAN_LARGEST_OWN, PLAN_ENTRIES };

constexpr Int MOST_CONDITIONED = 40;
constexpr double HOPELESS = 0x1p52;  // cells beyond which no more planning is worth it

// A lower bound on the bits of the largest clique: the node of fewest neighbors is removed again and again, and the
// largest number of neighbors at a removal bounds the width (Bodlaender & Koster 2011).
inline Int least_width(const ScopeGraph& graph) {
  std::vector<Int> degree(graph.size());
  std::vector<char> left(graph.size(), 1);
  Int widest = 0;
  for (Int v = 0; v < graph.size(); ++v) degree[v] = size_of(graph.row(v));
  std::vector<std::vector<Int>> by_degree(graph.size() + 1);
  for (Int v = 0; v < graph.size(); ++v) by_degree[degree[v]].push_back(v);
  for (Int d = 0; d < Int(by_degree.size());) {
    if (by_degree[d].empty()) {
      ++d;
      continue;
    }
    const Int v = by_degree[d].back();
    by_degree[d].pop_back();
    if (!left[v] || degree[v] != d) continue;
    left[v] = 0;
    widest = std::max(widest, d);
    for_each_row(graph.row(v), [&](Int u) { if (left[u]) by_degree[--degree[u]].push_back(u); });
    d = std::max<Int>(0, d - 1);
  }
  return widest + 1;
}

// A plan while columns to condition on are chosen.
//
// A column at a state may fix others by zeros, so the cost of a choice is that of the models that are left. Where these
// are many, some of them stand for all.
class ExactPlan {
 public:
  ScopeGraph graph;
  EliminationOrder order;
  std::vector<Int> conditioned;  // nodes
  double runs = 1.0, peak = 0.0, segment = INF, cells = 0.0, largest = 0.0, repeated = 0.0, largest_own = 1.0;

  ExactPlan(const ReducedModel& model, Ints stages, double most_words, double most_cells)
      : graph(model, stages), stages_(stages), maximizes_(contains(stages, 1)), parts_{model} {
    const double least = std::exp2(double(least_width(graph)));
    if (least > std::min(most_cells, HOPELESS)) {  // no order can be good enough
      cells = largest = least;
      return;
    }
    order = best_order(graph, most_words);
    if (order.total > BEYOND_HOPE) cells = order.total, largest = peak = order.largest;
  }

  void fit(double limit) {
    if (cells > 0.0) return;
    measure(limit);
    const bool zeros = std::any_of(parts_[0].factors.begin(), parts_[0].factors.end(), [](const Factor& f) { return std::find(f.logs.begin(), f.logs.end(), -INF) != f.logs.end(); });
    while ((peak > limit || (zeros && runs * cells > SLOW)) && Int(conditioned.size()) < MOST_CONDITIONED && runs * cells < HOPELESS) {
      const auto [v, total] = cheapest_column();
      if (v < 0 || (peak <= limit && total > WORTHWHILE * (runs * cells))) return;
      condition(v);
      measure(limit);
    }
  }

 private:
  static constexpr std::size_t MOST_PARTS = 64, JUDGES = 2, FINALISTS = 6;
  static constexpr double SLOW = 5e8, WORTHWHILE = .7;  // cells from which a column may save time, and what it must leave
  Ints stages_;
  bool maximizes_;
  std::vector<ReducedModel> parts_;  // some of the models that are left, in order of their runs
  double share_ = 1.0;               // of all runs that they stand for: impossible ones are left out

  void measure(double limit) {
    cells = largest = repeated = peak = 0.0;
    largest_own = 1.0;
    std::vector<SeparatorTree> trees;
    std::size_t worst = 0;
    for (const ReducedModel& part : parts_) {
      trees.push_back(tree_of(part));
      if (trees.back().separator_cells > trees[worst].separator_cells) worst = trees.size() - 1;
    }
    segment = trees[worst].best_segment(limit, peak);
    for (const SeparatorTree& tree : trees) {
      double again = 0.0;
      peak = std::max(peak, tree.peak_cells(segment, &again));
      cells += tree.cells;
      repeated += again;
      largest = std::max(largest, tree.largest);
      largest_own = std::max(largest_own, tree.largest_own);
    }
    cells *= share_ / double(parts_.size());
    repeated *= share_ / double(parts_.size());
  }

  SeparatorTree tree_of(const ReducedModel& part) const {
    const ScopeGraph own(part, stages_);
    return {own, part, nodes_in(own)};
  }
  // The order among the nodes of a model that is left.
  std::vector<Int> nodes_in(const ScopeGraph& own) const {
    std::vector<Int> node(stages_.size(), -1), nodes;
    for (Int v = 0; v < own.size(); ++v) node[own.variables[v]] = v;
    for (Int v : order.order) if (node[graph.variables[v]] >= 0) nodes.push_back(node[graph.variables[v]]);
    return nodes;
  }

  // Split the runs by the states of v.
  void condition(Int v) {
    std::vector<ReducedModel> split;
    const double tried = double(parts_.size()) * double(graph.cards[v]);
    for (const ReducedModel& part : parts_) for_each_state(part, v, [&](ReducedModel&& at) { split.push_back(std::move(at)); });
    share_ *= double(split.size()) / tried;
    if (split.empty()) split.push_back(parts_[0]);  // all runs turn out impossible
    parts_.clear();
    const std::size_t step = (split.size() + MOST_PARTS - 1) / MOST_PARTS;
    for (std::size_t k = 0; k < split.size(); k += step) parts_.push_back(std::move(split[k]));
    runs *= double(graph.cards[v]);
    conditioned.push_back(v);
    graph.isolate(v);
    std::erase(order.order, v);
    order = weigh_order(graph, order.order);
    Word random = 3;
    if (order.total > 1e5)
      for (double power : {.5, 1.0}) order = search_order(graph, order, .15 * WORDS_PER_SECOND, power, random);
  }

  // Call visit(model) for each possible state of node v; once if it has one state already.
  template <class Visit>
  void for_each_state(const ReducedModel& part, Int v, Visit visit) const {
    const Int variable = graph.variables[v];
    if (part.cards[variable] < 2) return visit(ReducedModel(part));
    for (Int s = 0; s < part.cards[variable]; ++s) {
      ReducedModel at = part;
      at.fix({variable}, {s});
      if (at.possible()) visit(std::move(at));
    }
  }

  // The columns of large cliques, those first that multiply the cells least where nothing follows by zeros.
  std::vector<Int> candidates() const {
    std::vector<char> candidate(graph.size(), 0);
    eliminate_in_order(graph, order.order, [&](Int k, Words row, Int) {
      double log2_cells = graph.bits[order.order[k]];
      for_each_row(row, [&](Int u) { log2_cells += graph.bits[u]; });
      if (graph.cells(log2_cells) * 64 < order.largest) return;
      candidate[order.order[k]] = 1;
      for_each_row(row, [&](Int u) { candidate[u] = 1; });
    });
    std::vector<std::pair<double, Int>> found;
    for (Int v : order.order) {
      if (!candidate[v] || (maximizes_ && graph.stages[v] == 0)) continue;  // a sum inside a maximum is not a sum of runs
      ScopeGraph rest = graph;
      rest.isolate(v);
      std::vector<Int> others = order.order;
      std::erase(others, v);
      found.emplace_back(weigh_order(rest, std::move(others)).total * double(graph.cards[v]), v);
    }
    std::stable_sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.first < b.first; });
    std::vector<Int> out;
    for (auto& [cost, v] : found) out.push_back(v);
    return out;
  }

  // (the column that leaves the fewest cells in all runs, these cells); −1 if there is none.
  std::pair<Int, double> cheapest_column() const {
    Int best = -1;
    double least = INF;
    std::vector<Int> columns = candidates();
    columns.resize(std::min(columns.size(), FINALISTS));
    const std::size_t judges = std::min(parts_.size(), JUDGES), step = parts_.size() / judges;
    double now = 0.0;
    for (std::size_t k = 0; k < judges; ++k) now += cells_of(parts_[k * step]);
    for (Int v : columns) {
      double total = 0.0;
      for (std::size_t k = 0; k < judges; ++k) for_each_state(parts_[k * step], v, [&](const ReducedModel& at) { total += cells_of(at); });
      if (total < least) least = total, best = v;
    }
    return {best, runs * cells * (least / now)};
  }
  double cells_of(const ReducedModel& part) const {
    const ScopeGraph own(part, stages_);
    return weigh_order(own, nodes_in(own)).total;
  }
};

// Plan an exact answer with at most `limit` cells of separators in memory; false if no row is possible.
//
// Where a lower bound says that more than `most_cells` cells are needed, there is no order, and the bound is reported.
// `order` and `conditioned` get variables, `report` the entries of PlanEntry.
inline bool plan_exact(const FactorList& factors, Ints evidence, Ints stages, double most_words, double most_cells, double limit,
                       Vector<Int> order, Vector<Int> conditioned, Vector<double> report) {
  ReducedModel model(factors, evidence);
  if (model.possible()) model.simplify(stages);
  report.fill(0.0);
  if (!model.possible()) return false;
  ExactPlan plan(model, stages, most_words, most_cells);
  plan.fit(limit);
  for (std::size_t k = 0; k < plan.order.order.size(); ++k) order[k] = plan.graph.variables[plan.order.order[k]];
  for (std::size_t k = 0; k < plan.conditioned.size(); ++k) conditioned[k] = plan.graph.variables[plan.conditioned[k]];
  report[PLAN_ORDERED] = double(plan.order.order.size());
  report[PLAN_CONDITIONED] = double(plan.conditioned.size());
  report[PLAN_CELLS] = plan.cells;
  report[PLAN_LARGEST] = plan.largest;
  report[PLAN_PEAK] = plan.peak;
  report[PLAN_SEGMENT] = plan.segment;
  report[PLAN_RUNS] = plan.runs;
  report[PLAN_REPEATED] = plan.repeated;
  report[PLAN_LARGEST_OWN] = plan.largest_own;
  return true;
}

// The sum of the answers of several runs, weighed by exp(log-weight); the largest weight so far is 1.
class WeighedSum {
 public:
  double log_top = -INF, total = 0.0;
  explicit WeighedSum(Vector<double> out) : out_(out) { out_.fill(0.0); }

  // The factor by which the next answer is to be added.
  double weigh(double log_weight) {
    if (log_weight > log_top) {
      const double shrink = std::exp(log_top - log_weight);
      for (double& x : out_) x *= shrink;
      total *= shrink;
      log_top = log_weight;
    }
    const double weight = std::exp(log_weight - log_top);
    total += weight;
    return weight;
  }
  double finish() {
    if (total == 0.0) return -INF;
    for (double& x : out_) x /= total;
    return log_top + std::log(total);
  }

 private:
  Vector<double> out_;
};

// Call visit(model, tree, passes, log-weight) at the assignment `run` of the columns conditioned on, if a row is possible.
//
// The passes have gone up.
template <class Visit>
void at_assignment(const ReducedModel& model, Ints stages, Ints order, Ints conditioned, Int run, double segment, TablePool& pool, Visit visit) {
  const std::vector<Int> columns(conditioned.begin(), conditioned.end());
  std::vector<Int> at(columns.size());
  for (Int k = Int(columns.size()) - 1; k >= 0; --k) {
    at[k] = run % model.cards[columns[k]];
    run /= model.cards[columns[k]];
  }
  ReducedModel part = model;
  if (!columns.empty()) part.fix(columns, at);
  if (!part.possible()) return;
  const ScopeGraph graph(part, stages);
  std::vector<Int> node(part.cards.size(), -1), nodes;
  for (Int v = 0; v < graph.size(); ++v) node[graph.variables[v]] = v;
  for (Int v : order) if (node[v] >= 0) nodes.push_back(node[v]);
  const SeparatorTree tree(graph, part, nodes);
  SeparatorPasses passes(part, tree, segment, pool);
  const double log_weight = passes.collect();
  if (log_weight > -INF) visit(part, tree, passes, log_weight);
}

// Run a plan for the assignments first … last − 1 of the columns conditioned on; returns the log of their weight.
//
// `out` gets, by task: nothing; P(v) of all variables, end to end; P(targets), the last fastest; or nothing, and `best`
// the codes at the maximum of all variables of stage 1. Large cliques are formed by so many threads; answers do not
// depend on that.
inline double solve_exact(const FactorList& factors, Ints evidence, Ints stages, Ints targets, Ints order, Ints conditioned,
                          double segment, double pool_cells, Int task, Int first, Int last, Int threads, Vector<double> out, Vector<Int> best) {
  contraction_threads = std::max<Int>(threads, 1);
  ReducedModel model(factors, evidence);
  if (model.possible()) model.simplify(stages);
  WeighedSum sum(out);
  double log_best = -INF;
  if (!model.possible()) return -INF;
  TablePool pool(pool_cells);
  const Array<Int, 1> starts = offsets_of(factors.cards.size(), [&](Int v) { return factors.cards[v]; });
  const auto add = [&](const ReducedModel& part, const SeparatorTree& tree, SeparatorPasses& passes, double log_weight) {
    if (task == TASK_BEST) {
      if (log_weight <= log_best) return;
      log_best = log_weight;
      std::vector<Int> codes(part.cards.size(), 0);
      passes.choose(codes);
      for (Int v = 0; v < best.size(); ++v) {
        const Int root = part.root_of(v);
        best[v] = part.translate(v, part.states[root][codes[root]]);
      }
    } else if (task == TASK_JOINT) {
      std::vector<double> logs;
      log_weight = passes.read_kept(logs);
      if (log_weight == -INF) return;  // what is possible apart is not so together
      const double weight = sum.weigh(log_weight);
      for_each_cell(part.shape(tree.kept), [&](Int cell, const std::vector<Int>& s) {
        Int place = 0;
        for (Int v : targets) {
          const auto k = std::find(tree.kept.begin(), tree.kept.end(), v);
          const Int code = part.states[v][k == tree.kept.end() ? 0 : s[k - tree.kept.begin()]];
          place = place * factors.cards[v] + code;
        }
        out[place] += weight * std::exp(logs[cell] - log_weight);
      });
    } else {
      const double weight = sum.weigh(log_weight);
      if (task == TASK_WEIGHT) return;
      std::vector<std::vector<double>> marginals(part.cards.size());
      passes.distribute(marginals);
      for (Int v = 0; v < factors.cards.size(); ++v) {
        const Int root = part.root_of(v);
        for (Int s = 0; s < part.cards[root]; ++s) {
          double& p = out[starts[v] + part.translate(v, part.states[root][s])];
          p += weight * (part.cards[root] == 1 ? 1.0 : marginals[root][s]);
        }
      }
    }
  };
  for (Int run = first; run < last; ++run) at_assignment(model, stages, order, conditioned, run, segment, pool, add);
  return task == TASK_BEST ? log_best : sum.finish();
}

// Fill each column of `out`, (variables, draws), with an independent draw at one assignment; false if no row is possible.
inline bool draw_exact(const FactorList& factors, Ints evidence, Ints stages, Ints order, Ints conditioned, double segment,
                       double pool_cells, Int run, Word seed, Matrix<u16> out) {
  ReducedModel model(factors, evidence);
  if (model.possible()) model.simplify(stages);
  if (!model.possible()) return false;
  TablePool pool(pool_cells);
  bool possible = false;
  at_assignment(model, stages, order, conditioned, run, segment, pool,
                [&](const ReducedModel& part, const SeparatorTree&, SeparatorPasses& passes, double) {
    possible = true;
    for (Int v = 0; v < out.shape(0); ++v) out[v].fill(0);
    passes.draw(seed, out);
    for (bool roots : {false, true}) {  // the others first: they read the places of their roots
      for (Int v = 0; v < out.shape(0); ++v) {
        const Int root = part.root_of(v);
        if ((root == v) != roots) continue;
        for (Int j = 0; j < out.shape(1); ++j) out(v, j) = u16(part.translate(v, part.states[root][out(root, j)]));
      }
    }
  });
  return possible;
}

}  // namespace cp::inference
