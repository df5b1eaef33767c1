#include "base/binding.hpp"
#include "independence/pairs.hpp"
#include "independence/stratified.hpp"
#include "independence/tests.hpp"

namespace cp {

using namespace independence;

static const Area area(
    "independence",
    {
        function<count_configurations>("count_configurations", "cards[] scopes[] scope_from[q+1] out[q]"),
        function<asymptotic<Int>, asymptotic<double>>("asymptotic", "values[] cards[] scopes[] scope_from[q+1] out_from[q+1] n_slices[q] pearson out[q,3]"),
        function<bayesian<Int>, bayesian<double>>("bayesian", "values[] cards[] scopes[] scope_from[q+1] out_from[q+1] n_slices[q] consistent prior out[q,3]"),
        function<stratified<Int>, stratified<double>>("stratified", "values[] cards[] scopes[] scope_from[q+1] out_from[q+1] out[q,5]"),
        function<pair_information<Int>, pair_information<double>>("pair_information", "counts[s,s] starts[n+1] out[n,n]"),
    });

}  // namespace cp
