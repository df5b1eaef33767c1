// Trees grown for all prices of a split at once: their nodes, what a leaf is worth, and cutting back.
#pragma once
#include <tuple>

#include "base/bits.hpp"
#include "base/pulse.hpp"
#include "levels/loops.hpp"

namespace cp::dependency {

// The nodes of a tree, the first of them the root. At a price, the tree is made of the nodes whose parents'
// `gains` are above it.
template <class I, class F>
struct TreeNodes {
  Vector<I> questions;  // −1 at a leaf
  Matrix<I> children;   // the nodes of yes and no
  Vector<F> gains;      // the least gain of all questions from the root to the node's own; −∞ at a leaf
  Matrix<I> counts;     // of states, in units

  static constexpr const char* fields = "questions[nodes] children[nodes,2] gains[nodes] counts[nodes,states]";
};
using GrownTree = TreeNodes<const Int, const double>;
using GrowingTree = TreeNodes<Int, double>;

// When a node is split, and what a leaf is worth.
struct TreeTerms {
  double price;   // nats that a split must gain
  Int least;      // units that both sides of a split must have
  Int few;        // the rows of a node are listed if there are at most so many
  double unit;    // of weight
  double pseudo;  // added to the count of each state
  Floats c_logs;  // c ln(c + pseudo) by c, or empty
  Floats n_logs;  // N ln(N + states · pseudo) by N, or empty

  static constexpr const char* fields = "price least few unit pseudo c_logs[] n_logs[]";

  double c_log(Int count) const { return c_logs.empty() ? log_term(count, pseudo) : c_logs[count]; }
  double n_log(Int count, Int states) const {
    return n_logs.empty() ? log_term(count, double(states) * pseudo) : n_logs[count];
  }
  double log_term(Int count, double added) const {
    const double c = double(count) * unit;
    return count != 0 ? c * std::log(c + added) : 0.0;
  }

  // Σ c ln(c + pseudo) − N ln(N + states · pseudo) of a leaf, at most 0.
  double log_likelihood(Ints counts) const {
    double total = 0.0;
    for (Int count : counts) total += c_log(count);
    return total - n_log(sum(counts), counts.size());
  }
  // Whether a node has enough rows, and more to gain than a split costs.
  bool may_split(Ints counts) const { return sum(counts) >= 2 * least && -log_likelihood(counts) > price; }
};

// Move the rows of `mask` that answer yes, or those that answer no, to `out`.
inline void split_mask(Vector<Word> mask, Words yes, bool take_yes, Vector<Word> out) {
  const Word flip = take_yes ? Word(0) : ~Word(0);
  for (Int w = 0; w < mask.size(); ++w) {
    out[w] = mask[w] & (yes[w] ^ flip);
    mask[w] ^= out[w];
  }
}

// Write the tree cut back to a price; returns its number of nodes and its log-likelihood.
//
// Question q asks whether column columns[q] has the code values[q]: `tests` has both, (−1, 0) at a leaf.
// `log_values` are the log-probabilities of leaves. Parents come before their children.
inline std::tuple<Int, double> cut_tree(const GrownTree& tree, Ints columns, Ints values, double price, const TreeTerms& terms,
                                        Matrix<Int> tests, Matrix<Int> children, Matrix<double> log_values) {
  const Int size = tree.questions.size(), states = tree.counts.shape(1);
  const Array<Int, 1> place = filled<Int>(-1, size);  // of each node after cutting
  place[0] = 0;
  Int n = 1;
  double score = 0.0;
  for (Int k = 0; k < size; ++k) {
    const Int to = place[k];
    if (to < 0) continue;
    const Vector<double> log_value = log_values[to];
    if (tree.gains[k] > price) {
      tests(to, 0) = columns[tree.questions[k]];
      tests(to, 1) = values[tree.questions[k]];
      for (Int child = 0; child < 2; ++child) children(to, child) = place[tree.children(k, child)] = n++;
      log_value.fill(0.0);
      continue;
    }
    tests(to, 0) = -1;
    tests(to, 1) = 0;
    children[to].fill(-1);
    const double total = double(sum(tree.counts[k])) * terms.unit + double(states) * terms.pseudo;
    for (Int s = 0; s < states; ++s) {
      const double count = double(tree.counts(k, s)) * terms.unit;
      log_value[s] = std::log((count + terms.pseudo) / total);
      if (count > 0.0) score += count * log_value[s];
    }
  }
  return {n, score};
}

// The weight of the rows in both sets; without weights, their number.
inline double weight_of_common(Words a, Words b, Floats weights) {
  if (weights.empty()) return double(count_common(a, b));
  double total = 0.0;
  for (Int w = 0; w < a.size(); ++w) for_each_bit(a[w] & b[w], [&](Int row) { total += weights[row]; }, 64 * w);
  return total;
}

// Add to `out`, by price, the log-likelihood of validation rows in the tree cut back to that price.
//
// bit_rows[k] is the row in `words` of the question of node k; row first[v] is that of state 0 of column v.
// Level 0 of `masks` holds the rows to begin with. A level holds a node that waits: the smaller child goes to
// the next level, so that as many levels are enough as the number of rows has bits.
inline void judge_tree(Matrix<const Word> words, Ints first, Floats weights, Int target, Ints bit_rows, const GrownTree& tree,
                       Floats prices, const TreeTerms& terms, Matrix<Word> masks, Vector<double> out) {
  const Int states = tree.counts.shape(1);
  const Array<Int, 1> node(masks.shape(0));
  const Array<double, 1> reach(masks.shape(0));  // the highest price at which the node is there
  const auto log_likelihood = [&](Words mask, Ints counts) {
    const double n = double(sum(counts)) * terms.unit + double(states) * terms.pseudo;
    double total = 0.0;
    for (Int s = 0; s < states; ++s) {
      const double weight = weight_of_common(mask, words[first[target] + s], weights);
      if (weight > 0.0) total += weight * std::log((double(counts[s]) * terms.unit + terms.pseudo) / n);
    }
    return total;
  };
  Pulse pulse;
  node[0] = 0;
  reach[0] = INF;
  for (Int level = 0; level >= 0;) {
    const Int k = node[level];
    const Vector<Word> mask = masks[level];
    double worth = 0.0;
    bool known = false;
    for (Int p = 0; p < prices.size(); ++p) {
      if (prices[p] < tree.gains[k] || prices[p] >= reach[level]) continue;
      if (!known) worth = log_likelihood(mask, tree.counts[k]);
      known = true;
      out[p] += worth;
    }
    pulse(states * mask.size());
    const Int size = count_ones(mask);
    if (size == 0 || tree.questions[k] < 0) {
      --level;
      continue;
    }
    const Words yes = words[bit_rows[k]];
    const bool yes_is_small = 2 * count_common(mask, yes) <= size;
    split_mask(mask, yes, yes_is_small, masks[level + 1]);
    node[level + 1] = tree.children(k, yes_is_small ? 0 : 1);
    node[level] = tree.children(k, yes_is_small ? 1 : 0);
    reach[level + 1] = reach[level] = tree.gains[k];
    ++level;
  }
}

}  // namespace cp::dependency
