// Coordinate ascent: each variable takes its best state given the others.
#pragma once
#include "base/pulse.hpp"
#include "features/parts.hpp"

namespace cp::inference {

// Move each row of `rows`, (variables, rows), uphill until nothing gains, or `sweeps` times.
inline void climb(const features::Parts& parts, Ints free, Int sweeps, Matrix<u16> rows) {
  Array<double, 1> scratch(parts.max_card());
  Pulse pulse;
  for (Int row = 0; row < rows.shape(1); ++row) {
    bool moved = true;
    for (Int sweep = 0; moved && sweep < sweeps; ++sweep) {
      moved = false;
      for (Int v : free) {
        pulse(20 * (1 + parts.terms(v)));
        features::conditional(parts, Matrix<const u16>(rows), row, v, scratch);
        Int best = rows(v, row);
        for (Int s = 0; s < parts.cards[v]; ++s)
          if (scratch[s] > scratch[best]) best = s;  // of equals, the state stays
        if (best != rows(v, row)) {
          rows(v, row) = u16(best);
          moved = true;
        }
      }
    }
  }
}

}  // namespace cp::inference
