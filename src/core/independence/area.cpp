#include "base/binding.hpp"
#include "independence/margins.hpp"
#include "independence/relatives.hpp"
#include "independence/stratified.hpp"
#include "independence/tests.hpp"

using namespace cp;
using namespace cp::independence;

static const Area area("independence", {
    KERNEL(count_configurations, "cards[] scopes[] scope_from[q+1] out[q]"),
    KERNEL_BY_COUNT(asymptotic, "values[] cards[] scopes[] scope_from[q+1] out_from[q+1] n_slices[q] pearson out[q,3]"),
    KERNEL_BY_COUNT(bayesian, "values[] cards[] scopes[] scope_from[q+1] out_from[q+1] n_slices[q] consistent prior out[q,3]"),
    KERNEL_BY_COUNT(stratified, "values[] cards[] scopes[] scope_from[q+1] out_from[q+1] out[q,5]"),
    KERNEL_BY_COUNT(pair_information, "counts[s,s] starts[n+1] out[n,n]"),

    KERNEL_BY_COUNT(fill_chi_squares, "counts[,] left_from[l+1] right_from[r+1] out[l,r]"),
    KERNEL(fill_binary_chi_squares, "joint[m,n] first ones[] out[m,n]"),
    KERNEL(keep_largest, "values[m,n] first order[n] out[m,]"),
    KERNEL(relate_items, "baskets by_count[n] rank[n] first out[,]"),
});
