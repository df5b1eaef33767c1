#include "base/binding.hpp"
#include "learn/fields/conversion_features.hpp"
#include "learn/fields/logistic.hpp"
#include "learn/fields/pseudo_likelihood.hpp"
#include "learn/fields/tree_growth.hpp"

namespace cp {

using namespace fields;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

static const Area area(
    "fields",
    {
        structure<RawTerms>("RawTerms"),
        structure<StateSpace>("StateSpace"),
        structure<Terms>("Terms"),
        structure<FeatureStore>("FeatureStore"),
        function<count_states>("count_states", "raw space counts[raw.b]"),
        function<simplify_terms>("simplify_terms", "raw space terms"),
        function<room_for_term>("room_for_term", "terms modes[terms.b] positions[,] b"),
        function<spread_terms>("spread_terms", "terms modes[terms.b] positions[,] store start"),
        function<refill_slots>("refill_slots", "store"),
        constant("ALL", ALL),
        constant("LINEAR", LINEAR),
        constant("SINGLE", SINGLE),

        structure<Quadratic>("Quadratic"),
        structure<LogisticDesign<u8>>("LogisticDesign"),
        structure<LogisticScratch>("LogisticScratch"),
        function<list_feature_rows>("list_feature_rows", "words[f,] flipped[f] n_rows starts[f+1] rows[]"),
        function<add_margins<u8>, add_margins<u16>, add_margins<u32>>("add_margins", "design features[k] weights[k] out[design.rows]"),
        function<solve_logistic<u8>, solve_logistic<u16>, solve_logistic<u32>>(
            "solve_logistic", "design target l1 enough weights[heads,design.f] margins[heads,design.rows] scratch ; scratch.rows=design.rows scratch.f=design.f"),
        function<logistic_log_likelihood<u8>, logistic_log_likelihood<u16>, logistic_log_likelihood<u32>>(
            "logistic_log_likelihood", "design target margins[,design.rows]"),
        constant("SPARE_WORDS", SPARE_WORDS),

        structure<PseudoView>("PseudoView"),
        structure<Conjunctions>("Conjunctions"),
        structure<RowLists>("RowLists"),
        function<count_rows>("count_rows", "words[,w] valid[w] conjunctions sizes[conjunctions.c] opposite[conjunctions.c]"),
        function<list_rows>("list_rows", "words[,w] valid[w] conjunctions opposite[conjunctions.c] starts[conjunctions.c+1] positions[]"),
        function<add_pseudo_gradient>(
            "add_pseudo_gradient",
            "view lists cards[n] entry_from[n+1] slot_from[] first last values[t] by_slot[s] minus_pll[n] value_slopes[t] slot_slopes[s]"),

        structure<TreeRows<u8, u16>>("TreeRows"),
        structure<TreeScratch>("TreeScratch"),
        structure<TreeTerms>("TreeTerms"),
        structure<GrownTree>("GrownTree"),
        function<count_answers>("count_answers", "words[,] bit_rows[] yes_from[]"),
        function<list_answers<u16>, list_answers<u32>>("list_answers", "words[,] bit_rows[] yes_from[] yes[]"),
        function<grow_tree<u8, u16>, grow_tree<u8, u32>, grow_tree<u16, u16>, grow_tree<u16, u32>, grow_tree<u32, u16>, grow_tree<u32, u32>>(
            "grow_tree", "rows target terms scratch tree ; scratch.q=rows.q scratch.w=rows.w scratch.rows=rows.rows"),
        function<cut_tree>("cut_tree", "tree columns[q] values[q] price terms tests[tree.nodes,2] children[tree.nodes,2] log_values[tree.nodes,tree.states]"),
        function<judge_tree>("judge_tree", "words[,w] first[] weights[] target bit_rows[tree.nodes] tree prices[p] terms masks[,w] out[p]"),
    });

}  // namespace cp
