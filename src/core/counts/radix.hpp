// Contingency counts by mixed-radix cell numbers, weighted or not; queries come as in bit_sets.hpp.
#pragma once
#include "base/pulse.hpp"
#include "levels/loops.hpp"

namespace cp::counts {

constexpr Int BLOCK_ROWS = 8192;   // rows coded at a time: the cells stay in the first-level cache
constexpr Int SPLIT_CELLS = 1024;  // below this a histogram is split four ways, so that equal neighbors do not wait

// Fill `cell` with the mixed-radix cell of rows from … to − 1, column by column so that it vectorizes.
// The caller makes sure that the largest cell fits.
template <class Code, class Cell>
void code_rows(Matrix<const Code> codes, Ints scope, Ints cards, Int from, Int to, Vector<Cell> cell) {
  cell.fill(0);
  for (Int column : scope) append_codes(cell, codes[column].part(from, to), Cell(cards[column]));
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
      code_rows(codes, scope, cards, from, to, cell);
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
      code_rows(codes, lists[q], cards, from, to, cell);
      const Vector<Weight> table = tables[q];
      for (Int i = 0; i < cell.size(); ++i) table[cell[i]] += weight[i];
    }
  }
}

}  // namespace cp::counts
