// Random numbers by SplitMix64 (Steele, Lea & Flood 2014): the state moves by a constant, a hash of it is the number.
#pragma once
#include "base/view.hpp"

namespace cp::inference {

constexpr Word SPLITMIX_STEP = 0x9E3779B97F4A7C15;
constexpr Word SPLITMIX_FACTOR = 0xBF58476D1CE4E5B9;

// The number in [0, 1) of a state.
inline double uniform(Word state) {
  Word z = state;
  z = (z ^ (z >> 30)) * SPLITMIX_FACTOR;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return double((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

inline double next_uniform(Word& state) { return uniform(state += SPLITMIX_STEP); }

}  // namespace cp::inference
