// Compiled once for each instruction level, with LEVEL its name and LOOPS the name of its table.
//
// Nothing here may leave a function that the linker could share with another level: no function of the
// standard library, everything else internal.
#include "levels/loops.hpp"

#ifdef _MSC_VER
#include <intrin.h>
#endif
#ifdef __AVX512VPOPCNTDQ__
#include <immintrin.h>
#endif

namespace cp {
namespace {

#if defined(_MSC_VER) && defined(_M_X64)
inline Int bits(Word word) { return Int(__popcnt64(word)); }
#elif defined(_MSC_VER)
inline Int bits(Word word) { return Int(_CountOneBits64(word)); }
#else
inline Int bits(Word word) { return __builtin_popcountll(word); }
#endif

Int count_ones(const Word* a, Int n) {
  Int total = 0;
  for (Int i = 0; i < n; ++i) total += bits(a[i]);
  return total;
}

Int count_common(const Word* a, const Word* b, Int n) {
  Int total = 0;
  for (Int i = 0; i < n; ++i) total += bits(a[i] & b[i]);
  return total;
}

Int intersect(const Word* a, const Word* b, Word* out, Int n) {
  Int total = 0;
  for (Int i = 0; i < n; ++i) {
    const Word word = a[i] & b[i];
    out[i] = word;
    total += bits(word);
  }
  return total;
}

// Four bit sets by four, so that each loaded word serves four counts.
void common_4x4(const Word* const* a, const Word* const* b, Int n, Int* totals) {
  const Word *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3];
  const Word *b0 = b[0], *b1 = b[1], *b2 = b[2], *b3 = b[3];
  Int s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
  Int s20 = 0, s21 = 0, s22 = 0, s23 = 0, s30 = 0, s31 = 0, s32 = 0, s33 = 0;
  for (Int w = 0; w < n; ++w) {
    s00 += bits(a0[w] & b0[w]);
    s01 += bits(a0[w] & b1[w]);
    s02 += bits(a0[w] & b2[w]);
    s03 += bits(a0[w] & b3[w]);
    s10 += bits(a1[w] & b0[w]);
    s11 += bits(a1[w] & b1[w]);
    s12 += bits(a1[w] & b2[w]);
    s13 += bits(a1[w] & b3[w]);
    s20 += bits(a2[w] & b0[w]);
    s21 += bits(a2[w] & b1[w]);
    s22 += bits(a2[w] & b2[w]);
    s23 += bits(a2[w] & b3[w]);
    s30 += bits(a3[w] & b0[w]);
    s31 += bits(a3[w] & b1[w]);
    s32 += bits(a3[w] & b2[w]);
    s33 += bits(a3[w] & b3[w]);
  }
  const Int sums[16] = {s00, s01, s02, s03, s10, s11, s12, s13, s20, s21, s22, s23, s30, s31, s32, s33};
  for (int i = 0; i < 16; ++i) totals[i] = sums[i];
}

void common_1x4(const Word* a, const Word* const* b, Int n, Int* totals) {
  const Word *b0 = b[0], *b1 = b[1], *b2 = b[2], *b3 = b[3];
  Int s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (Int w = 0; w < n; ++w) {
    s0 += bits(a[w] & b0[w]);
    s1 += bits(a[w] & b1[w]);
    s2 += bits(a[w] & b2[w]);
    s3 += bits(a[w] & b3[w]);
  }
  totals[0] = s0;
  totals[1] = s1;
  totals[2] = s2;
  totals[3] = s3;
}

void weighted_1x4(const Word* a, const u32* weights, const Word* const* b, Int n, Word* totals) {
  const Word *b0 = b[0], *b1 = b[1], *b2 = b[2], *b3 = b[3];
  Word s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (Int w = 0; w < n; ++w) {
    const Word weight = weights[w], own = a[w];
    s0 += weight * Word(u32(bits(own & b0[w])));
    s1 += weight * Word(u32(bits(own & b1[w])));
    s2 += weight * Word(u32(bits(own & b2[w])));
    s3 += weight * Word(u32(bits(own & b3[w])));
  }
  totals[0] = s0;
  totals[1] = s1;
  totals[2] = s2;
  totals[3] = s3;
}

// ---- Lanes: a plane holds word w of eight columns at plane[8 w … 8 w + 7], so that nothing is summed across lanes.

#ifdef __AVX512VPOPCNTDQ__
// Add the bits common to M masks and each of B planes, which follow each other, to sums[m][b].
template <int M, int B>
inline __attribute__((always_inline)) void sum_lanes(const Word* const* masks, const Word* planes, Int n, __m512i (&sums)[M][B]) {
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 2
    for (int b = 0; b < B; ++b) sums[m][b] = _mm512_setzero_si512();
  for (Int w = 0; w < n; ++w) {
    __m512i x[B];
#pragma GCC unroll 2
    for (int b = 0; b < B; ++b) x[b] = _mm512_loadu_si512(planes + LANES * (b * n + w));
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
      const __m512i mask = _mm512_set1_epi64((long long)masks[m][w]);
#pragma GCC unroll 2
      for (int b = 0; b < B; ++b) sums[m][b] = _mm512_add_epi64(sums[m][b], _mm512_popcnt_epi64(_mm512_and_si512(x[b], mask)));
    }
  }
}

