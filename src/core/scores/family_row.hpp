// What filling a row of a RowStore needs, with and without missing cells: the data, and one family.
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
  Matrix<const Code> by_row;  // the codes row after row, or empty
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
  Int max_parents;
  Int max_cells;

  static constexpr const char* fields =
      "codes[n,rows] by_row[,n] words[states,words] ones[states] first[n] cards[n] weights[] logs[] kind a "
      "by_count[n+1] by_edge[,] max_parents max_cells";
  auto members() {
    return std::tie(codes, by_row, words, ones, first, cards, weights, logs, kind, a, by_count, by_edge, max_parents,
                    max_cells);
  }
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

  // The structure prior of the family with `toggled` added (+1), removed (−1), or as is (0).
  double prior(Int toggled, Int change) const {
    double edges = 0.0;
    if (!data.by_edge.empty()) {
      for (Int p : parents)
        if (p != toggled) edges += data.by_edge(p, child);
      if (change > 0) edges += data.by_edge(toggled, child);
    }
    return data.by_count[parents.size() + change] + edges;
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

// The tables of (scope, y) for each y of `added`, filled with 0, one after the other.
struct AddedTables {
  Array<Int, 1> from;
  Array<double, 1> values;

  template <class Code>
  AddedTables(const Family<Code>& family, Ints added) : from(added.size() + 1) {
    from[0] = 0;
    for (Int i = 0; i < added.size(); ++i) from[i + 1] = from[i] + family.cells * family.data.cards[added[i]];
    values = zeros<double>(from.back());
  }
  Vector<double> operator[](Int i) const { return values.part(from[i], from[i + 1]); }
};

// Fill `scores` of the added parents from their tables.
template <class Code>
void score_added(const Family<Code>& family, Ints added, const AddedTables& tables, Vector<double> scores,
                 Pulse& pulse) {
  for (Int i = 0; i < added.size(); ++i) {
    const Int y = added[i];
    scores[y] = family.score(tables[i], family.data.cards[y]) + family.prior(y, 1);
    pulse(16 * tables[i].size());
  }
}

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

// Call fill(family, scores) for each of `slots`, which were claimed, and rank the rows.
template <class Code, class Fill>
void fill_each(const RowData<Code>& data, const RowStore& store, Ints slots, Fill fill) {
  TableScorer scorer(data.kind, data.a, data.logs);
  Array<Int, 1> scope(data.cards.size() + 1);
  for (Int slot : slots) {
    Int size = 0;
    graphs::for_each_bit(store.parents[slot], [&](Int p) { scope[size++] = p; });
    scope[size++] = store.child[slot];
    const Family<Code> family(data, scorer, scope.part(0, size));
    fill(family, store.scores[slot]);
    rank_row(store, slot);
  }
}

}  // namespace cp::scores
