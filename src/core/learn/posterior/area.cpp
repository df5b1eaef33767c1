#include "base/binding.hpp"
#include "learn/posterior/best_network.hpp"
#include "learn/posterior/family_terms.hpp"
#include "learn/posterior/network_sums.hpp"
#include "learn/posterior/orders.hpp"
#include "learn/posterior/partitions.hpp"

namespace cp {

using namespace posterior;

static const Area area(
    "posterior",
    {
        structure<Tables>("Tables"),
        structure<Alpha>("Alpha"),
        function<log_sum_subsets>("log_sum_subsets", "sums[]"),
        function<walk_orders>("walk_orders", "tables order[tables.n] uniforms[samples,,2] edges[tables.n,tables.k] squares[tables.n,tables.k] log_scores[samples]"),
        function<draw_by_order>("draw_by_order", "tables order[tables.n] uniforms[tables.n] chosen[tables.n]"),
        function<walk_layers>("walk_layers", "tables layer[tables.n] uniforms[samples,] edges[tables.n,tables.k] squares[tables.n,tables.k] log_scores[samples]"),
        function<draw_by_layers>("draw_by_layers", "tables layer[tables.n] uniforms[tables.n] chosen[tables.n]"),
        function<fill_layers>("fill_layers", "candidates[n,] chosen[n] layer[n]"),
        function<fill_terms>("fill_terms", "codes[n,rows] weights[rows] cards[n] split prefix max_size kind a ranks[] logs[] terms[,]"),
        function<fill_families>("fill_families", "whole[sets] parents[sets] cards[n] child max_parents kind a by_count[] by_edge[n] out[]"),
        function<sum_subsets>("sum_subsets", "scores[m] value[m] exponent[m]"),
        function<sum_orders>("sum_orders", "alpha out[]"),
        function<weigh_orders>("weigh_orders", "alpha forward[sets] start budget backward[sets] edges[alpha.n,alpha.n]"),
        function<sum_networks>("sum_networks", "alpha scale[sets] start budget forward[sets]"),
        function<weigh_networks>("weigh_networks", "alpha scale[sets] forward[sets] start budget backward[sets] edges[alpha.n,alpha.n]"),
        function<best_subsets>("best_subsets", "best[]"),
        function<best_sinks>("best_sinks", "best[,] score[sets] sink[sets]"),
    });

}  // namespace cp
