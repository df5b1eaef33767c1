#include "base/binding.hpp"
#include "learn/hybrid/merging.hpp"

namespace cp {

using namespace hybrid;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

static const Area area(
    "hybrid",
    {
        structure<Data<u8>>("Data"),
        structure<Terms>("Terms"),
        structure<Scratch>("Scratch"),
        constant("LEAST_ROOM", LEAST_ROOM),
        function<learn_networks<u8>, learn_networks<u16>, learn_networks<u32>>(
            "learn_networks", "data terms variables[] members[data.n,width] scratch parents[data.n,width] scores[data.n]"),
        function<fill_tables<u8>, fill_tables<u16>, fill_tables<u32>>(
            "fill_tables", "data terms variables[] members[data.n,width] parents[data.n,width] scratch table_from[data.n+1] out[]"),
        function<insert_relatives>("insert_relatives", "relatives[,] first rank[n] out[n,]"),
        function<fill_blankets>("fill_blankets", "members[n,width] parents[n,width] rank[n] out[n,]"),
        function<unite>("unite", "members[n,width] parents[n,width] rank[n] out[n,]"),
    });

}  // namespace cp
