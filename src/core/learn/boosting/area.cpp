#include "base/binding.hpp"
#include "learn/boosting/boost.hpp"
#include "learn/boosting/boxes.hpp"

using namespace cp;
using namespace cp::boosting;

static const Area area("boosting", {
    TUPLE(Data),
    TUPLE(Settings),
    TUPLE(Trees),
    TUPLE(Boxes),
    CONSTANT(MOST_BINS),
    CONSTANT(MOST_CHANNELS),
    CONSTANT(MOST_BOX_COLUMNS),
    KERNEL(boost, "data settings sets[] set_from[q+1] first last scores[data.rows,trees.s] trees curve[trees.t]"),
    KERNEL(add_scores, "bins[rows,] trees count scores[rows,trees.s]"),
    KERNEL(list_boxes, "trees boxes"),
    KERNEL(add_parts, "rows[n,] boxes shares[boxes.boxes,boxes.q] values[boxes.boxes,s] parts[boxes.boxes,] out[,n,s]"),
    KERNEL(add_edges, "boxes shares[boxes.boxes,boxes.q] values[boxes.boxes,s] which[] face[t] at[] at_from[t+1] out[,s]"),
});
