// What a kernel expects of its arguments: names, dimensions, and which extents must agree.
//
// A signature is one line of text, an argument a word: a scalar or a named tuple is its name, an array
// its name and one entry for each axis in brackets. An entry is empty (any extent), a number, or a
// symbol with an optional + or − number; a symbol stands for one extent throughout the call:
//
//     "codes[n,rows] cards[n] scopes[] scope_from[q+1] row_from row_to out[]"
//
// A named tuple's own line describes its fields; its symbol n is `data.n` in a call's line.
#pragma once
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/view.hpp"

namespace cp {

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

class Signature {
 public:
  std::string kernel;
  std::vector<std::string> arguments;
  std::vector<Leaf> leaves;
  std::vector<std::string> symbols;
  std::string text;

  // Add what one word says; `prefix` is the named tuple it belongs to, with a dot, or empty.
  void add(std::string_view word, const std::string& prefix) {
    const auto bracket = word.find('[');
    Leaf leaf;
    leaf.name = prefix + std::string(word.substr(0, bracket));
    if (bracket != word.npos) {
      if (word.back() != ']') fail(word);
      std::string_view inside = word.substr(bracket + 1, word.size() - bracket - 2);
      while (true) {
        const auto comma = inside.find(',');
        if (leaf.ndim == 4) fail(word);
        leaf.extents[leaf.ndim++] = extent(inside.substr(0, comma), prefix, word);
        if (comma == inside.npos) break;
        inside.remove_prefix(comma + 1);
      }
    }
    leaves.push_back(std::move(leaf));
  }

  static std::vector<std::string_view> words(std::string_view line) {
    std::vector<std::string_view> out;
    while (!line.empty()) {
      const auto space = line.find(' ');
      if (space != 0) out.push_back(line.substr(0, space));
      if (space == line.npos) break;
      line.remove_prefix(space + 1);
    }
    return out;
  }
  static std::string name_of(std::string_view word) { return std::string(word.substr(0, word.find('['))); }

  [[noreturn]] void fail(std::string_view word) const {
    throw std::invalid_argument("the binding of " + kernel + " does not fit its kernel at '" + std::string(word) + "'");
  }

 private:
  Extent extent(std::string_view entry, const std::string& prefix, std::string_view word) {
    Extent e;
    if (entry.empty()) return e;
    e.any = false;
    if (entry[0] >= '0' && entry[0] <= '9') {
      e.plus = std::stoll(std::string(entry));
      return e;
    }
    const auto sign = entry.find_first_of("+-");
    if (sign != entry.npos) e.plus = std::stoll(std::string(entry.substr(sign)));
    const std::string symbol = prefix + std::string(entry.substr(0, sign));
    if (symbol.size() == prefix.size()) fail(word);
    const auto at = std::find(symbols.begin(), symbols.end(), symbol);
    e.symbol = int(at - symbols.begin());
    if (at == symbols.end()) symbols.push_back(symbol);
    return e;
  }
};

}  // namespace cp
