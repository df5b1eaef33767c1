// Which level this processor has, and which one is taken.
#include <vector>

#ifdef COUNTERPANE_X86_LEVELS
#include <cpuid.h>
#endif

#include "levels/loops.hpp"

namespace cp {

#ifdef COUNTERPANE_X86_LEVELS
extern const Loops loops_v2, loops_v3, loops_v4;

namespace {
bool has_bits(unsigned word, unsigned bits) { return (word & bits) == bits; }

// By the instruction itself: the compilers' own tests need a runtime library that zig does not link.
std::vector<const Loops*> available() {
  std::vector<const Loops*> levels = {&loops_v2};
  unsigned a, b, c, d;
  constexpr unsigned FMA = 1u << 12, OSXSAVE = 1u << 27, AVX = 1u << 28;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !has_bits(c, FMA | OSXSAVE | AVX)) return levels;
  unsigned saved, high;  // the registers that the system keeps when it switches between processes
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  constexpr unsigned AVX2 = 1u << 5, BMI2 = 1u << 8, YMM = 0x6;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has_bits(b, AVX2 | BMI2) || !has_bits(saved, YMM)) return levels;
  levels.push_back(&loops_v3);
  constexpr unsigned F = 1u << 16, DQ = 1u << 17, CD = 1u << 28, BW = 1u << 30, VL = 1u << 31, POPCOUNTS = 1u << 14, ZMM = 0xe6;
  if (has_bits(b, F | DQ | CD | BW | VL) && has_bits(c, POPCOUNTS) && has_bits(saved, ZMM)) levels.push_back(&loops_v4);
  return levels;
}
}  // namespace
const Loops* loops = &loops_v2;
#else
extern const Loops loops_base;

namespace {
std::vector<const Loops*> available() { return {&loops_base}; }
}  // namespace
const Loops* loops = &loops_base;
#endif

std::string choose_level(const char* wanted) {
  const auto levels = available();
  loops = levels.back();
  if (!wanted || !*wanted) return "";
  for (const Loops* level : levels) {
    if (std::string(wanted) == level->name) {
      loops = level;
      return "";
    }
  }
  return "COUNTERPANE_LEVEL='" + std::string(wanted) + "' is not a level of this processor; it has " + level_names() + ". Unset it to take the best.";
}

const char* level_name() { return loops->name; }

std::string level_names() {
  std::string names;
  for (const Loops* level : available()) names += (names.empty() ? "" : ", ") + std::string(level->name);
  return names;
}

}  // namespace cp
