#include "base/binding.hpp"
#include "graphs/equivalence.hpp"
#include "graphs/forest.hpp"
#include "graphs/lists.hpp"
#include "graphs/separation.hpp"
#include "graphs/separators.hpp"
#include "graphs/triangulation.hpp"

using namespace cp;
using namespace cp::graphs;

static const Area area("graphs", {
    KERNEL(transpose, "rows[n,words] out[n,words]"),
    KERNEL(spread, "rows[n,words] blocked[words] seen[words]"),
    KERNEL(spread_active, "parent_rows[n,words] child_rows[n,words] observed[words] up[words] down[words]"),
    KERNEL(separate_pairs, "parent_rows[n,words] child_rows[n,words] pairs[q,2] conditions[q,] always[words] out[q]"),
    KERNEL(smallest_separators,
           "parent_rows[n,words] child_rows[n,words] pairs[q,2] candidates[q,words] always[words] most sizes[q] "
           "sets[q,words]"),
    KERNEL(moral, "parent_rows[n,words] out[n,words]"),
    KERNEL(topological, "parent_rows[n,words] child_rows[n,words] order[n]"),
    KERNEL(label_compelled, "parent_rows[n,words] order[n] compelled[n,words]"),
    KERNEL(order_lists, "parents_from[n+1] children_from[n+1] children[] order[n]"),
    KERNEL(label_lists, "parents_from[n+1] parents[edges] order[n] compelled[edges]"),
    KERNEL(extend, "child_rows[n,words] links[n,words] adjacent[n,words] out[n,words]"),
    KERNEL(eliminate, "rows[n,words] cards[n] alive[words] order[n] cliques[n,words]"),
    KERNEL(grow_forest, "weights[n,n] root threshold parents[n]"),
    KERNEL(spanning_tree, "cliques[k,words] nearest[k] order[k]"),
});
