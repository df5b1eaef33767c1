#include "base/binding.hpp"
#include "learn/bayesian/network_sums.hpp"
#include "learn/bayesian/best_order.hpp"
#include "learn/bayesian/ges.hpp"
#include "learn/bayesian/family_terms.hpp"
#include "learn/bayesian/order_chain.hpp"
#include "learn/bayesian/partition_chain.hpp"
#include "learn/bayesian/climb.hpp"

using namespace cp;
using namespace cp::bayesian;

static const Area area("bayesian", {
    TUPLE(RowRequests),
    TUPLE(Limits),
    TUPLE(DagState),
    TUPLE(Pattern),
    CONSTANT(MISS),
    CONSTANT(ADD),
    CONSTANT(DROP),
    CONSTANT(TURN),
    KERNEL(add_edges, "dag parents[dag.n,dag.words]"),
    KERNEL(make_move, "dag kind parent child"),
    KERNEL(load_families, "rows dag ; dag.n=rows.store.n dag.words=rows.store.words"),
    KERNEL(climb, "rows dag limits max_moves ; dag.n=rows.store.n dag.words=rows.store.words limits.n=rows.store.n limits.words=rows.store.words"),
    KERNEL(tabu_walk, "rows dag best limits tabu[] cursor[2] ; dag.n=rows.store.n dag.words=rows.store.words limits.n=rows.store.n limits.words=rows.store.words best.n=dag.n best.words=dag.words"),
    KERNEL(reinsert, "rows dag kept limits cursor[4] last ; dag.n=rows.store.n dag.words=rows.store.words limits.n=rows.store.n limits.words=rows.store.words kept.n=dag.n kept.words=dag.words"),
    KERNEL(knock_out, "rows dag kept limits cursor[4] last ; dag.n=rows.store.n dag.words=rows.store.words limits.n=rows.store.n limits.words=rows.store.words kept.n=dag.n kept.words=dag.words"),
    KERNEL(relabel, "pattern"),
    KERNEL(ges, "rows pattern limits max_parents max_steps ; pattern.n=rows.store.n pattern.words=rows.store.words limits.n=rows.store.n limits.words=rows.store.words"),
    KERNEL(knock_out_classes, "rows pattern kept limits max_parents cursor[4] last ; pattern.n=rows.store.n pattern.words=rows.store.words limits.n=rows.store.n limits.words=rows.store.words kept.n=pattern.n kept.words=pattern.words"),
    KERNEL(parents_in_order, "rows limits order[limits.n] shrink parents[limits.n,limits.words] total[1] ; limits.n=rows.store.n limits.words=rows.store.words"),
    KERNEL(place_nodes, "rows order[limits.n] limits cursor[4] last ; limits.n=rows.store.n limits.words=rows.store.words"),

    TUPLE(Tables),
    TUPLE(Alpha),
    KERNEL(log_sum_subsets, "sums[]"),
    KERNEL(walk_orders, "tables order[tables.n] uniforms[samples,,2] edges[tables.n,tables.k] log_scores[samples]"),
    KERNEL(draw_by_order, "tables order[tables.n] uniforms[tables.n] chosen[tables.n]"),
    KERNEL(walk_layers, "tables layer[tables.n] uniforms[samples,] edges[tables.n,tables.k] log_scores[samples]"),
    KERNEL(draw_by_layers, "tables layer[tables.n] uniforms[tables.n] chosen[tables.n]"),
    KERNEL(fill_layers, "candidates[n,] chosen[n] layer[n]"),
    KERNEL(fill_terms, "codes[n,rows] weights[rows] cards[n] split prefix max_size kind a ranks[] logs[] terms[,]"),
    KERNEL(fill_families, "whole[sets] parents[sets] cards[n] child max_parents kind a by_count[] by_edge[n] by_parameter out[]"),
    KERNEL(sum_subsets, "scores[m] value[m] exponent[m]"),
    KERNEL(sum_orders, "alpha out[]"),
    KERNEL(weigh_orders, "alpha forward[sets] start budget backward[sets] edges[alpha.n,alpha.n]"),
    KERNEL(sum_networks, "alpha scale[sets] start budget forward[sets]"),
    KERNEL(weigh_networks, "alpha scale[sets] forward[sets] start budget backward[sets] edges[alpha.n,alpha.n]"),
    KERNEL(best_subsets, "best[]"),
    KERNEL(best_of_sets, "best[,] score[sets]"),
});
