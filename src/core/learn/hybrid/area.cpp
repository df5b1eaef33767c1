#include "base/binding.hpp"
#include "learn/hybrid/networks.hpp"

using namespace cp;
using namespace cp::hybrid;

static const Area area("hybrid", {
    structure<Data<u8>>("Data"),
    TUPLE(Terms),
    TUPLE(Scratch),
    CONSTANT(LEAST_ROOM),
    KERNEL_BY_CODE(learn_networks, "data terms variables[] members[data.n,width] scratch parents[data.n,width] scores[data.n]"),
    KERNEL_BY_CODE(fill_tables, "data terms variables[] members[data.n,width] parents[data.n,width] scratch table_from[data.n+1] out[]"),
    KERNEL(insert_relatives, "relatives[,] first rank[n] out[n,]"),
    KERNEL(fill_blankets, "members[n,width] parents[n,width] rank[n] out[n,]"),
    KERNEL(unite, "members[n,width] parents[n,width] rank[n] out[n,]"),
});
