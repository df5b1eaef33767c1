// Growing one tree: a node is a bit set of rows, and a list of rows where it is small.
#pragma once
#include <numeric>

#include "counts/pairs.hpp"
#include "base/bits.hpp"
#include "learn/dependency/tree_nodes.hpp"

namespace cp::dependency {

// Bit sets of rows, and for each row the questions that it answers with yes.
template <class Question>
struct AnsweredQuestions {
  Ints weights;
  Matrix<const Word> words;
  Ints bit_rows;
  Ragged<const Question> yes;
};

// A table that trees are grown from. Question q asks whether column columns[q] has the code values[q].
template <class Code, class Question>
struct TreeRows {
  Matrix<const Code> codes;
  Ints weights;  // in units; empty where each row counts one
  Matrix<const Word> words;
  Ints first;  // row in `words` of code 0 of each column
  Ints columns;
  Ints values;
  Ints bit_rows;               // row in `words` of each question
  Ints yes_from;               // of each row in `yes`
  Vector<const Question> yes;  // the questions that a row answers with yes

  static constexpr const char* fields =
      "codes[n,rows] weights[] words[,w] first[n] columns[q] values[q] bit_rows[q] yes_from[rows+1] yes[]";

  AnsweredQuestions<Question> questions() const { return {weights, words, bit_rows, {yes, yes_from}}; }
};

// Fill yes_from of `TreeRows`.
inline void count_answers(Matrix<const Word> words, Ints bit_rows, Vector<Int> yes_from) {
  yes_from.fill(0);
  Pulse pulse;
  for (Int bit_row : bit_rows) {
    for_each_row(words[bit_row], [&](Int row) { yes_from[row + 1] += 1; });
    pulse(20 * words.shape(1));
  }
  for (Int row = 1; row < yes_from.size(); ++row) yes_from[row] += yes_from[row - 1];
}

// Fill `yes` of `TreeRows`, whose yes_from is known.
template <class Question>
void list_answers(Matrix<const Word> words, Ints bit_rows, Ints yes_from, Vector<Question> yes) {
  const Array<Int, 1> end(yes_from);
  Pulse pulse;
  for (Int q = 0; q < bit_rows.size(); ++q) {
    for_each_row(words[bit_rows[q]], [&](Int row) { yes[end[row]++] = Question(q); });
    pulse(20 * words.shape(1));
  }
}

// Grows the tree of one column, whose codes are a copy: nothing else depends on their type.
template <class Question>
class TreeGrower {
 public:
  TreeGrower(const AnsweredQuestions<Question>& rows, Vector<const u32> column, Int first, Flags allowed,
             const TreeTerms& terms, const GrowingTree& tree)
      : rows_(rows), column_(column), first_(first), allowed_(allowed), terms_(terms), tree_(tree),
        n_states_(tree.counts.shape(1)), n_levels_(levels_for(weighted() ? sum(rows.weights) : column.size())), node_(n_levels_),
        is_list_(n_levels_), start_(n_levels_), stop_(n_levels_), masks_(n_levels_, rows.words.shape(1)),
        tables_(n_levels_, n_states_, allowed.size()), state_masks_(n_states_, rows.words.shape(1)), order_(column.size()),
        states_(n_states_), sums_(allowed.size()) {
    std::iota(states_.begin(), states_.end(), Int(0));
  }

  Int run() {
    plant();
    Int n_nodes = 1;
    for (Int level = 0; level >= 0;) {
      const Int node = node_[level];
      const Ints counts = tree_.counts[node];
      const auto [question, gain] = terms_.may_split(counts) ? best_question(counts, tables_[level]) : std::tuple<Int, double>(-1, 0.0);
      tree_.questions[node] = question;
      if (question < 0) {
        tree_.children[node].fill(-1);
        tree_.gains[node] = -INF;
        --level;
        continue;
      }
      tree_.gains[node] = std::min(gain, tree_.gains[node]);
      for (Int s = 0; s < n_states_; ++s) {
        const Int yes = tables_(level, s, question);
        tree_.counts(n_nodes, s) = yes;
        tree_.counts(n_nodes + 1, s) = counts[s] - yes;
      }
      for (Int child = 0; child < 2; ++child) {
        tree_.children(node, child) = n_nodes + child;
        tree_.gains[n_nodes + child] = tree_.gains[node];
      }
      divide(question, level);
      n_nodes += 2;
      ++level;
    }
    return n_nodes;
  }

