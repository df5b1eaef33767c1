#include "base/binding.hpp"
#include "learn/boosting/boost.hpp"

namespace cp {

using namespace boosting;

static const Area area(
    "boosting",
    {
        structure<Data>("Data"),
        structure<Settings>("Settings"),
        structure<Trees>("Trees"),
        constant("MOST_BINS", MOST_BINS),
        constant("MOST_CHANNELS", MOST_CHANNELS),
        function<boost>("boost", "data settings sets[] set_from[q+1] first last scores[data.rows,trees.s] trees curve[trees.t]"),
        function<add_scores>("add_scores", "bins[rows,] trees count scores[rows,trees.s]"),
    });

}  // namespace cp
