// Sums over all networks of a few variables, by dynamic programming over sets of variables.
//
// Sets are bit masks. α_i(U) = Σ_{P ⊆ U} exp(score of i given P) is indexed by i and by U with bit i
// squeezed out. Scores differ by thousands of nats, so each α is a double times a power of two of its own,
// and the sum of a set S is measured in units of 2^scale[S]: its sum over orders, which bounds all of its
// terms. Sums over DAGs alternate in sign; so scaled, they keep ten digits at 16 variables where almost no
// edge is likely, which is where they cancel most, and more elsewhere.
#pragma once
#include <bit>
#include <numbers>
#include <utility>

#include "base/bits.hpp"
#include "base/pulse.hpp"

namespace cp::bayesian {

constexpr double LN2 = std::numbers::ln2;
constexpr Int NOTHING = -(Int(1) << 60);  // the exponent of zero
constexpr Int DOWN = 128;                 // a term below 2⁻¹²⁸ of its sum's bound is left out

// α = value × 2^exponent with 1 ≤ value < 2; each of shape (n, 2ⁿ⁻¹).
struct Alpha {
  Matrix<const double> value;
  Matrix<const Int> exponent;

  static constexpr const char* fields = "value[n,m] exponent[n,m]";
  Int n() const { return value.shape(0); }
  double log(Int i, Int squeezed) const { return std::log(value(i, squeezed)) + double(exponent(i, squeezed)) * LN2; }
};

// The mask without the place of bit i.
inline Int squeeze(Int members, Int i) {
  const Int low = (Int(1) << i) - 1;
  return (members & low) | ((members >> 1) & ~low);
}

// 2^−steps for −1023 < steps < 1023.
inline double power(Int steps) { return std::bit_cast<double>(Word(1023 - steps) << 52); }

// 2^−steps for steps ≥ 0, and 0 where that is negligible.
inline double shrink(Int steps) { return steps < DOWN ? power(steps) : 0.0; }

// Fill α(U) = Σ_{P ⊆ U} exp(scores[P]) for all U, in O(k 2ᵏ); minus infinity is no family.
inline void sum_subsets(Floats scores, Vector<double> value, Vector<Int> exponent) {
  for (Int m = 0; m < scores.size(); ++m) {
    value[m] = 0.0;
    exponent[m] = NOTHING;
    if (scores[m] > -INF) {
      exponent[m] = Int(std::floor(scores[m] / LN2));
      value[m] = std::exp(scores[m] - double(exponent[m]) * LN2);
    }
  }
  for (Int bit = 1; bit < scores.size(); bit <<= 1)
    for (Int m = 0; m < scores.size(); ++m) {
      if (!(m & bit)) continue;
      const Int part = m ^ bit, gap = exponent[m] - exponent[part];
      if (gap >= 0) {
        value[m] += value[part] * shrink(gap);
      } else {
        value[m] = value[part] + value[m] * shrink(-gap);
        exponent[m] = exponent[part];
      }
    }
  for (Int m = 0; m < scores.size(); ++m)
    for (; value[m] >= 2.0; value[m] *= 0.5) exponent[m] += 1;
}

// Fill out[S] = ln f(S), f(S) = Σ_{i ∈ S} f(S∖i) α_i(S∖i): every network once an order it fits.
//
// Koivisto & Sood (2004); O(n 2ⁿ).
inline void sum_orders(const Alpha& alpha, Vector<double> out) {
  const Int n = alpha.n();
  Array<double, 1> terms(n);
  Pulse pulse;
  out[0] = 0.0;
  for (Int members = 1; members < out.size(); ++members) {
    pulse(20 * n);
    Int size = 0;
    for (Int i = 0; i < n; ++i)
      if (members >> i & 1) {
        const Int rest = members ^ Int(1) << i;
        terms[size++] = out[rest] + alpha.log(i, squeeze(rest, i));
      }
    out[members] = log_sum_exp(terms.part(0, size));
  }
}

// Share the mass of the networks whose sum takes i right after the set U = `members`.
//
// edges[j, i] gets the part with j among the parents, 1 − α_i(U∖j) / α_i(U), and edges[i, i] all: over all
// sets that must come to 1.
inline void share_mass(const Alpha& alpha, Int members, Int i, double mass, Matrix<double> edges) {
  edges(i, i) += mass;
  if (mass == 0.0) return;
  const Floats value = alpha.value[i];
  const Ints exponent = alpha.exponent[i];
  const Int all = squeeze(members, i);
  for_each_bit(Word(members), [&](Int j) {
    const Int less = squeeze(members ^ Int(1) << j, i);
    const double rest = value[less] / value[all] * shrink(exponent[all] - exponent[less]);
    edges(j, i) += mass * (1.0 - rest);
  });
}

// Go down from the set `start`, filling `backward` and adding to `edges`; returns where it is when the
// budget is spent.
//
// backward[U] = ln of the sum over the orders of all others, U being before them.
inline Int weigh_orders(const Alpha& alpha, Floats forward, Int start, Int budget, Vector<double> backward, Matrix<double> edges) {
  const Int n = alpha.n(), everyone = (Int(1) << n) - 1;
  Array<double, 1> terms(n);
  Pulse pulse;
  Int members = start;
  for (; members >= 0 && budget > 0; --members) {
    pulse(n * n);
    Int size = 0;
    for (Int i = 0; i < n; ++i) {
      if (members >> i & 1) continue;
      double& term = terms[size++];
      term = alpha.log(i, squeeze(members, i));
      term += backward[members | Int(1) << i];
      share_mass(alpha, members, i, std::exp(forward[members] + term - forward[everyone]), edges);
    }
    backward[members] = size > 0 ? log_sum_exp(terms.part(0, size)) : 0.0;
    budget -= n * n;
  }
  return members;
}

// Walks, for one set U, through the sets T of variables outside of it, depth first; a term of T is
// ± Π_{i ∈ T} α_i(U) in units of U ∪ T.
//
// For one U these shrink as T grows, so a negligible one ends its branch: at most 3ⁿ terms in all.
class SinkWalk {
 public:
  SinkWalk(const Alpha& alpha, Ints scale) : alpha_(alpha), scale_(scale), free_(alpha.n()), factor_(alpha.n()), exponent_(alpha.n()) {}