 private:
  bool weighted() const { return !rows_.weights.empty(); }
  static Int levels_for(Int total) { return std::bit_width(Word(total)) + 2; }

  // Put all rows into level 0, and count them.
  void plant() {
    const Int n_rows = column_.size();
    node_[0] = 0;
    tree_.gains[0] = INF;
    is_list_[0] = weighted();
    if (weighted()) {
      start_[0] = 0;
      stop_[0] = n_rows;
      for (Int i = 0; i < n_rows; ++i) order_[i] = std::int32_t(i);
    } else {
      const Vector<Word> mask = masks_[0];
      mask.fill(0);
      for (Int s = 0; s < n_states_; ++s) {
        const Words rows = rows_.words[first_ + s];
        for (Int w = 0; w < mask.size(); ++w) mask[w] |= rows[w];
      }
    }
    count(0);
    const Vector<Int> of_states = tree_.counts[0];
    of_states.fill(0);
    counts::add_rows(n_rows, [&](Int i) { return column_[i]; }, [&](Int i) { return weighted() ? rows_.weights[i] : 1; }, of_states);
  }

  // Fill the table of the node at `level`.
  void count(Int level) {
    const Matrix<Int> table = tables_[level];
    table.flat().fill(0);
    if (is_list_[level]) {
      const Int start = start_[level], stop = stop_[level];
      for (std::int32_t i : order_.part(start, stop)) {
        const Int weight = weighted() ? rows_.weights[i] : 1;
        const Vector<Int> cells = table[column_[i]];
        for (Question q : rows_.yes[i]) cells[q] += weight;
        pulse_(10 + rows_.yes.length(i));
      }
      return;
    }
    const Words mask = masks_[level];
    for (Int s = 0; s < n_states_; ++s) intersect(mask, rows_.words[first_ + s], state_masks_[s]);
    counts::pair_popcounts(state_masks_, states_, 0, rows_.words, rows_.bit_rows, 0, mask.size(), false, states_, table);
    pulse_(n_states_ * mask.size() * rows_.bit_rows.size() / 4);
  }

  // The first allowed question of greatest gain, and the gain; −1 where none gains the price.
  std::tuple<Int, double> best_question(Ints counts, Matrix<const Int> table) {
    constexpr double ROUNDING = 1e-13;  // of N ln N, by which a later question must be better than an earlier one
    const Int n = sum(counts);
    const double alone = terms_.log_likelihood(counts);
    const double tie = ROUNDING * (1e3 + terms_.n_log(n, n_states_));
    const Vector<Int> sums = sums_;
    sums.copy_from(table[0]);
    for (Int s = 1; s < n_states_; ++s) {
      const Ints row = table[s];
      for (Int q = 0; q < sums.size(); ++q) sums[q] += row[q];
    }
    Int best = -1;
    double most = alone + terms_.price;
    for (Int q = 0; q < sums.size(); ++q) {
      const Int yes = sums[q];
      if (yes < terms_.least || yes > n - terms_.least || !allowed_[q]) continue;
      double total = 0.0;
      for (Int s = 0; s < n_states_; ++s) {
        total += terms_.c_log(table(s, q));
        total += terms_.c_log(counts[s] - table(s, q));
      }
      total -= terms_.n_log(yes, n_states_);
      total -= terms_.n_log(n - yes, n_states_);
      if (total > most + (best >= 0 ? tie : 0.0)) {
        best = q;
        most = total;
      }
    }
    pulse_(2 * n_states_ * sums.size());
    return {best, most - alone};
  }