template <int M>
void count_lanes(const Word* const* masks, const Word* plane, Int n, Int* counts, Int stride) {
  __m512i sums[M][1];
  sum_lanes(masks, plane, n, sums);
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) _mm512_storeu_si512(counts + stride * m, sums[m][0]);
}
#else
template <int M>
void count_lanes(const Word* const* masks, const Word* plane, Int n, Int* counts, Int stride) {
  for (int m = 0; m < M; ++m) {
    Int sums[LANES] = {};
    const Word* mask = masks[m];
    for (Int w = 0; w < n; ++w)
      for (int lane = 0; lane < LANES; ++lane) sums[lane] += bits(mask[w] & plane[LANES * w + lane]);
    for (int lane = 0; lane < LANES; ++lane) counts[stride * m + lane] = sums[lane];
  }
}
#endif

// Fill counts[stride m + lane] with the bits common to mask m and the lane.
void lane_counts(const Word* const* masks, Int n_masks, const Word* plane, Int n, Int* counts, Int stride) {
  for (; n_masks >= 8; n_masks -= 8, masks += 8, counts += 8 * stride) count_lanes<8>(masks, plane, n, counts, stride);
  switch (n_masks) {
    case 7: return count_lanes<7>(masks, plane, n, counts, stride);
    case 6: return count_lanes<6>(masks, plane, n, counts, stride);
    case 5: return count_lanes<5>(masks, plane, n, counts, stride);
    case 4: return count_lanes<4>(masks, plane, n, counts, stride);
    case 3: return count_lanes<3>(masks, plane, n, counts, stride);
    case 2: return count_lanes<2>(masks, plane, n, counts, stride);
    case 1: return count_lanes<1>(masks, plane, n, counts, stride);
    default: return;
  }
}

