// Sizes that scratch memory must have.
#pragma once
#include "base/view.hpp"

namespace cp::inference {

// The length of the longest of several lists, given where they begin.
inline Int longest_list(Ints offsets) {
  Int longest = 0;
  for (Int i = 0; i + 1 < offsets.size(); ++i) longest = std::max(longest, offsets[i + 1] - offsets[i]);
  return longest;
}

}  // namespace cp::inference
