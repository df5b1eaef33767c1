// Mini-buckets along an elimination order: clusters of at most so many cells (Dechter & Rish 2003), and the bound on the
// total weight that they give.
#pragma once
#include "inference/contraction.hpp"
#include "inference/elimination_order.hpp"

namespace cp::inference {

// A table in a mini-bucket: a factor of the model, or the message of an earlier mini-bucket.
struct BucketItem {
  std::vector<Int> scope;
  Int factor = -1, from = -1;
};

// What is multiplied together before `variable` is eliminated from it.
struct MiniBucket {
  Int variable = -1;
  bool first = true;          // of the mini-buckets of its variable
  std::vector<Int> scope;     // sorted by rank
  std::vector<BucketItem> items;
};

class MiniBuckets {
 public:
  std::vector<MiniBucket> list;  // in the order of elimination
  std::vector<Int> rank;         // by variable: its place in all scopes

  // `order` has variables of the model; items of a bucket join while the table has at most `most` cells.
  MiniBuckets(const ReducedModel& model, Ints order, double most) : rank(model.cards.size(), -1), model_(model) {
    for (Int v : order) if (rank[v] < 0 && model.cards[v] > 1) rank[v] = n_++;
    for (Int v = 0; v < Int(model.cards.size()); ++v) if (rank[v] < 0 && model.cards[v] > 1) rank[v] = n_++;
    std::vector<Int> variables(n_);
    for (std::size_t v = 0; v < rank.size(); ++v) if (rank[v] >= 0) variables[rank[v]] = v;
    std::vector<std::vector<BucketItem>> buckets(n_);
    for (std::size_t f = 0; f < model.factors.size(); ++f) {
      BucketItem item{model.factors[f].scope, Int(f), -1};
      sort(item.scope);
      buckets[rank[item.scope[0]]].push_back(std::move(item));
    }
    for (Int k = 0; k < n_; ++k) part(variables[k], buckets, k, most);
  }

  void sort(std::vector<Int>& scope) const {
    std::sort(scope.begin(), scope.end(), [&](Int a, Int b) { return rank[a] < rank[b]; });
  }
  double cells(const std::vector<Int>& scope) const {
    double cells = 1.0;
    for (Int v : scope) cells *= double(model_.cards[v]);
    return cells;
  }

 private:
  const ReducedModel& model_;
  Int n_ = 0;

  std::vector<Int> joined(const std::vector<Int>& a, const std::vector<Int>& b) const {
    std::vector<Int> out;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out), [&](Int x, Int y) { return rank[x] < rank[y]; });
    return out;
  }

  // Divide the bucket of variable v, and hand the messages on; large items come first, each where it adds least.
  void part(Int v, std::vector<std::vector<BucketItem>>& buckets, Int k, double most) {
    std::vector<BucketItem>& items = buckets[k];
    std::stable_sort(items.begin(), items.end(), [&](const BucketItem& a, const BucketItem& b) { return cells(a.scope) > cells(b.scope); });
    const std::size_t begin = list.size();
    for (BucketItem& item : items) {
      Int best = -1;
      double least = INF;
      for (std::size_t m = begin; m < list.size(); ++m) {
        const double together = cells(joined(list[m].scope, item.scope)), growth = together / cells(list[m].scope);
        if ((together <= most || growth == 1.0) && growth < least) least = growth, best = m;
      }
      if (best < 0) {
        best = list.size();
        list.push_back({v, best == Int(begin), item.scope, {}});
      }
      list[best].scope = joined(list[best].scope, item.scope);
      list[best].items.push_back(std::move(item));
    }
    if (list.size() == begin) list.push_back({v, true, {v}, {}});
    items.clear();
    for (std::size_t m = begin; m < list.size(); ++m) {
      std::vector<Int> rest(list[m].scope.begin() + 1, list[m].scope.end());  // v comes first
      if (!rest.empty()) buckets[rank[rest[0]]].push_back({rest, -1, Int(m)});
    }
  }
};

// The cells of a factor as numbers, the largest 1, over its scope sorted by rank; `log_scale` gets the log taken out. What
// is positive stays so.
inline std::vector<double> numbers_of(const ReducedModel& model, const Factor& factor, const std::vector<Int>& scope, double& log_scale) {
  std::vector<double> values = model.product(factor, {{}, {0.0}}, scope).logs;
  log_scale = *std::max_element(values.begin(), values.end());
  for (double& x : values) x = x == -INF ? 0.0 : std::max(std::exp(x - log_scale), 1e-250);
  return values;
}