  // Take up the set U; returns the number of variables outside.
  Int begin(Int members) {
    size_ = 0;
    for (Int i = 0; i < alpha_.n(); ++i) {
      if (members >> i & 1) continue;
      const Int place = squeeze(members, i);
      free_[size_] = i;
      factor_[size_] = alpha_.value(i, place);
      exponent_[size_++] = alpha_.exponent(i, place);
    }
    return size_;
  }
  Int variable(Int b) const { return free_[b]; }

  // Add to forward[U ∪ T] the terms of the sets T that extend the present one by variables from `first` on.
  //
  // `product` × 2^exponent is the term of the present set, `even` whether its size is.
  void push(Int first, double product, Int exponent, Int all, bool even, Vector<double> forward) {
    n_terms_ += size_ - first;
    for (Int b = first; b < size_; ++b) {
      const Int larger = all | Int(1) << free_[b], raised = exponent + exponent_[b], steps = scale_[larger] - raised;
      if (steps >= DOWN) continue;
      const double value = product * factor_[b], term = value * power(steps);
      forward[larger] += even ? term : -term;
      push(b + 1, value, raised, larger, !even, forward);
    }
  }
  // The sum of the terms of the sets T that extend the present one, each times backward[U ∪ T]; by_last[b]
  // gets those that hold variable b after the present ones.
  double pull(Int first, double product, Int exponent, Int all, bool even, Floats backward, Vector<double> by_last, double total) {
    n_terms_ += size_ - first;
    for (Int b = first; b < size_; ++b) {
      const Int larger = all | Int(1) << free_[b], raised = exponent + exponent_[b], steps = scale_[larger] - raised;
      if (steps >= DOWN) continue;
      const double value = product * factor_[b], term = value * power(steps) * backward[larger];
      const double sum = pull(b + 1, value, raised, larger, !even, backward, by_last, even ? term : -term);
      by_last[b] += sum;
      total += sum;
    }
    return total;
  }
  // The number of terms since the last time.
  Int terms() { return std::exchange(n_terms_, 0); }

 private:
  const Alpha& alpha_;
  Ints scale_;
  Array<Int, 1> free_;
  Array<double, 1> factor_;
  Array<Int, 1> exponent_;
  Int size_ = 0, n_terms_ = 0;
};

// Push from the set `start` upwards until the budget of terms is spent; returns where it is.
//
// f(S) = Σ_{∅ ≠ T ⊆ S} (−1)^{|T|+1} f(S∖T) Π_{i ∈ T} α_i(S∖T), T being sinks (Tian & He 2009);
// forward[S] = f(S) 2^−scale[S].
inline Int sum_networks(const Alpha& alpha, Ints scale, Int start, Int budget, Vector<double> forward) {
  SinkWalk walk(alpha, scale);
  Pulse pulse;
  Int members = start;
  for (; members < scale.size() && budget > 0; ++members) {
    walk.begin(members);
    walk.push(0, forward[members], scale[members], members, true, forward);
    const Int terms = walk.terms();
    pulse(5 * terms + 10);
    budget -= terms;
  }
  return members;
}

// Go down from the set `start`, filling `backward` and adding to `edges`; returns where it is when the
// budget of terms is spent.
//
// backward[U] is the derivative of ln f(all) by f(U), times 2^scale[U].
inline Int weigh_networks(const Alpha& alpha, Ints scale, Floats forward, Int start, Int budget, Vector<double> backward,
                          Matrix<double> edges) {
  SinkWalk walk(alpha, scale);
  Array<double, 1> by_last(alpha.n());
  Pulse pulse;
  Int members = start;
  for (; members >= 0 && budget > 0; --members) {
    const Int n_free = walk.begin(members);
    by_last.fill(0.0);
    const double total = walk.pull(0, 1.0, scale[members], members, true, backward, by_last, 0.0);
    if (n_free > 0) backward[members] = total;
    for (Int b = 0; b < n_free; ++b) share_mass(alpha, members, walk.variable(b), forward[members] * by_last[b], edges);
    const Int terms = walk.terms();
    pulse(5 * terms + 10);
    budget -= terms;
  }
  return members;
}

// ---- The best network of a few variables, by dynamic programming over sets (Silander & Myllymäki 2006)

// Raise best[U] to the largest entry of any subset of U.
inline void best_subsets(Vector<double> best) {
  for (Int bit = 1; bit < best.size(); bit <<= 1)
    for (Int m = 0; m < best.size(); ++m)
      if (m & bit && best[m ^ bit] > best[m]) best[m] = best[m ^ bit];
}

// Fill the best score of a network of each set.
//
// score[S] = max_{i ∈ S} score[S∖i] + best[i, S∖i], with bit i squeezed out of S∖i.
inline void best_of_sets(Matrix<const double> best, Vector<double> score) {
  Pulse pulse;
  score[0] = 0.0;
  for (Int members = 1; members < score.size(); ++members) {
    pulse(2 * best.shape(0));
    score[members] = -INF;
    for_each_bit(Word(members), [&](Int i) {
      const Int rest = members ^ Int(1) << i;
      score[members] = std::max(score[members], score[rest] + best(i, squeeze(rest, i)));
    });
  }
}

}  // namespace cp::bayesian
