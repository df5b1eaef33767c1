// The sparse design of a structure: the cells of each row, and the features of each cell.
#pragma once
#include <tuple>

#include "base/view.hpp"

namespace cp::classifiers {

// Faces are read through blocks: a block is a set of columns that holds several faces, so that a row costs one look-up
// for all of them. Before a pass the faces' weights are added up into the blocks' tables, and afterwards the blocks'
// gradients are handed down to the faces.
struct BlockDesign {
  Matrix<const std::int32_t> cells;  // (blocks, rows): a row's cell, counted through all blocks
  Ints starts;                       // where each block's cells begin
  Ints link_block;                   // the block of each face
  Ints link_start;                   // where the face's part of `links` begins, one entry for each cell of its block
  Vector<const std::int32_t> links;  // the feature of a block's cell, or −1
  Matrix<const double> numbers;      // (terms, rows)
  Int first_number;                  // the feature of the first numeric term
  Int n_features;

  static constexpr const char* fields =
      "cells[blocks,m] starts[blocks+1] link_block[faces] link_start[faces] links[] numbers[,m] first_number n_features";
  auto members() {
    return std::tie(cells, starts, link_block, link_start, links, numbers, first_number, n_features);
  }

  Int n_cells() const { return starts.back(); }

  // Call visit(cell, feature) for each cell of each face's block that has a feature of the face.
  template <class Visit>
  void for_each_link(Visit visit) const {
    for (Int f = 0; f < link_block.size(); ++f) {
      const Int from = starts[link_block[f]], size = starts[link_block[f] + 1] - from;
      const Vector<const std::int32_t> features = links.part(link_start[f], link_start[f] + size);
      for (Int j = 0; j < size; ++j)
        if (features[j] >= 0) visit(from + j, Int(features[j]));
    }
  }
};

// Fill `ids` with each key's number, by first appearance, and `firsts` with the place where each number first appears;
// returns how many there are. `known` maps each key to its number, and is −1 throughout at first.
inline Int number_keys(Ints keys, Vector<std::int32_t> known, Vector<std::int32_t> ids, Vector<Int> firsts) {
  Int n_known = 0;
  for (Int i = 0; i < keys.size(); ++i) {
    std::int32_t& number = known[keys[i]];
    if (number < 0) {
      number = std::int32_t(n_known);
      firsts[n_known++] = i;
    }
    ids[i] = number;
  }
  return n_known;
}

}  // namespace cp::classifiers
