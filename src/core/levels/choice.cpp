// Which level this processor has, and which one is taken.
#include <vector>

#include "levels/loops.hpp"

namespace cp {

#ifdef COUNTERPANE_X86_LEVELS
extern const Loops loops_v2, loops_v3, loops_v4;

namespace {
std::vector<const Loops*> available() {
  std::vector<const Loops*> levels = {&loops_v2};
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("fma")) return levels;
  levels.push_back(&loops_v3);
  if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
    levels.push_back(&loops_v4);
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
