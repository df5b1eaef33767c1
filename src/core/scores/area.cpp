#include "base/binding.hpp"
#include "scores/available_rows.hpp"
#include "scores/complete_rows.hpp"

namespace cp {

using namespace scores;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

static const Area area(
    "scores",
    {
        function<fill_clogc>("fill_clogc", "out[]"),
        function<score_table>("score_table", "table[] q r s kind a logs[]"),
        function<score_tables<Int>, score_tables<double>>("score_tables", "values[] out_from[n+1] cards[n] kind a logs[] out[n]"),
        function<score_pairs<Int>, score_pairs<double>>("score_pairs", "counts[,] left_from[l+1] right_from[r+1] kind a logs[] out[l,r]"),
        function<find_row>("find_row", "store child family[store.words]"),
        function<claim_slot>("claim_slot", "store child family[store.words]"),
        function<claim_missing>("claim_missing", "store children[m] families[m,store.words] slots[m]"),
        function<rank_row>("rank_row", "store slot"),
        function<fill_slots<u8>, fill_slots<u16>, fill_slots<u32>>("fill_slots", "data store slots[] ; data.n=store.n"),
        function<fill_slots_available<u8>, fill_slots_available<u16>, fill_slots_available<u32>>("fill_slots_available", "data gaps[data.n] store slots[] ; data.n=store.n"),
        structure<RowData<u8>>("RowData"),
        structure<RowStore>("RowStore"),
        constant("LIKELIHOOD", LIKELIHOOD),
        constant("EQUIVALENT", EQUIVALENT),
        constant("CONSTANT", CONSTANT),
        constant("AVERAGE", AVERAGE),
    });

}  // namespace cp