// Eight binary columns by eight: bit l of hits[m] says that χ² of mask m and lane l is above the limit. The counts of
// mask m are filled where it has a hit.
//
// χ² > t ⇔ (counts − ones[m] shares[l])² > t N share_m (1 − share_m) share_l (1 − share_l) = scales[m] spreads[l].
#ifdef __AVX512VPOPCNTDQ__
void pair_hits(const Word* const* masks, const Word* plane, Int n, const double* ones, const double* scales, const double* shares,
               const double* spreads, Int* counts, u8* hits) {
  __m512i sums[LANES][1];
  sum_lanes(masks, plane, n, sums);
  const __m512d share = _mm512_loadu_pd(shares), spread = _mm512_loadu_pd(spreads);
#pragma GCC unroll 8
  for (int m = 0; m < LANES; ++m) {
    const __m512d gap = _mm512_sub_pd(_mm512_cvtepi64_pd(sums[m][0]), _mm512_mul_pd(_mm512_set1_pd(ones[m]), share));
    hits[m] = u8(_mm512_cmp_pd_mask(_mm512_mul_pd(gap, gap), _mm512_mul_pd(_mm512_set1_pd(scales[m]), spread), _CMP_GT_OQ));
    if (hits[m]) _mm512_storeu_si512(counts + LANES * m, sums[m][0]);
  }
}
#else
void pair_hits(const Word* const* masks, const Word* plane, Int n, const double* ones, const double* scales, const double* shares,
               const double* spreads, Int* counts, u8* hits) {
  count_lanes<LANES>(masks, plane, n, counts, LANES);
  for (int m = 0; m < LANES; ++m) {
    int above[LANES];
    for (int lane = 0; lane < LANES; ++lane) {
      const double gap = double(counts[LANES * m + lane]) - ones[m] * shares[lane];
      above[lane] = gap * gap > scales[m] * spreads[lane];
    }
    int mask = 0;
    for (int lane = 0; lane < LANES; ++lane) mask |= above[lane] << lane;
    hits[m] = u8(mask);
  }
}
#endif

// Bit l of hits[b] says that the family's χ² with lane l of block b may be above the bar; ones[8 b + l] are its rows.
//
// With n_x the column's rows in a configuration, χ² = Σ_c gap² N_c / (n_x (N_c − n_x) p (1 − p)). Where the quotient is an
// approximation, within 2⁻¹⁴, the bar is lower by as much: what is hit is decided elsewhere.
#ifdef __AVX512VPOPCNTDQ__
template <int Q, bool REST, int B>
inline __attribute__((always_inline)) void test_blocks(const FamilyTest& test, const Word* planes, const double* ones, Int n, u8* hits) {
  __m512i sums[2 * Q - REST][B];
  sum_lanes(test.masks, planes, n, sums);
  const __m512d bar = _mm512_set1_pd(test.bar * (1.0 - 1.0 / 8192.0)), one = _mm512_set1_pd(1.0);
#pragma GCC unroll 2
  for (int b = 0; b < B; ++b) {
    __m512d left = _mm512_loadu_pd(ones + LANES * b), chi = _mm512_setzero_pd();
#pragma GCC unroll 8
    for (int c = 0; c < Q; ++c) {
      __m512d column = left;
      if constexpr (!REST) column = _mm512_cvtepi64_pd(sums[Q + c][b]);
      else if constexpr (Q > 1) column = c < Q - 1 ? _mm512_cvtepi64_pd(sums[Q + (c < Q - 1 ? c : 0)][b]) : left;
      left = _mm512_sub_pd(left, column);
      const __m512d gap = _mm512_fnmadd_pd(column, _mm512_set1_pd(test.shares[c]), _mm512_cvtepi64_pd(sums[c][b]));
      const __m512d spread = _mm512_mul_pd(column, _mm512_sub_pd(_mm512_set1_pd(test.rows[c]), column));
      const __m512d part = _mm512_mul_pd(_mm512_mul_pd(gap, gap), _mm512_rcp14_pd(_mm512_max_pd(spread, one)));
      chi = _mm512_fmadd_pd(part, _mm512_set1_pd(test.scales[c]), chi);
    }
    hits[b] = u8(_mm512_cmp_pd_mask(chi, bar, _CMP_GT_OQ));
  }
}
template <int Q, bool REST>
void test_family(const FamilyTest& test, const Word* planes, const double* ones, Int n_blocks, Int n, u8* hits) {
  Int b = 0;
  if constexpr (Q <= 4)
    for (; b + 2 <= n_blocks; b += 2) test_blocks<Q, REST, 2>(test, planes + LANES * n * b, ones + LANES * b, n, hits + b);
  for (; b < n_blocks; ++b) test_blocks<Q, REST, 1>(test, planes + LANES * n * b, ones + LANES * b, n, hits + b);
}
#else
template <int Q, bool REST>
void test_family(const FamilyTest& test, const Word* planes, const double* ones, Int n_blocks, Int n, u8* hits) {
  constexpr int M = 2 * Q - REST;
  for (Int b = 0; b < n_blocks; ++b, planes += LANES * n, ones += LANES) {
    Int counts[M * LANES];
    double left[LANES], chi[LANES];
    lane_counts(test.masks, M, planes, n, counts, LANES);
    for (int lane = 0; lane < LANES; ++lane) {
      left[lane] = ones[lane];
      chi[lane] = 0.0;
    }
    for (int c = 0; c < Q; ++c) {
      const bool last = REST && c == Q - 1;
      const Int* within = counts + LANES * (Q + (last ? 0 : c));
      for (int lane = 0; lane < LANES; ++lane) {
        const double column = last ? left[lane] : double(within[lane]);
        const double gap = double(counts[LANES * c + lane]) - column * test.shares[c], spread = column * (test.rows[c] - column);
        left[lane] -= column;
        chi[lane] += gap * gap / (spread > 1.0 ? spread : 1.0) * test.scales[c];
      }
    }
    int mask = 0;
    for (int lane = 0; lane < LANES; ++lane) mask |= int(chi[lane] > test.bar) << lane;
    hits[b] = u8(mask);
  }
}
#endif

