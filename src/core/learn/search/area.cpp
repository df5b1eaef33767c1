#include "base/binding.hpp"
#include "learn/search/searches.hpp"

using namespace cp;
using namespace cp::search;

static const Area area("search", {
    TUPLE(RowRequests),
    TUPLE(Limits),
    TUPLE(ParentLists),
    KERNEL(ges, "rows limits dag ; dag.n=rows.store.n"),
    KERNEL(knock_out_classes, "rows limits dag ; dag.n=rows.store.n"),
    KERNEL(climb, "rows limits dag ; dag.n=rows.store.n"),
    KERNEL(tabu_walk, "rows limits dag tabu[] ; dag.n=rows.store.n"),
    KERNEL(reinsert, "rows limits dag passes ; dag.n=rows.store.n"),
    KERNEL(knock_out, "rows limits dag ; dag.n=rows.store.n"),
    KERNEL(place_nodes, "rows limits order[n] ; n=rows.store.n"),
    KERNEL(parents_in_order, "rows limits order[n] shrink dag ; n=rows.store.n dag.n=n"),
    KERNEL(score_dag, "rows begins[n+1] nodes[edges] scores[n] gains[edges] ; n=rows.store.n"),
});