  // Leave the larger child in the place of its parent, and put the smaller one on the next level.
  void divide(Int question, Int level) {
    const Int parent = node_[level], small = level + 1;
    const Int yes_node = tree_.children(parent, 0), no_node = tree_.children(parent, 1);
    const Ints yes_counts = tree_.counts[yes_node], no_counts = tree_.counts[no_node];
    const Int yes = sum(yes_counts), no = sum(no_counts);
    const bool yes_is_small = yes <= no;
    if (!is_list_[level] && yes + no <= terms_.few) list_rows(level);
    is_list_[small] = is_list_[level];
    if (is_list_[level]) {
      const Int start = start_[level], stop = stop_[level];
      const Int middle = partition(rows_.words[rows_.bit_rows[question]], start, stop);
      start_[small] = yes_is_small ? start : middle;
      stop_[small] = yes_is_small ? middle : stop;
      start_[level] = yes_is_small ? middle : start;
      stop_[level] = yes_is_small ? stop : middle;
    } else {
      split_mask(masks_[level], rows_.words[rows_.bit_rows[question]], yes_is_small, masks_[small]);
      if (std::min(yes, no) <= terms_.few) list_rows(small);
    }
    node_[small] = yes_is_small ? yes_node : no_node;
    node_[level] = yes_is_small ? no_node : yes_node;
    if (!terms_.may_split(yes_counts) && !terms_.may_split(no_counts)) return;
    count(small);
    const Vector<Int> rest = tables_[level].flat();
    const Ints counted = tables_[small].flat();
    for (Int i = 0; i < rest.size(); ++i) rest[i] -= counted[i];
  }

  // Make a list of a mask; no lower level is a list, since children of lists are lists.
  void list_rows(Int level) {
    Int size = 0;
    for_each_row(masks_[level], [&](Int row) { order_[size++] = std::int32_t(row); });
    is_list_[level] = true;
    start_[level] = 0;
    stop_[level] = size;
  }

  // Put the rows of order[start … stop − 1] that are in `yes` first; returns where the others begin.
  Int partition(Words yes, Int start, Int stop) {
    while (start < stop) {
      const std::int32_t row = order_[start];
      if (has(yes, row)) {
        ++start;
      } else {
        order_[start] = order_[--stop];
        order_[stop] = row;
      }
    }
    return start;
  }

  AnsweredQuestions<Question> rows_;
  Vector<const u32> column_;  // of the target
  Int first_;                           // row in `words` of the target's code 0
  Flags allowed_;                       // the questions that the tree may ask
  const TreeTerms& terms_;
  const GrowingTree& tree_;
  Int n_states_;

  // A level has a node that waits. The lighter of two children is grown first, so that as many levels are enough as the
  // total weight has bits.
  Int n_levels_;
  Array<Int, 1> node_;      // of each level
  Array<bool, 1> is_list_;  // whether its rows are order_[start … stop − 1], else the bits of its mask
  Array<Int, 1> start_, stop_;
  Array<Word, 2> masks_;
  Array<Int, 3> tables_;  // (levels, states, questions): weight of the rows that answer yes
  Array<Word, 2> state_masks_;
  Array<std::int32_t, 1> order_;  // rows of the nodes held as lists
  Array<Int, 1> states_;          // 0, 1, …
  Array<Int, 1> sums_;            // of a table over the states
  Pulse pulse_;
};

// Grow the tree of column `target`, with the questions that are `allowed`; returns its number of nodes.
template <class Code, class Question>
Int grow_tree(const TreeRows<Code, Question>& rows, Int target, Flags allowed, const TreeTerms& terms, const GrowingTree& tree) {
  Array<u32, 1> column(rows.codes.shape(1));
  std::copy(rows.codes[target].begin(), rows.codes[target].end(), column.begin());
  return TreeGrower<Question>(rows.questions(), column, rows.first[target], allowed, terms, tree).run();
}

}  // namespace cp::dependency