template <int Q>
void test_columns(const FamilyTest& test, const Word* planes, const double* ones, Int n_blocks, Int n, u8* hits) {
  if constexpr (Q > 0) {
    if (test.q < Q) return test_columns<Q - 1>(test, planes, ones, n_blocks, n, hits);
    if (test.rest) test_family<Q, true>(test, planes, ones, n_blocks, n, hits);
    else test_family<Q, false>(test, planes, ones, n_blocks, n, hits);
  }
}
void family_hits(const FamilyTest& test, const Word* planes, const double* ones, Int n_blocks, Int n, u8* hits) {
  test_columns<MOST_TESTED>(test, planes, ones, n_blocks, n, hits);
}

// Σ_c (joint − within p)² / (within (1 − within / N) p (1 − p)), p the share of the child's first state in c.
void binary_chi_squares(const Int* within, const Int* joint, const double* totals, const double* cells, Int q, double* out) {
  double sums[LANES];
  for (int lane = 0; lane < LANES; ++lane) sums[lane] = 0.0;
  for (Int c = 0; c < q; ++c, within += LANES, joint += LANES) {
    const double inverse = 1.0 / totals[c], share = cells[2 * c] * inverse, spread = share * (1.0 - share);
    if (spread <= 0.0) continue;
    for (int lane = 0; lane < LANES; ++lane) {
      const double column = double(within[lane]), gap = double(joint[lane]) - column * share;
      const double variance = column * (1.0 - column * inverse) * spread;
      sums[lane] += gap * gap / (variance > 1e-9 ? variance : 1e300);
    }
  }
  for (int lane = 0; lane < LANES; ++lane) out[lane] = sums[lane];
}

