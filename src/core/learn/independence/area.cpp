#include "base/binding.hpp"
#include "learn/independence/choice.hpp"
#include "learn/independence/conditions.hpp"
#include "learn/independence/partial.hpp"
#include "learn/independence/walk.hpp"

using namespace cp;
using namespace cp::learn_independence;

static const Area area("learn_independence", {
    TUPLE(Tests),
    TUPLE(Criterion),
    TUPLE(Reading),
    TUPLE(Tested),
    KERNEL(list_conditions, "graph[n,words] later[n,words] strength[n,n] pairs[q,2] first starts[q+1] out[,]"),
    KERNEL(measure, "graphs[p,n,tests.words] tests first reached[p,,2,tests.words] totals[p]"),
    KERNEL(walk, "graphs[p,n,tests.words] tests reached[p,,2,tests.words] sizes[p] totals[p] log_prior[] shares[3] draws[p,m,4] ratios[p,m]"),
    KERNEL(spread_edges, "graphs[,n,] edges[n,n,]"),
    KERNEL(reach, "edges[n,n,words] given[] start reached[n,words] waiting[n]"),
    KERNEL(answer, "edges[n,n,words] pairs[q,2] given[q,] met[q,words]"),
    KERNEL(gain, "met[] bounds[] x_log_x[]"),
    KERNEL(seek, "criterion starts[s] sets[s,words] worths[criterion.n,criterion.n] gains[criterion.n,criterion.n] best[criterion.n,criterion.n,words]"),
    KERNEL(climb, "criterion pairs[p,2] draws[p,,3] worths[criterion.n,criterion.n] gains[criterion.n,criterion.n] best[criterion.n,criterion.n,words]"),
    KERNEL(partial_information, "sigma[d,d] starts[] x y given[]"),
    KERNEL(pair_strengths, "sigma[d,d] starts[n+1] out[n,n]"),
    KERNEL(settle_graph, "reading tested graph[reading.n,reading.n] log_odds[reading.n,reading.n] ; reading.n=tested.n"),
    KERNEL(move_graph, "reading tested graph[reading.n,reading.n] pairs[m,2] orders[s,m] draws[s,m] sums[m] ; reading.n=tested.n"),
    KERNEL(doubt_graph, "reading tested graph[reading.n,reading.n] log_odds[reading.n,reading.n] raised out[reading.n,reading.n] ; reading.n=tested.n"),
});
