// The members of a struct as a tuple of references, in the order of its declaration.
//
// A struct that Python gives as a named tuple has a signature line `fields`, one word for each member.
#pragma once
#include <cstddef>
#include <tuple>
#include <utility>

namespace cp {

template <class T>
concept Structure = requires { T::fields; };

// The number of words in a line.
constexpr std::size_t count_words(const char* line) {
  std::size_t n = 0;
  for (bool inside = false; *line; ++line) {
    n += *line != ' ' && !inside;
    inside = *line != ' ';
  }
  return n;
}

#define TIE(n, ...) if constexpr (size == n) { auto& [__VA_ARGS__] = t; return std::tie(__VA_ARGS__); } else
template <Structure T>
constexpr auto members(T& t) {
  constexpr std::size_t size = count_words(T::fields);
  TIE(2, a0, a1)
  TIE(3, a0, a1, a2)
  TIE(4, a0, a1, a2, a3)
  TIE(5, a0, a1, a2, a3, a4)
  TIE(6, a0, a1, a2, a3, a4, a5)
  TIE(7, a0, a1, a2, a3, a4, a5, a6)
  TIE(8, a0, a1, a2, a3, a4, a5, a6, a7)
  TIE(9, a0, a1, a2, a3, a4, a5, a6, a7, a8)
  TIE(10, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)
  TIE(11, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)
  TIE(12, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)
  TIE(13, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)
  TIE(14, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13)
  TIE(15, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14)
  TIE(16, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15)
  TIE(17, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16)
  TIE(18, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17)
  TIE(19, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18)
  TIE(20, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19)
  TIE(21, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20)
  TIE(22, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21)
  TIE(23, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22)
  TIE(24, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23)
  static_assert(size < 2, "add a line for structs of this size");
}
#undef TIE

}  // namespace cp