// χ² of the child with each of eight columns of s + 1 states, summed over the q configurations of the parents.
//
// within[c, t, lane] counts column state t in configuration c, joint[c, x, t, lane] that and child state x; both leave
// out the last state. totals[c] are the rows of c, cells[c, x] those of each of the child's r states. With O the cells
// of a configuration of N rows, χ² = N Σ_t (Σ_x O_xt² / n_x) / m_t − N.
void lane_chi_squares(const Int* within, const Int* joint, const double* totals, const double* cells, Int q, Int r, Int s, double* out) {
  for (int lane = 0; lane < LANES; ++lane) out[lane] = 0.0;
  if (r == 2 && s == 1) return binary_chi_squares(within, joint, totals, cells, q, out);
  for (Int c = 0; c < q; ++c) {
    const double total = totals[c];
    double rest[LANES], sums[LANES];
    for (int lane = 0; lane < LANES; ++lane) {
      rest[lane] = total;
      sums[lane] = 0.0;
    }
    for (Int t = 0; t <= s; ++t) {
      double squares[LANES], column[LANES], last[LANES];
      for (int lane = 0; lane < LANES; ++lane) {
        column[lane] = t < s ? double(within[(c * s + t) * LANES + lane]) : rest[lane];
        rest[lane] -= column[lane];
        last[lane] = column[lane];
        squares[lane] = 0.0;
      }
      for (Int x = 0; x < r; ++x) {
        const double n = cells[c * r + x];
        if (n == 0.0) continue;
        const double inverse = 1.0 / n;
        double cell[LANES];
        if (x < r - 1 && t < s) {
          for (int lane = 0; lane < LANES; ++lane) cell[lane] = double(joint[((c * (r - 1) + x) * s + t) * LANES + lane]);
        } else if (x < r - 1) {
          for (int lane = 0; lane < LANES; ++lane) cell[lane] = n;
          for (Int u = 0; u < s; ++u)
            for (int lane = 0; lane < LANES; ++lane) cell[lane] -= double(joint[((c * (r - 1) + x) * s + u) * LANES + lane]);
        } else {
          for (int lane = 0; lane < LANES; ++lane) cell[lane] = last[lane];
        }
        for (int lane = 0; lane < LANES; ++lane) {
          last[lane] -= cell[lane];
          squares[lane] += cell[lane] * cell[lane] * inverse;
        }
      }
      for (int lane = 0; lane < LANES; ++lane) sums[lane] += column[lane] > 0.0 ? squares[lane] / column[lane] : 0.0;
    }
    for (int lane = 0; lane < LANES; ++lane) out[lane] += total * sums[lane] - total;
  }
}

template <class Cell, class Code>
void append(Cell* cell, const Code* code, Cell radix, Int n) {
  for (Int i = 0; i < n; ++i) cell[i] = Cell(cell[i] * radix + code[i]);
}

void add_strided(std::int32_t* cell, const u16* code, std::int32_t stride, Int n) {
  for (Int i = 0; i < n; ++i) cell[i] += std::int32_t(code[i]) * stride;
}

void add_differences(double* __restrict score, const double* __restrict values, const std::int32_t* __restrict cell, std::int32_t step, Int n) {
  const double* __restrict others = values + step;
  for (Int i = 0; i < n; ++i) score[i] += others[cell[i]] - values[cell[i]];
}

constexpr double LOG2_E = 1.4426950408889634;
constexpr double LN_2 = 0.6931471805599453;
constexpr double LN2_HIGH = 6.93147180369123816490e-01;  // ln 2 with 21 trailing zero bits
constexpr double LN2_LOW = 1.90821492927058770002e-10;   // and the rest of it
constexpr double SHIFT = 6755399441055744.0;             // 1.5 · 2^52: adding it leaves the nearest whole number in the low bits
constexpr Int HALF_ROOT = 0x3FE6A09E667F3BCD;            // the bits of √½

inline Int as_bits(double x) { return __builtin_bit_cast(Int, x); }
inline double as_double(Int x) { return __builtin_bit_cast(double, x); }

void exponentials(double* x, double* scratch, Int n) {
  for (Int i = 0; i < n; ++i) {
    const double v = x[i] < -700.0 ? -700.0 : x[i];  // not a number stays what it is
    const double shifted = v * LOG2_E + SHIFT;
    const double k = shifted - SHIFT;
    const double r = (v - k * LN2_HIGH) - k * LN2_LOW;
    double p = 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    scratch[i] = shifted;
    x[i] = p;
  }
  for (Int i = 0; i < n; ++i) x[i] = as_double(Int(Word(as_bits(x[i])) + (Word(as_bits(scratch[i])) << 52)));
}

