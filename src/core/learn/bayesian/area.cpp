#include "base/binding.hpp"
#include "learn/bayesian/network_sums.hpp"
#include "learn/bayesian/family_terms.hpp"
#include "learn/bayesian/order_chain.hpp"
#include "learn/bayesian/partition_chain.hpp"

using namespace cp;
using namespace cp::bayesian;

static const Area area("bayesian", {
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
