#include "base/signature.hpp"

#include <stdexcept>

namespace cp {

std::vector<std::string_view> Signature::words(std::string_view line) {
  std::vector<std::string_view> list;
  while (!line.empty()) {
    const auto space = line.find(' ');
    if (space != 0) list.push_back(line.substr(0, space));
    if (space == line.npos) break;
    line.remove_prefix(space + 1);
  }
  return list;
}

void Signature::fail(std::string_view word) const {
  throw std::invalid_argument("the binding of " + kernel + " does not fit its kernel at '" + std::string(word) + "'");
}

std::vector<std::string_view> Signature::start(const char* name, const char* line, std::size_t n_arguments) {
  *this = {};
  kernel = name;
  text = line;
  const std::string_view whole(line);
  const auto list = words(whole.substr(0, whole.find(';')));
  if (list.size() != n_arguments) fail(line);
  for (auto word : list) arguments.push_back(name_of(word));
  return list;
}

void Signature::add(std::string_view word, const std::string& prefix, int ndim) {
  const auto bracket = word.find('[');
  Leaf leaf;
  leaf.name = prefix + std::string(word.substr(0, bracket));
  if (bracket != word.npos) {
    if (word.back() != ']') fail(word);
    std::string_view inside = word.substr(bracket + 1, word.size() - bracket - 2);
    while (true) {
      const auto comma = inside.find(',');
      if (leaf.ndim == int(leaf.extents.size())) fail(word);
      leaf.extents[leaf.ndim++] = extent(inside.substr(0, comma), prefix, word);
      if (comma == inside.npos) break;
      inside.remove_prefix(comma + 1);
    }
  }
  if (leaf.ndim != ndim) fail(word);
  leaves.push_back(std::move(leaf));
}

Extent Signature::extent(std::string_view entry, const std::string& prefix, std::string_view word) {
  Extent e;
  if (entry.empty()) return e;
  e.any = false;
  if (entry[0] >= '0' && entry[0] <= '9') {
    e.plus = std::stoll(std::string(entry));
    return e;
  }
  const auto sign = entry.find_first_of("+-");
  if (sign == 0) fail(word);
  if (sign != entry.npos) e.plus = std::stoll(std::string(entry.substr(sign)));
  e.symbol = symbol(prefix + std::string(entry.substr(0, sign)), word, true);
  return e;
}

int Signature::symbol(const std::string& name, std::string_view word, bool is_new) {
  const auto at = std::find(symbols.begin(), symbols.end(), name);
  if (at == symbols.end()) {
    if (!is_new) fail(word);
    symbols.push_back(name);
  }
  return int(std::find(symbols.begin(), symbols.end(), name) - symbols.begin());
}

void Signature::finish() {
  const std::string_view whole(text);
  const auto semicolon = whole.find(';');
  if (semicolon != whole.npos) {
    for (auto word : words(whole.substr(semicolon + 1))) {
      const auto sign = word.find('=');
      if (sign == word.npos) fail(word);
      const std::string left(word.substr(0, sign)), right(word.substr(sign + 1));
      equal.push_back({symbol(left, word, false), symbol(right, word, false)});
    }
  }
  if (symbols.size() > MAX_SYMBOLS) fail("too many symbols");
}

}  // namespace cp
