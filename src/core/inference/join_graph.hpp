// Join graphs: clusters that send messages over shared variables until these no longer change (Dechter et al. 2002).
//
// With one cluster for each factor and one for each variable this is loopy belief propagation.
#pragma once
#include "inference/mini_buckets.hpp"

namespace cp::inference {

struct JoinEdge {
  Int below, above;                 // clusters; above comes later
  std::vector<Int> scope;
  std::vector<double> up, down;     // messages to `above` and to `below`, the largest cell 1
};

struct JoinCluster {
  std::vector<Int> axes, edges;
  std::vector<std::vector<Int>> scopes;  // of its factors
  std::vector<std::vector<double>> tables;
  Int variable = -1;                     // whose belief is read here
};

class JoinGraph {
 public:
  std::vector<JoinCluster> clusters;
  std::vector<JoinEdge> edges;
  double work = 0.0;  // cells read and written in an iteration

  // Of mini-buckets of at most `most` cells, or with most = 0 of factors and variables.
  JoinGraph(const ReducedModel& model, Ints order, double most, bool fill) : model_(model), beliefs_(model.cards.size()) {
    if (most > 0.0) join_buckets(order, most, fill);
    else join_factors(fill);
    for (JoinEdge& edge : edges) {
      clusters[edge.below].edges.push_back(&edge - edges.data());
      clusters[edge.above].edges.push_back(&edge - edges.data());
      if (!fill) continue;
      std::size_t cells = 1;
      for (Int v : edge.scope) cells *= model.cards[v];
      edge.up.assign(cells, 1.0);
      edge.down.assign(cells, 1.0);
    }
    for (const JoinCluster& cluster : clusters) {
      double cells = 1.0;
      for (Int v : cluster.axes) cells *= double(model.cards[v]);
      work += (2.0 * cells + 200.0) * double(1 + cluster.edges.size() + cluster.scopes.size());
    }
  }

  // Messages up and down; returns the largest change of a belief, −1 if a cluster is left without a possible state.
  double iterate(double damping) {
    double change = 0.0;
    const Int n = clusters.size();
    for (Int i = 0; i < n; ++i) if (!send(i, true, damping, change)) return -1.0;
    for (Int i = n - 1; i >= 0; --i) if (!send(i, false, damping, change)) return -1.0;
    return change;
  }

  const std::vector<double>& belief(Int v) const { return beliefs_[v]; }

  // The log of the total weight by Kikuchi's free energy at the messages; NaN if these do not fit together.
  double log_weight() {
    double total = log_scale_ + model_.log_constant;
    for (JoinCluster& cluster : clusters) {
      const std::vector<Int> none;
      double sum = 0.0;
      contract(cluster.axes, model_.cards, inputs_of(cluster), {{&sum, &none, false}}, 1.0, false, false, pulse_);
      total += std::log(sum);
    }
    for (const JoinEdge& edge : edges) {
      double sum = 0.0;
      for (std::size_t k = 0; k < edge.up.size(); ++k) sum += edge.up[k] * edge.down[k];
      total -= std::log(sum);
    }
    return total;
  }

 private:
  const ReducedModel& model_;
  std::vector<std::vector<double>> beliefs_;
  double log_scale_ = 0.0;
  Pulse pulse_;

  void add_factor(JoinCluster& cluster, const Factor& factor, std::vector<Int> scope, bool fill) {
    double scale = 0.0;
    if (fill) cluster.tables.push_back(numbers_of(model_, factor, scope, scale));
    log_scale_ += scale;
    cluster.scopes.push_back(std::move(scope));
  }

  void join_buckets(Ints order, double most, bool fill) {
    const MiniBuckets buckets(model_, order, most);
    for (std::size_t m = 0; m < buckets.list.size(); ++m) {
      const MiniBucket& bucket = buckets.list[m];
      JoinCluster cluster;
      cluster.axes = bucket.scope;
      if (bucket.first) cluster.variable = bucket.variable;
      else edges.push_back({Int(m) - 1, Int(m), {bucket.variable}, {}, {}});  // the parts of a bucket are a chain
      for (const BucketItem& item : bucket.items) {
        if (item.factor >= 0) add_factor(cluster, model_.factors[item.factor], item.scope, fill);
        else edges.push_back({item.from, Int(m), item.scope, {}, {}});
      }
      clusters.push_back(std::move(cluster));
    }
  }

  void join_factors(bool fill) {
    std::vector<Int> place(model_.cards.size(), -1);
    for (const Factor& f : model_.factors) {
      JoinCluster cluster;
      cluster.axes = f.scope;
      add_factor(cluster, f, f.scope, fill);
      clusters.push_back(std::move(cluster));
    }
    for (std::size_t v = 0; v < model_.cards.size(); ++v) {
      if (model_.cards[v] < 2) continue;
      place[v] = clusters.size();
      JoinCluster cluster;
      cluster.axes = {Int(v)};
      cluster.variable = v;
      clusters.push_back(std::move(cluster));
    }
    for (std::size_t f = 0; f < model_.factors.size(); ++f)
      for (Int v : model_.factors[f].scope) edges.push_back({Int(f), place[v], {v}, {}, {}});
  }

