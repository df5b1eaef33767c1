#include "base/binding.hpp"
#include "graphs/equivalence.hpp"
#include "graphs/separation.hpp"
#include "graphs/triangulation.hpp"

namespace cp {

using namespace graphs;

static const Area area(
    "graphs",
    {
        function<transpose>("transpose", "rows[n,words] out[n,words]"),
        function<spread>("spread", "rows[n,words] blocked[words] seen[words]"),
        function<spread_active>("spread_active", "parent_rows[n,words] child_rows[n,words] observed[words] up[words] down[words]"),
        function<moral>("moral", "parent_rows[n,words] out[n,words]"),
        function<topological>("topological", "parent_rows[n,words] child_rows[n,words] order[n]"),
        function<label_compelled>("label_compelled", "parent_rows[n,words] order[n] compelled[n,words]"),
        function<extend>("extend", "child_rows[n,words] links[n,words] adjacent[n,words] out[n,words]"),
        function<eliminate>("eliminate", "rows[n,words] cards[n] alive[words] order[n] cliques[n,words]"),
        function<spanning_tree>("spanning_tree", "cliques[k,words] nearest[k] order[k]"),
    });

}  // namespace cp
