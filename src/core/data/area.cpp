#include "base/binding.hpp"
#include "data/text_cells.hpp"
#include "data/text_rows.hpp"

using namespace cp;
using namespace cp::data;

static const Area area("text", {
    TUPLE(GapWords),
    KERNEL(split_rows, "text[] begin end delimiter[] last bounds[,,2] row"),
    KERNEL(find_distinct, "text[] bounds[n,,2] columns[k] limit codes[k,n] first[k,n] n_distinct[k]"),
    KERNEL(join_cells, "text[] bounds[,,2] column rows[m] out[] ends[m]"),
    KERNEL(read_numbers, "text[] bounds[n,,2] column words integers[n] reals[n] missing[n] met[]"),
    CONSTANT(NO_FAULT),
    CONSTANT(AFTER_QUOTE),
    CONSTANT(OPEN_QUOTE),
    CONSTANT(OTHER_WIDTH),
    CONSTANT(NO_NUMBERS),
    CONSTANT(INTEGERS),
    CONSTANT(REALS),
});