  std::vector<Operand> inputs_of(JoinCluster& cluster) {
    std::vector<Operand> inputs;
    for (std::size_t f = 0; f < cluster.scopes.size(); ++f) inputs.push_back({cluster.tables[f].data(), &cluster.scopes[f], false});
    const Int here = &cluster - clusters.data();
    for (Int e : cluster.edges) {
      JoinEdge& edge = edges[e];
      inputs.push_back({(edge.above == here ? edge.up : edge.down).data(), &edge.scope, false});
    }
    return inputs;
  }

  // The messages of a cluster to those above it, or below it and its belief; false if it has no possible state.
  bool send(Int i, bool up, double damping, double& change) {
    JoinCluster& cluster = clusters[i];
    std::vector<Int> to;
    for (Int e : cluster.edges) if ((edges[e].below == i) == up) to.push_back(e);
    std::vector<std::vector<double>> tables;
    std::vector<Operand> outputs;
    tables.reserve(to.size());
    for (Int e : to) {
      tables.emplace_back(edges[e].up.size(), 0.0);
      outputs.push_back({tables.back().data(), &edges[e].scope, false});
    }
    const std::vector<Int> alone{cluster.variable};
    std::vector<double> belief(!up && cluster.variable >= 0 ? model_.cards[cluster.variable] : 0, 0.0);
    if (!belief.empty()) outputs.push_back({belief.data(), &alone, false});
    if (outputs.empty()) return true;
    contract(cluster.axes, model_.cards, inputs_of(cluster), outputs, 1.0, false, false, pulse_);
    for (std::size_t k = 0; k < to.size(); ++k)
      if (!renew(edges[to[k]], up, tables[k], damping)) return false;
    return belief.empty() || renew_belief(cluster.variable, belief, change);
  }

  // Put a message in the place of the old one: what came the other way is taken out, with 0 / 0 = 0.
  bool renew(JoinEdge& edge, bool up, std::vector<double>& product, double damping) {
    std::vector<double>& message = up ? edge.up : edge.down;
    const std::vector<double>& back = up ? edge.down : edge.up;
    const double whole = *std::max_element(product.begin(), product.end());
    if (!(whole > 0.0)) return false;
    double top = 0.0;
    for (std::size_t k = 0; k < product.size(); ++k) {
      product[k] = back[k] > 0.0 ? product[k] / whole / back[k] : 0.0;
      top = std::max(top, product[k]);
    }
    if (!(top > 0.0) || top == INF) return false;
    for (std::size_t k = 0; k < product.size(); ++k) {
      const double x = product[k] / top;
      message[k] = x > 0.0 ? std::max((1.0 - damping) * x + damping * message[k], 1e-250) : 0.0;
    }
    return true;
  }

  bool renew_belief(Int v, std::vector<double>& belief, double& change) {
    double total = 0.0;
    for (double x : belief) total += x;
    if (!(total > 0.0)) return false;
    for (double& x : belief) x /= total;
    for (std::size_t s = 0; s < belief.size(); ++s)
      change = std::max(change, beliefs_[v].empty() ? 1.0 : std::abs(belief[s] - beliefs_[v][s]));
    beliefs_[v] = std::move(belief);
    return true;
  }
};

enum JoinEntry : Int { JOIN_WORK, JOIN_ITERATIONS, JOIN_CHANGE, JOIN_LOG_WEIGHT, JOIN_ENTRIES };

// Beliefs of all variables, end to end, after at most so many iterations; false if no row is possible.
//
// Without iterations, `report` gets the work of one alone. The change is negative where messages left a cluster without
// a possible state; the beliefs are then those before.
inline bool propagate_clusters(const FactorList& factors, Ints evidence, Ints order, double most, Int iterations, double damping,
                               double tolerance, Vector<double> out, Vector<double> report) {
  ReducedModel model(factors, evidence);
  report.fill(0.0);
  if (model.possible()) model.simplify(Array<Int, 1>(filled(Int(0), Int(model.cards.size()))));
  if (!model.possible()) return false;
  JoinGraph graph(model, order, most, iterations > 0);
  report[JOIN_WORK] = graph.work;
  if (iterations == 0) return true;
  double change = INF;
  Int n = 0;
  while (n < iterations && change >= tolerance) {
    change = graph.iterate(n >= 30 ? std::max(damping, .3) : damping);
    ++n;
  }
  report[JOIN_ITERATIONS] = double(n);
  report[JOIN_CHANGE] = change;
  report[JOIN_LOG_WEIGHT] = change < 0.0 ? std::numeric_limits<double>::quiet_NaN() : graph.log_weight();
  const Array<Int, 1> starts = offsets_of(factors.cards.size(), [&](Int v) { return factors.cards[v]; });
  out.fill(0.0);
  for (Int v = 0; v < factors.cards.size(); ++v) {
    const Int root = model.root_of(v);
    const std::vector<double>& belief = graph.belief(root);
    for (Int s = 0; s < model.cards[root]; ++s) {
      const double p = belief.empty() ? 1.0 / double(model.cards[root]) : belief[s];
      out[starts[v] + model.translate(v, model.states[root][s])] = p;
    }
  }
  return true;
}

}  // namespace cp::inference
