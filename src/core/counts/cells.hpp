// From rows to cells of tables, and from cells to counts; queries come as in bit_sets.hpp.
//
// All kernels that add rows to the cells of a table do it here, by `histogram` or `add_rows`, but for those that
// tests/architecture/test_counting.py lists.
#pragma once
#include "base/pulse.hpp"
#include "base/view.hpp"
#include "levels/loops.hpp"

namespace cp::counts {

constexpr Int BLOCK_ROWS = 8192;   // rows coded at a time: the cells stay in the first-level cache
constexpr Int SPLIT_CELLS = 1024;  // below this a histogram is split four ways, so that equal cells in a row do not wait for each other

// Fill `cell` with the mixed-radix cell of rows from `from` on, column by column so that it vectorizes; card(k) is the
// number of states of scope[k]. The caller makes sure that the largest cell fits.
template <class Code, class Cell, class Card>
void code_rows(Matrix<const Code> codes, Ints scope, Card card, Int from, Vector<Cell> cell) {
  if (scope.empty()) return cell.fill(0);
  const Vector<const Code> first = codes[scope[0]].part(from, from + cell.size());
  std::copy(first.begin(), first.end(), cell.begin());
  for (Int k = 1; k < scope.size(); ++k) append_codes(cell, codes[scope[k]].part(from, from + cell.size()), Cell(card(k)));
}
template <class Code, class Cell>
void code_rows(Matrix<const Code> codes, Ints scope, Ints cards, Int from, Vector<Cell> cell) {
  code_rows(codes, scope, [&](Int k) { return cards[scope[k]]; }, from, cell);
}

// Add value(i) to `out` at cell(i), in the order of the n rows.
template <class CellOf, class ValueOf, class Count>
void add_rows(Int n, CellOf cell, ValueOf value, Vector<Count> out) {
  for (Int i = 0; i < n; ++i) out[cell(i)] += value(i);
}
template <class Cell, class Value, class Count>
void add_rows(Vector<const Cell> cells, Vector<const Value> values, Vector<Count> out) {
  add_rows(cells.size(), [=](Int i) { return cells[i]; }, [=](Int i) { return values[i]; }, out);
}

// Add 1 to `out` at each cell; small tables go through four histograms at a time. `split` is scratch.
template <class Cell, class Count>
void histogram(Vector<const Cell> cell, Vector<u32> split, Vector<Count> out) {
  const Int size = out.size(), n = cell.size();
  if (size > SPLIT_CELLS) {
    Int i = 0;
    for (; i + 4 <= n; i += 4) {  // four cells are read before the first is written
      const Cell a = cell[i], b = cell[i + 1], c = cell[i + 2], d = cell[i + 3];
      out[a] += 1;
      out[b] += 1;
      out[c] += 1;
      out[d] += 1;
    }
    for (; i < n; ++i) out[cell[i]] += 1;
    return;
  }
  split.part(0, 4 * size).fill(0);
  const Vector<u32> h0 = split.part(0, size), h1 = split.part(size, 2 * size);
  const Vector<u32> h2 = split.part(2 * size, 3 * size), h3 = split.part(3 * size, 4 * size);
  Int i = 0;
  for (; i + 4 <= n; i += 4) {
    h0[cell[i]] += 1;
    h1[cell[i + 1]] += 1;
    h2[cell[i + 2]] += 1;
    h3[cell[i + 3]] += 1;
  }
  for (; i < n; ++i) h0[cell[i]] += 1;
  for (Int j = 0; j < size; ++j) out[j] += Int(h0[j]) + h1[j] + h2[j] + h3[j];
}

// Count queries over rows row_from … row_to − 1: the cells of a block, then a histogram.
template <class Code>
void count_radix(Matrix<const Code> codes, Ints cards, Ints scopes, Ints scope_from, Ints out_from, Ints queries,
                 Int row_from, Int row_to, Vector<Int> out) {
  const Ragged<const Int> lists{scopes, scope_from};
  const Ragged<Int> tables{out, out_from};
  Array<u16, 1> narrow(BLOCK_ROWS);
  Array<u32, 1> wide(BLOCK_ROWS), split(4 * SPLIT_CELLS);
  Pulse pulse;
  for (Int from = row_from; from < row_to; from += BLOCK_ROWS) {
    const Int to = std::min(from + BLOCK_ROWS, row_to);
    auto count = [&]<class Cell>(Vector<Cell> cell, Ints scope, Vector<Int> table) {
      code_rows(codes, scope, cards, from, cell);
      histogram(Vector<const Cell>(cell), split, table);
    };
    for (Int q : queries) {
      pulse(2 * (to - from));
      if (tables.length(q) <= 65536) count(narrow.part(0, to - from), lists[q], tables[q]);
      else count(wide.part(0, to - from), lists[q], tables[q]);
    }
  }
}

// Add the weights of rows row_from … row_to − 1, in row order.
template <class Code, class Weight>
void count_weighted(Matrix<const Code> codes, Vector<const Weight> weights, Ints cards, Ints scopes, Ints scope_from,
                    Ints out_from, Ints queries, Int row_from, Int row_to, Vector<Weight> out) {
  const Ragged<const Int> lists{scopes, scope_from};
  const Ragged<Weight> tables{out, out_from};
  Array<u32, 1> cells(BLOCK_ROWS);
  Pulse pulse;
  for (Int from = row_from; from < row_to; from += BLOCK_ROWS) {
    const Int to = std::min(from + BLOCK_ROWS, row_to);
    const Vector<u32> cell = cells.part(0, to - from);
    const Vector<const Weight> weight = weights.part(from, to);
    for (Int q : queries) {
      pulse(2 * (to - from));
      code_rows(codes, lists[q], cards, from, cell);
      add_rows(Vector<const u32>(cell), weight, tables[q]);
    }
  }
}

// ---- Where the tables of a batch of queries begin

// Fill `out_from` for the queries; a table above `max_cells` gets no cells.
//
// Returns −1, or the first query that names a column out of range or twice.
inline Int lay_out(Ints cards, Ints scopes, Ints scope_from, Int max_cells, Vector<Int> out_from) {
  const Ragged<const Int> lists{scopes, scope_from};
  Array<Int, 1> seen = filled<Int>(-1, cards.size());
  out_from[0] = 0;
  for (Int q = 0; q < lists.size(); ++q) {
    double cells = 1.0;  // the product of many cards overflows an integer, not a float
    for (Int column : lists[q]) {
      if (column < 0 || column >= cards.size() || seen[column] == q) return q;
      seen[column] = q;
      cells *= double(cards[column]);
    }
    const double end = double(out_from[q]) + (cells <= double(max_cells) ? cells : 0.0);
    out_from[q + 1] = Int(std::min(end, 0x1p62));
  }
  return -1;
}

}  // namespace cp::counts
