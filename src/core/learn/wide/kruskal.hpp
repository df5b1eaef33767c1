// The maximum spanning forest of pairs that come in falling order of their weight (Kruskal 1956).
#pragma once
#include "learn/wide/lanes.hpp"

namespace cp::wide {

// Set kept[k] where pair k joins two parts; returns the number of parts. root[v] becomes the part of node v.
inline Int join_pairs(Matrix<const Node> pairs, Vector<Int> root, Vector<bool> kept) {
  Int parts = root.size();
  for (Int v = 0; v < parts; ++v) root[v] = v;
  const auto find = [&](Int v) {
    while (root[v] != v) v = root[v] = root[root[v]];
    return v;
  };
  for (Int k = 0; k < kept.size(); ++k) {
    const Int a = find(pairs(k, 0)), b = find(pairs(k, 1));
    kept[k] = a != b;
    if (a == b) continue;
    root[std::max(a, b)] = std::min(a, b);
    --parts;
  }
  for (Int v = 0; v < root.size(); ++v) root[v] = find(v);
  return parts;
}

}  // namespace cp::wide
