// The few loops that gain from wider instructions, chosen once when the module is loaded.
//
// loops.cpp is compiled once for each level; everything else is compiled for the baseline (x86-64-v2,
// or what the platform has). Integer results are the same at every level, and so are floating ones: the
// order of sums is written down, and products and sums are never contracted.
#pragma once
#include <string>

#include "base/view.hpp"

namespace cp {

// The χ² of a binary child with binary columns, summed over q configurations of its parents.
//
// masks[c] holds the rows of configuration c with the child's first state, masks[q + c] all of its rows. With `rest` the
// last mask is left out: what the others leave of a column is in the last configuration.
struct FamilyTest {
  const Word* const* masks;
  Int q;
  bool rest;
  const double* rows;    // N_c, the rows of each configuration
  const double* shares;  // p, the child's first state among them
  const double* scales;  // N_c / (p (1 − p))
  double bar;
};
constexpr Int MOST_TESTED = 8;  // configurations of a FamilyTest

struct Loops {
  const char* name;
  Int (*count_ones)(const Word* a, Int n);
  Int (*count_common)(const Word* a, const Word* b, Int n);
  Int (*intersect)(const Word* a, const Word* b, Word* out, Int n);
  void (*common_4x4)(const Word* const* a, const Word* const* b, Int n, Int* totals);
  void (*common_1x4)(const Word* a, const Word* const* b, Int n, Int* totals);
  void (*weighted_1x4)(const Word* a, const u32* weights, const Word* const* b, Int n, Word* totals);
  void (*lane_counts)(const Word* const* masks, Int n_masks, const Word* plane, Int n, Int* counts, Int stride);
  void (*pair_hits)(const Word* const* masks, const Word* plane, Int n, const double* ones, const double* scales, const double* shares, const double* spreads, Int* counts, u8* hits);
  void (*family_hits)(const FamilyTest& test, const Word* planes, const double* ones, Int n_blocks, Int n, u8* hits);
  void (*lane_chi_squares)(const Int* within, const Int* joint, const double* totals, const double* cells, Int q, Int r, Int s, double* out);
  void (*append_8_to_16)(u16* cell, const u8* code, u16 radix, Int n);
  void (*append_16_to_16)(u16* cell, const u16* code, u16 radix, Int n);
  void (*append_32_to_16)(u16* cell, const u32* code, u16 radix, Int n);
  void (*append_8_to_32)(u32* cell, const u8* code, u32 radix, Int n);
  void (*append_16_to_32)(u32* cell, const u16* code, u32 radix, Int n);
  void (*append_32_to_32)(u32* cell, const u32* code, u32 radix, Int n);
  void (*add_strided)(std::int32_t* cell, const u16* code, std::int32_t stride, Int n);
  void (*add_differences)(double* score, const double* values, const std::int32_t* cell, std::int32_t step, Int n);
  void (*exponentials)(double* x, double* scratch, Int n);
  void (*logarithms)(double* x, double* scratch, Int n);
  void (*add_four)(double* sum, const double* const* terms, const double* factors, Int n);
  double (*mantissa_product)(const double* x, Int n, Int* exponent);
  void (*add_shares)(double* sum, const double* values, Int rows, Int stride, double weight, double* totals, Int n);
};

constexpr Int LANES = 8;  // columns side by side in a plane of bit sets

extern const Loops* loops;

// Take the best level of this processor, or the one that is named; returns what is wrong with it.
std::string choose_level(const char* wanted);
const char* level_name();
std::string level_names();  // those that can be chosen here, the best one last

// The number of set bits.
inline Int count_ones(Words a) { return loops->count_ones(a.data, a.size()); }
// The number of bits set in both.
inline Int count_common(Words a, Words b) {
  check_part(0, a.size(), b.size());
  return loops->count_common(a.data, b.data, a.size());
}
// Fill `out` with a & b; returns the number of set bits. `out` may be a or b.
inline Int intersect(Words a, Words b, Vector<Word> out) {
  check_part(0, out.size(), a.size());
  check_part(0, out.size(), b.size());
  return loops->intersect(a.data, b.data, out.data, out.size());
}

// cell = cell · radix + code for each row: one more digit of a mixed-radix number.
template <class Cell, class Code>
void append_codes(Vector<Cell> cell, Vector<const Code> code, Cell radix) {
  check_part(0, cell.size(), code.size());
  constexpr bool narrow = sizeof(Cell) == 2;
  if constexpr (narrow && sizeof(Code) == 1) loops->append_8_to_16(cell.data, code.data, radix, cell.size());
  else if constexpr (narrow && sizeof(Code) == 2) loops->append_16_to_16(cell.data, code.data, radix, cell.size());
  else if constexpr (narrow) loops->append_32_to_16(cell.data, code.data, radix, cell.size());
  else if constexpr (sizeof(Code) == 1) loops->append_8_to_32(cell.data, code.data, radix, cell.size());
  else if constexpr (sizeof(Code) == 2) loops->append_16_to_32(cell.data, code.data, radix, cell.size());
  else loops->append_32_to_32(cell.data, code.data, radix, cell.size());
}

// cell += code · stride for each row.
inline void add_strided(Vector<std::int32_t> cell, Vector<const u16> code, std::int32_t stride) {
  check_part(0, cell.size(), code.size());
  loops->add_strided(cell.data, code.data, stride, cell.size());
}
// score += values[cell + step] − values[cell] for each row.
inline void add_differences(Vector<double> score, Floats values, Vector<const std::int32_t> cell, std::int32_t step) {
  check_part(0, score.size(), cell.size());
#ifdef COUNTERPANE_CHECKED
  for (std::int32_t c : cell.part(0, score.size())) check_index(c, values.size()), check_index(c + step, values.size());
#endif
  loops->add_differences(score.data, values.data, cell.data, step, score.size());
}

// Replace x, none above 709, by exp(x), within 2 units in the last place; below −700 it is about 0.
inline void exponentials(Vector<double> x, Vector<double> scratch) {
  check_part(0, x.size(), scratch.size());
  loops->exponentials(x.data, scratch.data, x.size());
}
// Replace x, positive and normal, by ln x.
inline void logarithms(Vector<double> x, Vector<double> scratch) {
  check_part(0, x.size(), scratch.size());
  loops->logarithms(x.data, scratch.data, x.size());
}

}  // namespace cp
