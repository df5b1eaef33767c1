// Blankets in local networks, and their unions.
#pragma once
#include "learn/hybrid/climb.hpp"

namespace cp::hybrid {

// The parents, children and children's other parents of the local column a.
inline Set blanket_of(Int a, Ints parents) {
  Set blanket = parents[a];
  for (Int c = 0; c < parents.size(); ++c)
    if (in_set(parents[c], a)) blanket |= with(parents[c], c);
  return without(blanket, a);
}

// Put v into its place by rank in a row that −1 fills up; false if there is no room left.
inline bool insert(Int v, Ints rank, Vector<Int> row) {
  const Int size = members_of(row).size();
  Int place = 0;
  while (place < size && rank[row[place]] < rank[v]) ++place;
  if (place < size && row[place] == v) return true;
  if (size == row.size()) return false;
  std::copy_backward(row.begin() + place, row.begin() + size, row.begin() + size + 1);
  row[place] = v;
  return true;
}

// Put the columns relatives[i], up to the first −1, into out[first + i].
inline void insert_relatives(Matrix<const Int> relatives, Int first, Ints rank, Matrix<Int> out) {
  for (Int i = 0; i < relatives.shape(0); ++i)
    for (Int v : members_of(relatives[i])) insert(v, rank, out[first + i]);
}

// Fill out[v] with v alone.
inline void fill_alone(Matrix<Int> out) {
  out.fill(-1);
  for (Int v = 0; v < out.shape(0); ++v) out(v, 0) = v;
}

// Insert the blanket of the local column a into `row`; false if there is no room left.
inline bool insert_blanket(Int a, Ints columns, Ints parents, Ints rank, Vector<Int> row) {
  const Set blanket = blanket_of(a, parents.part(0, columns.size()));
  for (Int b = 0; b < columns.size(); ++b)
    if (in_set(blanket, b) && !insert(columns[b], rank, row)) return false;
  return true;
}

// Fill out[v] with v and its blanket in its own network, by rank.
inline void fill_blankets(Matrix<const Int> members, Matrix<const Set> parents, Ints rank, Matrix<Int> out) {
  fill_alone(out);
  for (Int v = 0; v < members.shape(0); ++v) {
    const Ints columns = members_of(members[v]);
    for (Int a = 0; a < columns.size(); ++a)
      if (columns[a] == v) insert_blanket(a, columns, parents[v], rank, out[v]);
  }
}

// Fill out[v] with v and the union of its blankets in all networks it is in, by rank.
//
// out[v, 0] is −1 if the union has no room.
inline void unite(Matrix<const Int> members, Matrix<const Set> parents, Ints rank, Matrix<Int> out) {
  const Int n = members.shape(0);
  Array<bool, 1> fits = filled<bool>(true, n);
  fill_alone(out);
  for (Int j = 0; j < n; ++j) {
    const Ints columns = members_of(members[j]);
    for (Int a = 0; a < columns.size(); ++a) {
      const Int v = columns[a];
      fits[v] = fits[v] && insert_blanket(a, columns, parents[j], rank, out[v]);
    }
  }
  for (Int v = 0; v < n; ++v)
    if (!fits[v]) out(v, 0) = -1;
}

}  // namespace cp::hybrid
