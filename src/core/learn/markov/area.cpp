#include "base/binding.hpp"
#include "learn/markov/pseudo_likelihood.hpp"

using namespace cp;
using namespace cp::markov;

static const Area area("markov", {
    TUPLE(PseudoView),
    TUPLE(Conjunctions),
    TUPLE(RowLists),
    KERNEL(count_rows, "words[,w] valid[w] conjunctions sizes[conjunctions.c] opposite[conjunctions.c]"),
    KERNEL(list_rows, "words[,w] valid[w] conjunctions opposite[conjunctions.c] starts[conjunctions.c+1] positions[]"),
    KERNEL(add_pseudo_gradient, "view lists cards[n] entry_from[n+1] slot_from[] first last values[t] by_slot[s] minus_pll[n] value_slopes[t] slot_slopes[s]"),
});