// The exponent, and 2 artanh u of a fraction near 1.
void logarithms(double* x, double* scratch, Int n) {
  for (Int i = 0; i < n; ++i) {
    const Int k = (as_bits(x[i]) - HALF_ROOT) >> 52;
    scratch[i] = double(k);
    x[i] = as_double(as_bits(x[i]) - (k << 52));
  }
  for (Int i = 0; i < n; ++i) {
    const double u = (x[i] - 1.0) / (x[i] + 1.0);  // at most 0.172
    const double v = u * u, w = v * v;
    double p = 1.0 / 21.0;  // every second term of the series, so that two chains run side by side
    p = p * w + 1.0 / 17.0;
    p = p * w + 1.0 / 13.0;
    p = p * w + 1.0 / 9.0;
    p = p * w + 1.0 / 5.0;
    double q = 1.0 / 19.0;
    q = q * w + 1.0 / 15.0;
    q = q * w + 1.0 / 11.0;
    q = q * w + 1.0 / 7.0;
    q = q * w + 1.0 / 3.0;
    x[i] = 2.0 * u * (1.0 + v * (q + v * p)) + scratch[i] * LN_2;
  }
}

void add_four(double* sum, const double* const* terms, const double* factors, Int n) {
  const double *z0 = terms[0], *z1 = terms[1], *z2 = terms[2], *z3 = terms[3];
  const double w0 = factors[0], w1 = factors[1], w2 = factors[2], w3 = factors[3];
  for (Int i = 0; i < n; ++i) sum[i] += (w0 * z0[i] + w1 * z1[i]) + (w2 * z2[i] + w3 * z3[i]);
}

// The product of the mantissas, 1 to 2, of positive normal x: those of equal place modulo 8 first, then what is left
// over. The exponents are added to `exponent`.
double mantissa_product(const double* x, Int n, Int* exponent) {
  constexpr int LANES = 8;
  constexpr Word MANTISSA = (Word(1) << 52) - 1, ONE = Word(1023) << 52;
  const auto mantissa = [](Word bits) { return as_double(Int((bits & MANTISSA) | ONE)); };
  double products[LANES];
  Word exponents[LANES];
  for (int lane = 0; lane < LANES; ++lane) {
    products[lane] = 1.0;
    exponents[lane] = 0;
  }
  const Int whole = n - n % LANES;
  for (Int i = 0; i < whole; i += LANES) {
    for (int lane = 0; lane < LANES; ++lane) {
      const Word bits = Word(as_bits(x[i + lane]));
      exponents[lane] += bits >> 52;
      products[lane] *= mantissa(bits);
    }
  }
  double product = 1.0;
  Word total = 0;
  for (int lane = 0; lane < LANES; ++lane) {
    product *= products[lane];
    total += exponents[lane];
  }
  for (Int i = whole; i < n; ++i) {
    const Word bits = Word(as_bits(x[i]));
    total += bits >> 52;
    product *= mantissa(bits);
  }
  *exponent += Int(total) - 1023 * n;
  return product;
}

// Add weight × the columns of `values`, (rows, n) with rows `stride` apart, brought to sum to 1, to `sum`, laid out
// alike; `totals` is scratch.
void add_shares(double* sum, const double* values, Int rows, Int stride, double weight, double* totals, Int n) {
  for (Int i = 0; i < n; ++i) totals[i] = 0.0;
  for (Int y = 0; y < rows; ++y)
    for (Int i = 0; i < n; ++i) totals[i] += values[y * stride + i];
  for (Int i = 0; i < n; ++i) totals[i] = weight / totals[i];
  for (Int y = 0; y < rows; ++y)
    for (Int i = 0; i < n; ++i) sum[y * stride + i] += values[y * stride + i] * totals[i];
}

}  // namespace

#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x

extern const Loops LOOPS;
const Loops LOOPS = {
    TEXT(LEVEL), count_ones, count_common, intersect, common_4x4, common_1x4, weighted_1x4,
    lane_counts, pair_hits, family_hits, lane_chi_squares,
    append<u16, u8>, append<u16, u16>, append<u16, u32>,
    append<u32, u8>, append<u32, u16>, append<u32, u32>,
    add_strided, add_differences, exponentials, logarithms, add_four, mantissa_product, add_shares,
};

}  // namespace cp
