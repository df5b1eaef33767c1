#include "base/binding.hpp"
#include "learn/dependency/conversion_features.hpp"
#include "learn/dependency/logistic.hpp"
#include "learn/dependency/tree_growth.hpp"

using namespace cp;
using namespace cp::dependency;

static const Area area("dependency", {
    TUPLE(RawTerms),
    TUPLE(StateSpace),
    TUPLE(Terms),
    TUPLE(BaseRows),
    TUPLE(FeatureStore),
    KERNEL(count_states, "raw space counts[raw.b]"),
    KERNEL(group_terms, "raw space terms"),
    KERNEL(room_for_term, "terms modes[terms.b] positions[,] b"),
    KERNEL(spread_terms, "terms modes[terms.b] positions[,] rows store start"),
    KERNEL(refill_slots, "store"),
    CONSTANT(ALL),
    CONSTANT(LINEAR),
    CONSTANT(SINGLE),

    structure<LogisticDesign<u8>>("LogisticDesign"),
    KERNEL(list_feature_rows, "words[f,] flipped[f] n_rows starts[f+1] rows[]"),
    KERNEL_BY_CODE(add_margins, "design features[k] weights[k] out[design.rows]"),
    KERNEL_BY_CODE(solve_logistic, "design target l1 enough max_active weights[heads,design.f] margins[heads,design.rows]"),
    KERNEL_BY_CODE(logistic_log_likelihood, "design target margins[,design.rows]"),

    structure<TreeRows<u8, u16>>("TreeRows"),
    TUPLE(TreeTerms),
    TUPLE(GrownTree),
    KERNEL(count_answers, "words[,] bit_rows[] yes_from[]"),
    function<list_answers<u16>, list_answers<u32>>("list_answers", "words[,] bit_rows[] yes_from[] yes[]"),
    function<grow_tree<u8, u16>, grow_tree<u8, u32>, grow_tree<u16, u16>, grow_tree<u16, u32>, grow_tree<u32, u16>, grow_tree<u32, u32>>("grow_tree", "rows target allowed[rows.q] terms tree"),
    KERNEL(cut_tree, "tree columns[q] values[q] price terms tests[tree.nodes,2] children[tree.nodes,2] log_values[tree.nodes,tree.states]"),
    KERNEL(judge_tree, "words[,w] first[] weights[] target bit_rows[tree.nodes] tree prices[p] terms masks[,w] out[p]"),
});
