#include "base/binding.hpp"
#include "features/conditions.hpp"
#include "features/rows.hpp"
#include "features/words.hpp"

namespace cp {

using namespace features;
using u8 = std::uint8_t;
using u16 = std::uint16_t;

static const Area area(
    "features",
    {
        structure<Parts>("Parts"),
        structure<WordRules>("WordRules"),
        function<fill_conditionals<u8>, fill_conditionals<u16>>("fill_conditionals", "parts codes[parts.n,rows] variables[] start stop out[rows,]"),
        function<add_pseudo_log_likelihood<u8>, add_pseudo_log_likelihood<u16>>("add_pseudo_log_likelihood", "parts codes[parts.n,rows] start stop out[rows,]"),
        function<add_log_potential<u8>, add_log_potential<u16>>("add_log_potential", "parts codes[parts.n,rows] start stop out[rows]"),
        function<fill_conditionals_by_words<u8>, fill_conditionals_by_words<u16>>("fill_conditionals_by_words", "rest rules codes[rest.n,rows] start stop out[rows,] ; rules.n=rest.n"),
        function<add_pseudo_log_likelihood_by_words<u8>, add_pseudo_log_likelihood_by_words<u16>>("add_pseudo_log_likelihood_by_words", "rest rules codes[rest.n,rows] start stop out[rows,] ; rules.n=rest.n"),
        function<find_contradiction>("find_contradiction", "cards[] offsets[] variables[c] values[c] negated[c]"),
        function<mark_paths>("mark_paths", "cards[] nodes[k,4] roots[] parents[k] sizes[k]"),
        function<fill_paths>("fill_paths", "cards[] nodes[k,4] parents[k] sizes[k] leaves[l] offsets[l+1] variables[c] values[c] negated[c]"),
    });

}  // namespace cp
