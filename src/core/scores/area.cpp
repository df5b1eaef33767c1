#include "base/binding.hpp"
#include "scores/row_fill.hpp"

using namespace cp;
using namespace cp::scores;

static const Area area("scores", {
    KERNEL(fill_clogc, "out[]"),
    KERNEL(score_table, "table[] q r s kind a logs[]"),
    KERNEL_BY_COUNT(score_tables, "values[] out_from[n+1] cards[n] kind a logs[] out[n]"),
    KERNEL_BY_COUNT(score_pairs, "counts[,] left_from[l+1] right_from[r+1] kind a logs[] out[l,r]"),
    KERNEL(find_row, "store child family[store.words]"),
    KERNEL(claim_slot, "store child family[store.words]"),
    KERNEL(claim_missing, "store children[m] families[m,store.words] slots[m]"),
    KERNEL(rank_rows, "store slots[]"),
    KERNEL_BY_CODE(fill_slots, "data store slots[] first stop ; data.n=store.n"),
    KERNEL_BY_CODE(fill_counted, "data store slots[m] cells_from[m+1] totals[c] kept_from[] counts[c,] first stop ; data.n=store.n"),
    KERNEL_BY_CODE(fill_summed, "data store slots[m] sums[m,data.n] ; data.n=store.n"),
    KERNEL_BY_CODE(finish_counted, "data store slots[m] cells_from[m+1] totals[c] ; data.n=store.n"),
    structure<RowData<u8>>("RowData"),
    TUPLE(RowStore),
    CONSTANT(LIKELIHOOD),
    CONSTANT(EQUIVALENT),
    CONSTANT(CONSTANT),
    CONSTANT(AVERAGE),
});
