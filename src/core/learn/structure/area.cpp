#include "base/binding.hpp"
#include "learn/structure/class_knock_out.hpp"
#include "learn/structure/order.hpp"
#include "learn/structure/relatives.hpp"
#include "learn/structure/tabu.hpp"
#include "learn/structure/tree.hpp"

namespace cp {

using namespace networks;

static const Area area(
    "structure",
    {
        structure<RowRequests>("RowRequests"),
        structure<Limits>("Limits"),
        structure<DagState>("DagState"),
        structure<Pattern>("Pattern"),
        constant("MISS", MISS),
        constant("ADD", ADD),
        constant("DROP", DROP),
        constant("TURN", TURN),
        function<add_edges>("add_edges", "dag parents[dag.n,dag.words]"),
        function<make_move>("make_move", "dag kind parent child"),
        function<load_families>("load_families", "rows dag ; dag.n=rows.store.n dag.words=rows.store.words"),
        function<climb>("climb", "rows dag limits max_moves ; dag.n=rows.store.n dag.words=rows.store.words limits.n=rows.store.n limits.words=rows.store.words"),
        function<tabu_walk>("tabu_walk", "rows dag best limits tabu[] cursor[2] ; dag.n=rows.store.n dag.words=rows.store.words limits.n=rows.store.n limits.words=rows.store.words best.n=dag.n best.words=dag.words"),
        function<reinsert>("reinsert", "rows dag kept limits cursor[4] last ; dag.n=rows.store.n dag.words=rows.store.words limits.n=rows.store.n limits.words=rows.store.words kept.n=dag.n kept.words=dag.words"),
        function<knock_out>("knock_out", "rows dag kept limits cursor[4] last ; dag.n=rows.store.n dag.words=rows.store.words limits.n=rows.store.n limits.words=rows.store.words kept.n=dag.n kept.words=dag.words"),
        function<relabel>("relabel", "pattern"),
        function<ges>("ges", "rows pattern limits max_parents max_steps ; pattern.n=rows.store.n pattern.words=rows.store.words limits.n=rows.store.n limits.words=rows.store.words"),
        function<knock_out_classes>("knock_out_classes", "rows pattern kept limits max_parents cursor[4] last ; pattern.n=rows.store.n pattern.words=rows.store.words limits.n=rows.store.n limits.words=rows.store.words kept.n=pattern.n kept.words=pattern.words"),
        function<parents_in_order>("parents_in_order", "rows limits order[limits.n] shrink parents[limits.n,limits.words] total[1] ; limits.n=rows.store.n limits.words=rows.store.words"),
        function<place_nodes>("place_nodes", "rows order[limits.n] limits cursor[4] last ; limits.n=rows.store.n limits.words=rows.store.words"),
        function<grow_forest>("grow_forest", "weights[n,n] root threshold parents[n]"),
        function<fill_chi_squares<Int>, fill_chi_squares<double>>("fill_chi_squares", "counts[,] left_from[l+1] right_from[r+1] out[l,r]"),
        function<fill_binary_chi_squares>("fill_binary_chi_squares", "joint[m,n] first ones[] out[m,n]"),
        function<keep_largest>("keep_largest", "values[m,n] first order[n] out[m,]"),
    });

}  // namespace cp
