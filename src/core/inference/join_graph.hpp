// Join graphs: clusters that send messages over shared variables until these no longer change (Dechter et al. 2002).
//
// With one cluster for each factor and one for each variable this is loopy belief propagation, and max-product with maxima
// in the place of sums.
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
  JoinGraph(const ReducedModel& model, Ints order, double most, bool fill, bool maximize)
      : model_(model), maximize_(maximize), beliefs_(model.cards.size()) {
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
      std::vector<std::vector<double>> sum{std::vector<double>(1)};
      total += form(cluster, {&none}, sum);
    }
    for (const JoinEdge& edge : edges) {
      double sum = 0.0;
      for (std::size_t k = 0; k < edge.up.size(); ++k) sum += edge.up[k] * edge.down[k];
      total -= std::log(sum);
    }
    return total;
  }

  // The best states of each cluster in turn, from the last to the first, given those that are chosen already; best on trees.
  void choose(std::vector<Int>& best) {
    std::vector<char> known(model_.cards.size(), 0);
    for (Int i = Int(clusters.size()) - 1; i >= 0; --i) {
      JoinCluster& cluster = clusters[i];
      const std::vector<Operand> inputs = inputs_of(cluster);
      double most = -INF;
      std::vector<Int> chosen, states(best);
      for_each_cell(model_.shape(cluster.axes), [&](Int, const std::vector<Int>& s) {
        for (std::size_t a = 0; a < s.size(); ++a) {
          if (known[cluster.axes[a]] && best[cluster.axes[a]] != s[a]) return;
          states[cluster.axes[a]] = s[a];
        }
        double weight = 0.0;
        for (const Operand& input : inputs) {
          Int cell = 0;
          for (Int v : *input.scope) cell = cell * model_.cards[v] + states[v];
          weight += std::log(input.data[cell]);
        }
        if (chosen.empty() || weight > most) most = weight, chosen = s;
      });
      for (std::size_t a = 0; a < chosen.size(); ++a) {
        best[cluster.axes[a]] = chosen[a];
        known[cluster.axes[a]] = 1;
      }
    }
  }

 private:
  const ReducedModel& model_;
  bool maximize_;
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

  // Factors and variables, breadth first from a last one: on a tree, an iteration is exact.
  void join_factors(bool fill) {
    const Int n_factors = model_.factors.size();
    std::vector<std::vector<Int>> around(n_factors + model_.cards.size());
    for (Int f = 0; f < n_factors; ++f) {
      for (Int v : model_.factors[f].scope) {
        around[f].push_back(n_factors + v);
        around[n_factors + v].push_back(f);
      }
    }
    std::vector<Int> order, place(around.size(), -1);
    std::size_t next = 0;
    for (Int root = 0; root < Int(around.size()); ++root) {
      if (place[root] >= 0 || (root >= n_factors && model_.cards[root - n_factors] < 2)) continue;
      place[root] = 0;
      order.push_back(root);
      for (; next < order.size(); ++next)
        for (Int u : around[order[next]]) if (place[u] < 0) place[u] = 0, order.push_back(u);
    }
    std::reverse(order.begin(), order.end());
    for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
    for (Int node : order) {
      JoinCluster cluster;
      if (node < n_factors) {
        cluster.axes = model_.factors[node].scope;
        add_factor(cluster, model_.factors[node], cluster.axes, fill);
      } else {
        cluster.variable = node - n_factors;
        cluster.axes = {cluster.variable};
      }
      clusters.push_back(std::move(cluster));
    }
    for (Int f = 0; f < n_factors; ++f) {
      for (Int v : model_.factors[f].scope) {
        const auto [below, above] = std::minmax(place[f], place[n_factors + v]);
        edges.push_back({below, above, {v}, {}, {}});
      }
    }
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

  // Fill tables over some scopes with the product of all that a cluster holds, the largest cell of each 1, in logs where
  // numbers could vanish; returns the log of the first one's scale, −∞ if no state is possible.
  double form(JoinCluster& cluster, const std::vector<const std::vector<Int>*>& scopes, std::vector<std::vector<double>>& tables) {
    const std::vector<Operand> inputs = inputs_of(cluster);
    double log_least = 0.0;
    for (const Operand& input : inputs) {
      Int cells = 1;
      for (Int v : *input.scope) cells *= model_.cards[v];
      double least = 1.0;
      for (Int k = 0; k < cells; ++k) if (input.data[k] > 0.0) least = std::min(least, input.data[k]);
      log_least += std::log(least);
    }
    const bool logs = log_least < -600.0;
    std::vector<Operand> outputs;
    for (std::size_t k = 0; k < tables.size(); ++k) {
      std::fill(tables[k].begin(), tables[k].end(), logs ? -INF : 0.0);
      outputs.push_back({tables[k].data(), scopes[k], logs});
    }
    contract(cluster.axes, model_.cards, inputs, outputs, logs ? 0.0 : 1.0, logs, maximize_, pulse_);
    double scale = 0.0;
    for (std::vector<double>& table : tables) {
      const double top = *std::max_element(table.begin(), table.end());
      if (!(top > (logs ? -INF : 0.0))) return -INF;
      if (&table == &tables[0]) scale = logs ? top : std::log(top);
      for (double& x : table) x = !logs ? x / top : x == -INF ? 0.0 : std::max(std::exp(x - top), 1e-250);
    }
    return scale;
  }

  // The messages of a cluster to those above it, or below it and its belief; false if it has no possible state.
  bool send(Int i, bool up, double damping, double& change) {
    JoinCluster& cluster = clusters[i];
    std::vector<Int> to;
    for (Int e : cluster.edges) if ((edges[e].below == i) == up) to.push_back(e);
    std::vector<std::vector<double>> tables;
    std::vector<const std::vector<Int>*> scopes;
    for (Int e : to) {
      tables.emplace_back(edges[e].up.size());
      scopes.push_back(&edges[e].scope);
    }
    const std::vector<Int> alone{cluster.variable};
    const bool read = !up && cluster.variable >= 0;
    if (read) {
      tables.emplace_back(model_.cards[cluster.variable]);
      scopes.push_back(&alone);
    }
    if (tables.empty()) return true;
    if (form(cluster, scopes, tables) == -INF) return false;
    for (std::size_t k = 0; k < to.size(); ++k)
      if (!renew(edges[to[k]], up, tables[k], damping)) return false;
    if (read) renew_belief(cluster.variable, tables.back(), change);
    return true;
  }

  // Put a message in the place of the old one: what came the other way is taken out, with 0 / 0 = 0.
  bool renew(JoinEdge& edge, bool up, std::vector<double>& product, double damping) {
    std::vector<double>& message = up ? edge.up : edge.down;
    const std::vector<double>& back = up ? edge.down : edge.up;
    double top = 0.0;
    for (std::size_t k = 0; k < product.size(); ++k) {
      product[k] = back[k] > 0.0 ? product[k] / back[k] : 0.0;
      top = std::max(top, product[k]);
    }
    if (!(top > 0.0) || top == INF) return false;
    for (std::size_t k = 0; k < product.size(); ++k) {
      const double x = product[k] / top;
      message[k] = x > 0.0 ? std::max((1.0 - damping) * x + damping * message[k], 1e-250) : 0.0;
    }
    return true;
  }

  void renew_belief(Int v, std::vector<double>& belief, double& change) {
    double total = 0.0;
    for (double x : belief) total += x;
    for (double& x : belief) x /= total;
    for (std::size_t s = 0; s < belief.size(); ++s)
      change = std::max(change, beliefs_[v].empty() ? 1.0 : std::abs(belief[s] - beliefs_[v][s]));
    beliefs_[v] = std::move(belief);
  }
};

