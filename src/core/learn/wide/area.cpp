#include "base/binding.hpp"
#include "learn/wide/kruskal.hpp"
#include "learn/wide/pair_lists.hpp"
#include "learn/wide/screens.hpp"
#include "learn/wide/search.hpp"

using namespace cp;
using namespace cp::wide;

static const Area area("wide", {
    TUPLE(WideData),
    KERNEL(screen_pairs, "data keep[] from_block to_block cursor[1] pairs[room,2] gains[room]"),
    KERNEL(screen_families, "data parents_from[data.n+1] parents[] children_from[data.n+1] children[] first_node best[,]"),
    KERNEL(judge_pairs, "data keep[] pairs[m,2] gains[m]"),
    KERNEL(choose_families, "data parents_from[data.n+1] parents[] children_from[data.n+1] children[] first_node families[,2]"),
    KERNEL(judge_families, "data parents_from[data.n+1] parents[] first_node families[m,2] listed_from[m+1] listed[] best[m,]"),
    KERNEL(search_wide, "data candidates_from[data.n+1] candidates[m] gains[m] every limits classes passes dag arrows[room] figures[3] ; dag.n=data.n"),
    KERNEL(score_lists, "data parents_from[data.n+1] parents[edges] scores[data.n] gains[edges]"),
    KERNEL(fill_left, "data parents_from[data.n+1] parents[edges] left[data.n]"),
    KERNEL(join_pairs, "pairs[m,2] root[] kept[m]"),
    KERNEL(list_partners, "pairs[m,2] gains[m] partner_from[n+1] partners[m,2] theirs[m,2]"),
    KERNEL(find_arrows, "parents_from[] parents[edges] arrows[edges]"),
});
