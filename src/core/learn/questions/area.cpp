#include "base/binding.hpp"
#include "learn/questions/choice.hpp"
#include "learn/questions/class_walk.hpp"
#include "learn/questions/partial.hpp"
#include "learn/questions/population.hpp"
#include "learn/questions/walk.hpp"

namespace cp {

using namespace questions;

static const Area area(
    "questions",
    {
        structure<Tests>("Tests"),
        structure<Criterion>("Criterion"),
        structure<Reading>("Reading"),
        structure<Tested>("Tested"),
        function<measure>("measure", "graphs[p,n,tests.words] tests first reached[p,,2,tests.words] totals[p]"),
        function<walk>("walk", "graphs[p,n,tests.words] tests reached[p,,2,tests.words] sizes[p] totals[p] log_prior[] shares[3] draws[p,m,4] ratios[p,m]"),
        function<class_walk>("class_walk", "graphs[p,n,tests.words] tests reached[p,,2,tests.words] sizes[p] totals[p] log_prior[] shares[3] draws[p,m,4] ratios[p,m]"),
        function<jump>("jump", "graphs[p,n,tests.words] tests reached[p,,2,tests.words] sizes[p] totals[p] log_prior[] masks[p,n,tests.words] draws[p] ratios[p]"),
        function<addable>("addable", "rows[n,tests.words] tests reached[,2,tests.words] free[n,tests.words]"),
        function<removable>("removable", "rows[n,tests.words] tests reached[,2,tests.words] free[n,tests.words]"),
        function<spread_edges>("spread_edges", "graphs[,n,] edges[n,n,]"),
        function<reach>("reach", "edges[n,n,words] given[] start reached[n,words] waiting[n]"),
        function<answer>("answer", "edges[n,n,words] pairs[q,2] given[q,] met[q,words]"),
        function<gain>("gain", "met[] bounds[] x_log_x[]"),
        function<seek>("seek", "criterion starts[s] sets[s,words] worths[criterion.n,criterion.n] gains[criterion.n,criterion.n] best[criterion.n,criterion.n,words]"),
        function<climb>("climb", "criterion pairs[p,2] draws[p,,3] worths[criterion.n,criterion.n] gains[criterion.n,criterion.n] best[criterion.n,criterion.n,words]"),
        function<partial_information>("partial_information", "sigma[d,d] starts[] x y given[]"),
        function<pair_strengths>("pair_strengths", "sigma[d,d] starts[n+1] out[n,n]"),
        function<settle_graph>("settle_graph", "reading tested graph[reading.n,reading.n] log_odds[reading.n,reading.n] ; reading.n=tested.n"),
        function<move_graph>("move_graph", "reading tested graph[reading.n,reading.n] pairs[m,2] orders[s,m] draws[s,m] sums[m] ; reading.n=tested.n"),
        function<doubt_graph>("doubt_graph", "reading tested graph[reading.n,reading.n] log_odds[reading.n,reading.n] raised out[reading.n,reading.n] ; reading.n=tested.n"),
    });

}  // namespace cp
