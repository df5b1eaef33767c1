#include "base/binding.hpp"
#include "inference/climb.hpp"
#include "inference/completion.hpp"
#include "inference/gibbs.hpp"
#include "inference/mean_field.hpp"
#include "inference/clique_tree.hpp"
#include "inference/exact_answer.hpp"
#include "inference/join_graph.hpp"
#include "inference/solution_search.hpp"
#include "inference/tempering.hpp"

using namespace cp;
using namespace cp::inference;

static const Area area("inference", {
    TUPLE(Tree),
    KERNEL(answer_rows, "tree cards[] columns[c] rows[r,c] targets[] homes[] values[] least[tree.f] out[r,] log_weights[r] logs"),
    KERNEL(expect_rows, "tree cards[n] rows[r,n] weights[r] values[v] least[tree.f] out[v] log_weights[r] logs"),
    KERNEL(compare_rows, "tree cards[n] rows[r,n] weights[r] values[] least[tree.f] change_from[tree.f+1] ratio_from[c] ratios[] out[c] log_weights[r] logs"),
    KERNEL(draw_rows, "tree cards[n] rows[r,n] seeds[r] values[] least[tree.f] out[n,] log_weights[r] logs"),

    TUPLE(Scopes),
    KERNEL(find_hosts, "offsets[s+1] variables[] owners[s] order[s] n_variables hosts[s]"),
    KERNEL(add_rules, "rules chosen[k] hosts[k] scopes cards[n] is_free[n] x[n] values[]"),
    KERNEL(add_tables, "source[] starts[f] step_offsets[f+1] steps[] hosts[f] scopes cards[] values[]"),
    KERNEL(set_strides, "offsets[s+1] variables[e] cards[] strides[e] cells[s+1]"),
    KERNEL(align_steps, "starts[f+1] variables[] steps[] hosts[f] scope_offsets[] scopes[] offsets[f+1] out[]"),
    KERNEL(pair_up, "offsets[s+1] variables[] owners[s] n out[]"),

    TUPLE(Scan),
    KERNEL(run_chains, "factors values[] rules scan parts relaxed laws[] sweeps codes[parts.n,units] likelihoods[] targets[k] strides[k] burn_in samples seeds[units] first last keys[] sums[units,,] kept[units,,parts.n] faults[units] ; scan.n=parts.n"),
    CONSTANT(IMPOSSIBLE),

    TUPLE(Leaves),
    KERNEL(relax, "parts rules own_offsets[parts.n+1] own[] leaves leaf_offsets[parts.n+1] states[parts.n+1] free[] soft[q] q[q]"),
    KERNEL(expected_energy, "parts rules states[parts.n+1] q[]"),

    TUPLE(FactorList),
    KERNEL(plan_exact, "factors evidence[factors.n] stages[factors.n] most_words most_cells limit order[factors.n] conditioned[factors.n] report[]"),
    KERNEL(solve_exact, "factors evidence[factors.n] stages[factors.n] targets[] order[] conditioned[] segment pool_cells task first last threads out[] best[factors.n]"),
    KERNEL(draw_exact, "factors evidence[factors.n] stages[factors.n] order[] conditioned[] segment pool_cells run seed out[factors.n,]"),
    CONSTANT(PLAN_ENTRIES),

    KERNEL(order_graph, "neighbors[n,] cards[n] most_words uses order[n]"),
    KERNEL(plan_order, "factors evidence[factors.n] most_words uses out[factors.n] report[]"),
    KERNEL(propagate_clusters, "factors evidence[factors.n] order[] most iterations damping tolerance maximize out[] best[factors.n] report[]"),
    CONSTANT(JOIN_ENTRIES),
    KERNEL(bound_weight, "factors evidence[factors.n] order[] most maximize"),
    KERNEL(cut_columns, "factors evidence[factors.n] order[] most out[factors.n]"),
    KERNEL(find_solution, "factors evidence[factors.n] beliefs[] seed noise most codes[factors.n]"),

    KERNEL(temper, "factors evidence[factors.n] seed most_work means[,]"),

    KERNEL(climb, "parts free[] sweeps rows[parts.n,]"),
});
