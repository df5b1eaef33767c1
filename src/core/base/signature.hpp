// What a kernel expects of its arguments: names, dimensions, and which extents must agree.
//
// A signature is one line of text, an argument a word: a scalar or a named tuple is its name, an array
// its name and one entry for each axis in brackets. An entry is empty (any extent), a number, or a
// symbol with an optional + or − number; a symbol stands for one extent throughout the call:
//
//     "codes[n,rows] cards[n] scopes[] scope_from[q+1] row_from row_to out[]"
//
// A named tuple's own line describes its fields; its symbol n is `data.n` in a call's line. Words after
// a semicolon say which symbols of different arguments are the same: "store dag ; dag.n=store.n".
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/view.hpp"

namespace cp {

constexpr std::size_t MAX_SYMBOLS = 64;

struct Extent {
  int symbol = -1;  // −1: no symbol
  Int plus = 0;     // what is added to the symbol; the extent itself where there is none
  bool any = true;
};

// One array or number that a call is made of: an argument, or a field of a named tuple.
struct Leaf {
  std::string name;
  int ndim = 0;
  std::array<Extent, 4> extents{};
};

struct Signature {
  std::string kernel;
  std::string text;
  std::vector<std::string> arguments;
  std::vector<Leaf> leaves;
  std::vector<std::string> symbols;
  std::vector<std::array<int, 2>> equal;  // symbols that stand for the same extent

  // Begin anew with a line; returns a word for each argument.
  std::vector<std::string_view> start(const char* name, const char* line, std::size_t n_arguments);
  // Add what one word says; `prefix` is the named tuple it belongs to, with a dot, or empty.
  void add(std::string_view word, const std::string& prefix, int ndim);
  // Read the words after the semicolon.
  void finish();

  static std::vector<std::string_view> words(std::string_view line);
  static std::string name_of(std::string_view word) { return std::string(word.substr(0, word.find('['))); }
  [[noreturn]] void fail(std::string_view word) const;

 private:
  Extent extent(std::string_view entry, const std::string& prefix, std::string_view word);
  int symbol(const std::string& name, std::string_view word, bool is_new);
};

}  // namespace cp
