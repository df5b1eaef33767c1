// Messages between variables and factors, one factor at a time.
#pragma once
#include "base/numbers.hpp"
#include "base/pulse.hpp"

namespace cp::inference {

// Factor f has the values offsets[f] … and the edges edge_offsets[f] … , one a variable.
//
// Edge e leads to variable variables[e], whose state moves strides[e] cells in the factor; the message along it starts
// at first[e]. The edges of variable v are edges_of[edges_offsets[v]] … . Values are the factors' own, each divided by
// its largest.
struct FactorGraph {
  Ints cards, offsets;
  Floats values;
  Ints edge_offsets, variables, strides, first, edges_offsets, edges_of;

  static constexpr const char* fields =
      "cards[n] offsets[f+1] values[] edge_offsets[f+1] variables[e] strides[e] first[e] edges_offsets[n+1] edges_of[e]";

  Int size() const { return offsets.size() - 1; }
  Int max_card() const { return cards.empty() ? 0 : maximum(cards); }
  Int card(Int edge) const { return cards[variables[edge]]; }
  Floats table(Int f) const { return values.part(offsets[f], offsets[f + 1]); }
  // The state that a cell of a factor has of the variable of its edge.
  Int state(Int cell, Int edge) const { return cell / strides[edge] % card(edge); }
};

// Fill `out` with the product of all messages to v but that of the edge `but`.
//
// Messages are logs; the product's largest state is brought to 1.
inline void multiply_messages(const FactorGraph& graph, Floats messages, Int v, Int but, Vector<double> out) {
  out.fill(0.0);
  for (Int e : Ragged<const Int>{graph.edges_of, graph.edges_offsets}[v]) {
    if (e == but) continue;
    for (Int s = 0; s < out.size(); ++s) out[s] += messages[graph.first[e] + s];
  }
  double top = -INF;
  for (double x : out) top = std::max(top, x);
  for (double& x : out) x = top > -INF ? std::exp(x - top) : 0.0;
}

// The messages of one factor: rows by edge, what comes in from the variables and what goes out, not normalized.
class FactorMessages {
 public:
  Array<double, 2> incoming, outgoing;

  explicit FactorMessages(const FactorGraph& graph) : FactorMessages(graph, longest_list(graph.edge_offsets)) {}

  // Fill both for factor f; a message leaves out what its own variable says.
  void fill(Floats messages, Int f, bool maximize, Pulse& pulse) {
    const Int first = graph_.edge_offsets[f], n = graph_.edge_offsets[f + 1] - first;
    for (Int k = 0; k < n; ++k) {
      const Int card = graph_.card(first + k);
      multiply_messages(graph_, messages, graph_.variables[first + k], first + k, incoming[k].part(0, card));
      outgoing[k].part(0, card).fill(0.0);
    }
    const Floats table = graph_.table(f);
    for (Int cell = 0; cell < table.size(); ++cell) {
      pulse(20);
      before_[0] = table[cell];
      for (Int k = 0; k < n; ++k) {
        states_[k] = graph_.state(cell, first + k);
        before_[k + 1] = before_[k] * incoming(k, states_[k]);
      }
      double after = 1.0;
      for (Int k = n - 1; k >= 0; --k) {
        const double weight = before_[k] * after;
        double& sent = outgoing(k, states_[k]);
        sent = maximize ? std::max(sent, weight) : sent + weight;
        after *= incoming(k, states_[k]);
      }
    }
  }

 private:
  const FactorGraph& graph_;
  Array<Int, 1> states_;     // of the edges, at one cell
  Array<double, 1> before_;  // before_[k]: the value times what comes in along the edges before k

  FactorMessages(const FactorGraph& graph, Int edges)
      : incoming(edges, graph.max_card()), outgoing(edges, graph.max_card()), graph_(graph), states_(edges), before_(edges + 1) {}
};

// The largest change of a message when all factors send, the last one first, and back again.
//
// −1 − f where factor f finds no state possible.
inline double sweep(const FactorGraph& graph, Vector<double> messages, bool maximize, double damping) {
  FactorMessages factor(graph);
  Pulse pulse;
  double largest = 0.0;
  for (Int step = 0; step < 2 * graph.size(); ++step) {
    const Int f = step < graph.size() ? graph.size() - 1 - step : step - graph.size();
    const Int first = graph.edge_offsets[f], last = graph.edge_offsets[f + 1];
    pulse(100 * (last - first));
    factor.fill(messages, f, maximize, pulse);
    for (Int e = first; e < last; ++e) {
      const Floats outgoing = factor.outgoing[e - first].part(0, graph.card(e));
      const Vector<double> message = messages.part(graph.first[e], graph.first[e] + graph.card(e));
      const double total = sum(outgoing);
      if (!(total > 0.0)) return -1.0 - double(f);
      for (Int s = 0; s < message.size(); ++s) {
        const double before = std::exp(message[s]);
        const double after = (1.0 - damping) * outgoing[s] / total + damping * before;
        largest = std::max(largest, std::abs(after - before));
        message[s] = after > 0.0 ? std::log(after) : -INF;
      }
    }
  }
  return largest;
}

// Σ_f (E[ln f] + H(f)) + Σ_v (1 − degree) H(v) at the beliefs; −∞ where these are empty.
inline double bethe(const FactorGraph& graph, Floats messages) {
  FactorMessages factor(graph);
  Array<double, 1> scratch(graph.max_card());
  Pulse pulse;
  double total = 0.0;
  for (Int f = 0; f < graph.size(); ++f) {
    const Int first = graph.edge_offsets[f], last = graph.edge_offsets[f + 1];
    const Floats table = graph.table(f);
    factor.fill(messages, f, false, pulse);
    double mass = 0.0, logs = 0.0;
    for (Int cell = 0; cell < table.size(); ++cell) {
      pulse(20);
      double weight = table[cell], log_incoming = 0.0;
      for (Int e = first; e < last; ++e) {
        const double in = factor.incoming(e - first, graph.state(cell, e));
        weight *= in;
        if (weight > 0.0) log_incoming += std::log(in);
      }
      if (weight > 0.0) {
        mass += weight;
        logs += weight * log_incoming;
      }
    }
    if (mass == 0.0) return -INF;
    total += std::log(mass) - logs / mass;  // E[ln f − ln belief], the belief being f · in / mass
  }
  for (Int v = 0; v < graph.cards.size(); ++v) {
    const Vector<double> belief = scratch.part(0, graph.cards[v]);
    multiply_messages(graph, messages, v, -1, belief);
    double mass = 0.0, logs = 0.0;
    for (double x : belief) {
      if (x > 0.0) {
        mass += x;
        logs += x * std::log(x);
      }
    }
    if (mass == 0.0) return -INF;
    const double degree = double(graph.edges_offsets[v + 1] - graph.edges_offsets[v]);
    total += (1.0 - degree) * (std::log(mass) - logs / mass);
  }
  return total;
}

}  // namespace cp::inference
