#include "base/binding.hpp"
#include "counts/baskets.hpp"
#include "counts/bit_sets.hpp"
#include "counts/cells.hpp"
#include "counts/pack.hpp"
#include "counts/pairs.hpp"

using namespace cp;
using namespace cp::counts;

static const Area area("counts", {
    KERNEL(count_bits, "bits[,] first[n] cards[n] scopes[] scope_from[q+1] out_from[q+1] queries[] word_from word_to out[]"),
    KERNEL_BY_CODE(count_radix, "codes[n,] cards[n] scopes[] scope_from[q+1] out_from[q+1] queries[] row_from row_to out[]"),
    function<count_weighted<u8, double>, count_weighted<u8, Int>, count_weighted<u16, double>, count_weighted<u16, Int>, count_weighted<u32, double>, count_weighted<u32, Int>>("count_weighted", "codes[n,rows] weights[rows] cards[n] scopes[] scope_from[q+1] out_from[q+1] queries[] row_from row_to out[]"),
    KERNEL(pair_popcounts, "left[,] left_rows[] left_from right[,] right_rows[] right_from width symmetric out_rows[] out[,]"),
    function<pair_weights<u8, double>, pair_weights<u8, Int>, pair_weights<u16, double>, pair_weights<u16, Int>, pair_weights<u32, double>, pair_weights<u32, Int>>("pair_weights", "codes[,rows] weights[rows] left[l] left_from[l+1] right[r] right_from[r+1] row_from row_to out[,]"),
    KERNEL(spread_pairs, "joint[,] left_cards[] right_cards[] left_ones[s] right_ones[t] symmetric out[s,t]"),
    KERNEL_BY_CODE(pack_states, "codes[n,] columns[] cards[n] first[n] words[,] total[]"),
    KERNEL_BY_CODE(hash_columns, "codes[n,] hashes[n] constant[n]"),
    KERNEL(lay_out, "cards[] scopes[] scope_from[q+1] max_cells out_from[q+1]"),
    KERNEL(count_patterns, "baskets columns[] marks[] patterns[m] weights[m]"),
    KERNEL(count_companions, "baskets first items[i,most] shared[i,most]"),
    CONSTANT(BLOCK_ROWS),
    CONSTANT(CHUNK_WORDS),
});
