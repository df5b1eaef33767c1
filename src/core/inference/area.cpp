#include "base/binding.hpp"
#include "inference/climb.hpp"
#include "inference/completion.hpp"
#include "inference/gibbs.hpp"
#include "inference/mean_field.hpp"
#include "inference/propagation.hpp"
#include "inference/tree_rows.hpp"

namespace cp {

using namespace inference;

static const Area area(
    "inference",
    {
        structure<Tree>("Tree"),
        structure<TreeRoom>("TreeRoom"),
        function<lay_out>("lay_out", "tree cards[] table_from[tree.k+1] message_from[tree.k+1]"),
        function<answer_rows>("answer_rows", "tree cards[] columns[c] rows[r,c] targets[] homes[] values[] least[tree.f] room out[r,] log_weights[r] logs"),
        function<expect_rows>("expect_rows", "tree cards[n] rows[r,n] weights[r] values[v] least[tree.f] room answer[] out[v] log_weights[r] logs"),
        function<draw_rows>("draw_rows", "tree cards[n] rows[r,n] seeds[r] values[] least[tree.f] room out[n,] log_weights[r] logs"),

        structure<Scopes>("Scopes"),
        structure<Conjunctions>("Conjunctions"),
        function<find_hosts>("find_hosts", "offsets[s+1] variables[] owners[s] order[s] n_variables hosts[s]"),
        function<add_rules>("add_rules", "rules chosen[k] hosts[k] scopes cards[n] is_free[n] x[n] values[]"),
        function<add_tables>("add_tables", "source[] starts[f] step_offsets[f+1] steps[] hosts[f] scopes cards[] values[]"),
        function<set_strides>("set_strides", "offsets[s+1] variables[e] cards[] strides[e] cells[s+1]"),
        function<align_steps>("align_steps", "starts[f+1] variables[] steps[] hosts[f] scope_offsets[] scopes[] offsets[f+1] out[]"),
        function<pair_up>("pair_up", "offsets[s+1] variables[] owners[s] n out[]"),

        structure<Scan>("Scan"),
        function<run_chains>("run_chains", "factors values[] rules scan parts relaxed laws[] sweeps codes[parts.n,units] likelihoods[] targets[k] strides[k] burn_in samples seeds[units] first last keys[] sums[units,,] kept[units,,parts.n] faults[units] ; scan.n=parts.n"),
        constant("IMPOSSIBLE", IMPOSSIBLE),

        structure<Leaves>("Leaves"),
        function<relax>("relax", "parts rules own_offsets[parts.n+1] own[] leaves leaf_offsets[parts.n+1] states[parts.n+1] free[] soft[q] q[q]"),
        function<expected_energy>("expected_energy", "parts rules states[parts.n+1] q[]"),

        structure<FactorGraph>("FactorGraph"),
        function<multiply_messages>("multiply_messages", "graph messages[] v but out[]"),
        function<sweep>("sweep", "graph messages[] maximize damping"),
        function<bethe>("bethe", "graph messages[]"),

        function<climb>("climb", "parts free[] sweeps rows[parts.n,]"),
    });

}  // namespace cp
