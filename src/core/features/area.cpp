#include "base/binding.hpp"
#include "features/conditions.hpp"
#include "features/rows.hpp"
#include "features/words.hpp"

using namespace cp;
using namespace cp::features;

static const Area area("features", {
    TUPLE(Parts),
    TUPLE(WordRules),
    TUPLE(RuleMasks),
    KERNEL_BY_SMALL_CODE(fill_conditionals, "parts codes[parts.n,rows] variables[] start stop out[rows,]"),
    KERNEL_BY_SMALL_CODE(add_pseudo_log_likelihood, "parts codes[parts.n,rows] start stop out[rows,]"),
    KERNEL_BY_SMALL_CODE(add_log_potential, "parts codes[parts.n,rows] start stop out[rows]"),
    KERNEL_BY_SMALL_CODE(fill_conditionals_by_words, "rest rules codes[rest.n,rows] start stop out[rows,] ; rules.n=rest.n"),
    KERNEL_BY_SMALL_CODE(add_pseudo_log_likelihood_by_words, "rest rules codes[rest.n,rows] start stop out[rows,] ; rules.n=rest.n"),
    KERNEL(find_contradiction, "cards[] offsets[] variables[c] values[c] negated[c]"),
    KERNEL(simplify_conditions, "cards[] offsets[r+1] variables[c] values[c] negated[c] certain new_offsets[r+1] new_variables[c] new_values[c] new_negated[c]"),
    KERNEL(mark_paths, "cards[] nodes[k,4] roots[] parents[k] sizes[k]"),
    KERNEL(fill_paths, "cards[] nodes[k,4] parents[k] sizes[k] leaves[l] offsets[l+1] variables[c] values[c] negated[c]"),
});