enum JoinEntry : Int { JOIN_WORK, JOIN_ITERATIONS, JOIN_CHANGE, JOIN_LOG_WEIGHT, JOIN_ENTRIES };

// Beliefs of all variables, end to end, after at most so many iterations; false if no row is possible.
//
// Without iterations, `report` gets the work of one alone. The change is negative where messages left a cluster without
// a possible state; the beliefs are then those before. With `maximize` they are those of the best rows, and `best` gets one.
inline bool propagate_clusters(const FactorList& factors, Ints evidence, Ints order, double most, Int iterations, double damping,
                               double tolerance, bool maximize, Vector<double> out, Vector<Int> best, Vector<double> report) {
  ReducedModel model(factors, evidence);
  report.fill(0.0);
  if (model.possible()) model.simplify(Array<Int, 1>(filled(Int(0), Int(model.cards.size()))));
  if (!model.possible()) return false;
  JoinGraph graph(model, order, most, iterations > 0, maximize);
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
  report[JOIN_LOG_WEIGHT] = change < 0.0 || maximize ? std::numeric_limits<double>::quiet_NaN() : graph.log_weight();
  const Array<Int, 1> starts = offsets_of(factors.cards.size(), [&](Int v) { return factors.cards[v]; });
  out.fill(0.0);
  std::vector<Int> chosen(model.cards.size(), 0);
  if (maximize) graph.choose(chosen);
  for (Int v = 0; v < factors.cards.size(); ++v) {
    const Int root = model.root_of(v);
    best[v] = model.translate(v, model.states[root][chosen[root]]);
    const std::vector<double>& belief = graph.belief(root);
    for (Int s = 0; s < model.cards[root]; ++s) {
      const double p = belief.empty() ? 1.0 / double(model.cards[root]) : belief[s];
      out[starts[v] + model.translate(v, model.states[root][s])] = p;
    }
  }
  return true;
}

}  // namespace cp::inference
