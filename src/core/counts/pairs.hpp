// Counts of all pairs of columns, state by state, as one matrix.
#pragma once
#include "base/pulse.hpp"
#include "counts/cells.hpp"
#include "levels/loops.hpp"

namespace cp::counts {

// Add to out[out_rows[a], b] the bits common to left[left_rows[a]] and right[right_rows[b]].
//
// `width` words are compared, from left_from and right_from on. Tiles of 64 rows stay in the second-level
// cache. With `symmetric` (both sides are the same) only blocks that reach the diagonal or lie above it
// are filled.
inline void pair_popcounts(Matrix<const Word> left, Ints left_rows, Int left_from, Matrix<const Word> right,
                           Ints right_rows, Int right_from, Int width, bool symmetric, Ints out_rows, Matrix<Int> out) {
  constexpr Int WORDS = 1024, TILE = 64;
  const Int n_left = left_rows.size(), n_right = right_rows.size(), whole = n_right / 4 * 4;
  Pulse pulse;
  for (Int start = 0; start < width; start += WORDS) {
    const Int size = std::min(WORDS, width - start);
    const auto left_row = [&](Int a) { return left[left_rows[a]].part(left_from + start, left_from + start + size).data; };
    const auto right_row = [&](Int b) { return right[right_rows[b]].part(right_from + start, right_from + start + size).data; };
    for (Int first = 0; first < n_left; first += TILE) {
      const Int end = std::min(first + TILE, n_left);
      for (Int b = 0; b < whole; b += 4) {
        const Word* four[4] = {right_row(b), right_row(b + 1), right_row(b + 2), right_row(b + 3)};
        const Int stop = symmetric ? std::min(end, b + 4) : end;
        Int a = first;
        Int totals[16];
        for (; a + 4 <= stop; a += 4) {
          const Word* own[4] = {left_row(a), left_row(a + 1), left_row(a + 2), left_row(a + 3)};
          loops->common_4x4(own, four, size, totals);
          for (Int i = 0; i < 4; ++i)
            for (Int j = 0; j < 4; ++j) out(out_rows[a + i], b + j) += totals[4 * i + j];
        }
        for (; a < stop; ++a) {
          loops->common_1x4(left_row(a), four, size, totals);
          for (Int j = 0; j < 4; ++j) out(out_rows[a], b + j) += totals[j];
        }
        pulse(TILE * size);
      }
      for (Int b = whole; b < n_right; ++b)
        for (Int a = first; a < end; ++a) out(out_rows[a], b) += loops->count_common(left_row(a), right_row(b), size);
    }
  }
}

// Add the weights of rows row_from … row_to − 1 to out[left_from[i] + s, right_from[j] + t].
//
// A plain loop over all pairs: a matrix product of indicators costs the square of the states, and its
// threads spin on busy cores.
template <class Code, class Weight>
void pair_weights(Matrix<const Code> codes, Vector<const Weight> weights, Ints left, Ints left_from, Ints right,
                  Ints right_from, Int row_from, Int row_to, Matrix<Weight> out) {
  Pulse pulse;
  for (Int from = row_from; from < row_to; from += BLOCK_ROWS) {
    const Int to = std::min(from + BLOCK_ROWS, row_to);
    const Vector<const Weight> weight = weights.part(from, to);
    for (Int i = 0; i < left.size(); ++i) {
      const Vector<const Code> own = codes[left[i]].part(from, to);
      pulse((to - from) * right.size());
      for (Int j = 0; j < right.size(); ++j) {
        const Vector<const Code> other = codes[right[j]].part(from, to);
        for (Int r = 0; r < to - from; ++r) out(left_from[i] + own[r], right_from[j] + other[r]) += weight[r];
      }
    }
  }
}

// Fill `out`, all states by all states, from `joint`, which leaves out each last state.
//
// `left_ones` and `right_ones` count each state alone; a last state is what the others leave.
inline void spread_pairs(Matrix<const Int> joint, Ints left_cards, Ints right_cards, Ints left_ones, Ints right_ones,
                         bool symmetric, Matrix<Int> out) {
  Int row = 0, kept_row = 0;  // where column i begins in `out` and in `joint`
  for (Int i = 0; i < left_cards.size(); ++i) {
    const Int r = left_cards[i];
    Int place = 0, kept_place = 0;
    for (Int j = 0; j < right_cards.size(); ++j) {
      const Int c = right_cards[j];
      if (!symmetric || j >= i) {
        for (Int s = 0; s < r - 1; ++s) {
          Int rest = left_ones[row + s];
          for (Int t = 0; t < c - 1; ++t) {
            const Int count = joint(kept_row + s, kept_place + t);
            out(row + s, place + t) = count;
            rest -= count;
          }
          out(row + s, place + c - 1) = rest;
        }
        for (Int t = 0; t < c; ++t) {
          Int rest = right_ones[place + t];
          for (Int s = 0; s < r - 1; ++s) rest -= out(row + s, place + t);
          out(row + r - 1, place + t) = rest;
        }
        if (symmetric)
          for (Int s = 0; s < r; ++s)
            for (Int t = 0; t < c; ++t) out(place + t, row + s) = out(row + s, place + t);
      }
      place += c;
      kept_place += c - 1;
    }
    row += r;
    kept_row += r - 1;
  }
}

}  // namespace cp::counts