// An upper bound on the log of the total weight, or with `maximize` on that of the heaviest row: of the mini-buckets of a
// variable, one sums it out and the others take its maximum. It is exact where no bucket is divided.
inline double bound_weight(const FactorList& factors, Ints evidence, Ints order, double most, bool maximize) {
  ReducedModel model(factors, evidence);
  if (!model.possible()) return -INF;
  model.simplify(Array<Int, 1>(filled(Int(0), Int(model.cards.size()))));
  if (!model.possible()) return -INF;
  const MiniBuckets buckets(model, order, most);
  std::vector<std::vector<double>> messages(buckets.list.size());
  double bound = model.log_constant;
  Pulse pulse;
  for (std::size_t m = 0; m < buckets.list.size(); ++m) {
    const MiniBucket& bucket = buckets.list[m];
    std::vector<std::vector<double>> tables;
    std::vector<Operand> inputs;
    tables.reserve(bucket.items.size());
    for (const BucketItem& item : bucket.items) {
      if (item.factor < 0) {
        inputs.push_back({messages[item.from].data(), &item.scope, true});
        continue;
      }
      double scale;
      tables.push_back(numbers_of(model, model.factors[item.factor], item.scope, scale));
      bound += scale;
      inputs.push_back({tables.back().data(), &item.scope, false});
    }
    const std::vector<Int> rest(bucket.scope.begin() + 1, bucket.scope.end());
    std::vector<double>& out = messages[m];
    out.assign(std::size_t(buckets.cells(rest)), -INF);
    contract(bucket.scope, model.cards, inputs, {{out.data(), &rest, true}}, 0.0, true, maximize || !bucket.first, pulse);
    const double top = *std::max_element(out.begin(), out.end());
    if (top == -INF) return -INF;
    bound += top;
    for (double& x : out) x -= top;
    for (const BucketItem& item : bucket.items) if (item.from >= 0) std::vector<double>().swap(messages[item.from]);
  }
  return bound;
}

// Columns to fix, chosen until the cliques of the order over the rest have at most `most` cells; returns how many.
inline Int cut_columns(const FactorList& factors, Ints evidence, Ints order, double most, Vector<Int> out) {
  ReducedModel model(factors, evidence);
  Array<Int, 1> stages = filled(Int(0), Int(model.cards.size()));
  if (model.possible()) model.simplify(stages);
  if (!model.possible()) return 0;
  ScopeGraph graph(model, stages);
  std::vector<Int> node(model.cards.size(), -1), nodes;
  for (Int v = 0; v < graph.size(); ++v) node[graph.variables[v]] = v;
  for (Int v : order) if (node[v] >= 0) nodes.push_back(node[v]);
  Int n = 0;
  Pulse pulse;
  for (double total; !nodes.empty() && (total = weigh_order(graph, nodes).total) > most;) {
    std::vector<double> saved(graph.size(), 0.0);
    eliminate_in_order(graph, nodes, [&](Int k, Words row, Int) {
      double log2_cells = graph.bits[nodes[k]];
      for_each_row(row, [&](Int u) { log2_cells += graph.bits[u]; });
      const double cells = graph.cells(log2_cells);
      const auto save = [&](Int u) { saved[u] += cells * (1.0 - std::exp2(-graph.bits[u])); };
      save(nodes[k]);
      for_each_row(row, save);
    });
    pulse(100 * graph.size() * graph.words);
    for (Int left = 1 + Int(std::log2(total / most) / 4); left > 0 && !nodes.empty(); --left) {  // several, while far off
      const Int v = std::max_element(saved.begin(), saved.end()) - saved.begin();
      out[n++] = graph.variables[v];
      graph.isolate(v);
      std::erase(nodes, v);
      saved[v] = -1.0;
    }
  }
  return n;
}

// The best elimination order for so many uses that a search of so many words finds, over the variables left by
// simplification; returns their number, −1 if no row is possible. `report` gets the cells of its cliques, those of the
// largest, and the number of factors with zeros.
inline Int plan_order(const FactorList& factors, Ints evidence, double most_words, double uses, Vector<Int> out, Vector<double> report) {
  ReducedModel model(factors, evidence);
  Array<Int, 1> stages = filled(Int(0), Int(model.cards.size()));
  if (model.possible()) model.simplify(stages);
  if (!model.possible()) return -1;
  const ScopeGraph graph(model, stages);
  EliminationOrder best;
  if (graph.size() > 0) best = best_order(graph, most_words, uses);
  for (std::size_t k = 0; k < best.order.size(); ++k) out[k] = graph.variables[best.order[k]];
  report[0] = best.order.empty() ? 0.0 : best.total;
  report[1] = best.largest;
  report[2] = double(std::count_if(model.factors.begin(), model.factors.end(), [](const Factor& f) {
    return std::find(f.logs.begin(), f.logs.end(), -INF) != f.logs.end();
  }));
  return Int(best.order.size());
}

}  // namespace cp::inference
