// What filling a row of a RowStore needs: the data, and one family.
#pragma once
#include "base/pulse.hpp"
#include "levels/loops.hpp"
#include "scores/row_store.hpp"
#include "scores/tables.hpp"

namespace cp::scores {

constexpr Int MASK_WORDS = 16384;      // words of cell masks held at a time: they stay in the second-level cache
constexpr Int TABLE_CELLS = 1 << 22;  // cells of tables held at a time, and one table more

// What is counted and how it is scored.
template <class Code>
struct RowData {
  Matrix<const Code> codes;
  Matrix<const Word> words;   // bit set first[v] + s holds the rows with v = s
  Ints ones;                  // and has so many
  Ints first;
  Ints cards;
  Floats weights;  // empty: every row counts once
  Floats logs;     // c ln c
  Int kind;
  double a;
  Floats by_count;               // structure prior by number of parents
  Matrix<const double> by_edge;  // and by (parent, child), or empty
  double by_parameter;           // and for each parameter, (r − 1) q of a family
  Int max_parents;
  Int max_cells;
  Flags gaps;  // columns with missing cells; empty unless each family is counted on its own complete rows

  static constexpr const char* fields =
      "codes[n,rows] words[states,words] ones[states] first[n] cards[n] weights[] logs[] kind a "
      "by_count[n+1] by_edge[,] by_parameter max_parents max_cells gaps[]";

  bool has_gaps(Int v) const { return !gaps.empty() && gaps[v]; }
};

// The family whose row is filled.
template <class Code>
struct Family {
  const RowData<Code>& data;
  TableScorer& score_of;
  Ints scope;    // the parents, then the child
  Ints parents;  // the same without the child
  Int child;
  Int r;      // the child's states
  Int cells;  // of the table of `scope`

  Family(const RowData<Code>& row_data, TableScorer& scorer, Ints parents_and_child)
      : data(row_data),
        score_of(scorer),
        scope(parents_and_child),
        parents(scope.part(0, scope.size() - 1)),
        child(scope.back()),
        r(data.cards[child]),
        cells(1) {
    for (Int v : scope) cells *= data.cards[v];
  }

  bool may_add(Int y) const {
    return parents.size() < data.max_parents && cells * data.cards[y] <= data.max_cells && !contains(scope, y);
  }

  // The score of a table with axes (parents, child, one more parent of s states).
  double score(Floats table, Int s) const { return score_of(table, table.size() / (r * s), r, s); }

  // The likelihood score of Σ N_jk ln(N_jk / N_j) with one more parent of s states.
  double penalized(double sum, Int s) const { return sum - data.a * double(cells / r) * double(s) * double(r - 1); }

  // The structure prior of the family with `toggled` added (+1), removed (−1), or as is (0).
  double prior(Int toggled, Int change) const {
    double edges = 0.0;
    if (!data.by_edge.empty()) {
      for (Int p : parents)
        if (p != toggled) edges += data.by_edge(p, child);
      if (change > 0) edges += data.by_edge(toggled, child);
    }
    Int parameters = cells / r * (r - 1);
    if (change > 0) parameters *= data.cards[toggled];
    if (change < 0) parameters /= data.cards[toggled];
    return data.by_count[parents.size() + change] + edges + data.by_parameter * double(parameters);
  }

  // The words of a mask for each cell that are held at a time.
  Int mask_words() const { return std::min(std::max<Int>(64, MASK_WORDS / cells), data.words.shape(1)); }

  // Fill masks[c] with the rows in cell c, words from … to − 1, and ones[c] with their number.
  void fill_masks(Int from, Int to, Matrix<Word> masks, Vector<Int> ones) const {
    const Int width = to - from;
    Int size = 1;
    for (Int v : scope) {
      const Int card = data.cards[v];
      // From the last cell to the first, so that no mask is overwritten before its use.
      for (Int c = size - 1; c >= 0; --c) {
        for (Int s = card - 1; s >= 0; --s) {
          const Words rows = data.words[data.first[v] + s].part(from, to);
          const Vector<Word> mask = masks[c * card + s].part(0, width);
          ones[c * card + s] = intersect(v == scope[0] ? rows : Words(masks[c].part(0, width)), rows, mask);
        }
      }
      size *= card;
    }
  }
};

// Call visit(part) for parts of `added` whose tables fit into memory; at least once, if with none.
template <class Code, class Visit>
void for_each_batch(const Family<Code>& family, Ints added, Visit visit) {
  Int stop = 0;
  do {
    const Int start = stop;
    for (Int size = 0; stop < added.size() && size < TABLE_CELLS; ++stop)
      size += family.cells * family.data.cards[added[stop]];
    visit(added.part(start, stop));
  } while (stop < added.size());
}

}  // namespace cp::scores
