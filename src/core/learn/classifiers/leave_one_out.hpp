// Back-off predictors of the class with the row itself left out, and what a face adds to them.
//
// Leaving out a row takes one from its own cell and class. So the predictor of a face T depends on a row only by its
// place, (cell of T, own class), and is a table φ_T[place, class]. Places without a row have no entry.
#pragma once
#include <cmath>

#include "base/numbers.hpp"
#include "base/pulse.hpp"
#include "learn/classifiers/face_store.hpp"

namespace cp::classifiers {

constexpr Int PLACE_ROWS = 256;             // rows at a time, in the first-level cache
constexpr double LARGEST_EXPONENT = 700.0;  // exponents above are cut off

// Faces and their tables; face 0 is the empty one.
struct BackOffFaces {
  Matrix<const Int> columns;            // (faces, most columns), −1 behind the last
  Matrix<const Int> cards;              // of these columns, 1 behind the last
  Matrix<const Int> parts;              // (faces, subsets): the face of each subset, by the bits of its columns' places
  Ints index_starts;                    // where the face's part of `place_of` begins
  Ints place_starts;                    // where its places begin
  Vector<const std::int32_t> place_of;  // cell · C + own class → place within the face, or −1
  Ints origins;                         // place → cell · C + own class
  Matrix<double> tables;                // (places, classes)

  static constexpr const char* fields =
      "columns[f,width] cards[f,width] parts[f,] index_starts[f] place_starts[f+1] place_of[] origins[places] "
      "tables[places,classes]";

  Int n_places(Int face) const { return place_starts[face + 1] - place_starts[face]; }
  Int order(Int face) const {
    const Ints own = columns[face];
    return std::find(own.begin(), own.end(), -1) - own.begin();
  }
  // The place of (cell · C + own class) within a face.
  Int place(Int face, Int key) const { return place_of[index_starts[face] + key]; }
  // φ of a face at (cell · C + own class).
  Floats predictor(Int face, Int key) const { return tables[place_starts[face] + place(face, key)]; }
};

// Fill by_place[cell, class], the weights of the rows, and the index of places by first row; returns how many places there are.
inline Int count_places(const LabeledRows& rows, Ints columns, Ints cards, Matrix<double> by_place,
                        Vector<std::int32_t> index, Vector<Int> origins) {
  const Vector<double> flat = by_place.flat();
  Array<u32, 1> places(PLACE_ROWS);
  Int n_places = 0;
  for (Int from = 0; from < rows.labels.size(); from += PLACE_ROWS) {
    const Cells block = places.part(0, std::min(PLACE_ROWS, rows.labels.size() - from));
    fill_places(rows, columns, cards, by_place.shape(1), from, block);
    counts::add_rows(Vector<const u32>(block), rows.weights.part(from, from + block.size()), flat);
    for (u32 place : block) {
      if (index[place] >= 0) continue;
      index[place] = std::int32_t(n_places);
      origins[n_places++] = place;
    }
  }
  return n_places;
}

// The cell of the columns in `mask` that holds the face's cell.
inline Int part_of(Int cell, Ints cards, Int mask) {
  Int part = 0, stride = 1;
  for (Int j = cards.size() - 1; j >= 0; --j) {
    const Int rest = cell / cards[j];
    if (mask >> j & 1) {
      part += (cell - rest * cards[j]) * stride;
      stride *= cards[j];
    }
    cell = rest;
  }
  return part;
}

// Fill the table of a face whose subsets have theirs; a row left out takes `unit` with it.
//
//     φ_T(c) = ln[(n(x_T, c) + 2 π_c) / (n(x_T) + 2)] − ln π_c,   π ∝ exp Σ_{U ⊊ T} φ_U
//
// and φ_∅(c) = ln[(n(c) + 1/C) / (m + 1)].
inline void back_off(const BackOffFaces& faces, Int face, Int order, Matrix<const double> counts, double unit) {
  const Int n_classes = counts.shape(1);
  const Ints cards = faces.cards[face].part(0, order);
  Array<double, 1> prior(n_classes);
  Pulse pulse;
  for (Int place = faces.place_starts[face]; place < faces.place_starts[face + 1]; ++place) {
    pulse(n_classes * 100);
    const Int cell = faces.origins[place] / n_classes, own = faces.origins[place] % n_classes;
    const Floats count = counts[cell];
    const double left_out = std::min(unit, count[own]), total = sum(count) - left_out;
    const Vector<double> table = faces.tables[place];
    const auto others = [&](Int c) { return c == own ? count[c] - left_out : count[c]; };
    if (order == 0) {
      for (Int c = 0; c < n_classes; ++c) table[c] = std::log((others(c) + 1.0 / double(n_classes)) / (total + 1.0));
      continue;
    }
    prior.fill(0.0);
    for (Int mask = 0; mask < (Int(1) << order) - 1; ++mask) {
      const Int part = faces.parts(face, mask);
      const Floats phi = faces.predictor(part, part_of(cell, cards, mask) * n_classes + own);
      for (Int c = 0; c < n_classes; ++c) prior[c] += phi[c];
    }
    const double log_shares = exp_sum(prior).log();
    for (Int c = 0; c < n_classes; ++c) {
      const double n = others(c), log_n = n > 0 ? std::log(n) : -INF;
      // ln[(n + 2π) / π], also where the share π underflows
      table[c] = log_add_exp(log_n - prior[c] + log_shares, std::log(2.0)) - std::log(total + 2.0);
    }
  }
}

// Fill out[j, place] with Σ φ(class own + 1 + j) − φ(own) over the subsets not present.
inline void add_parts(const BackOffFaces& faces, Int face, Flags present, Matrix<double> out) {
  const Int n_classes = out.shape(0) + 1, order = faces.order(face), first = faces.place_starts[face];
  const Ints cards = faces.cards[face].part(0, order);
  out.fill(0.0);
  for (Int mask = 1; mask < Int(1) << order; ++mask) {
    const Int part = faces.parts(face, mask);
    if (present[part]) continue;
    for (Int place = 0; place < out.shape(1); ++place) {
      const Int cell = faces.origins[first + place] / n_classes, own = faces.origins[first + place] % n_classes;
      const Floats phi = faces.predictor(part, part_of(cell, cards, mask) * n_classes + own);
      for (Int j = 0; j < n_classes - 1; ++j) {
        const Int other = own + 1 + j < n_classes ? own + 1 + j : own + 1 + j - n_classes;
        out(j, place) += phi[other] - phi[own];
      }
    }
  }
}

// Fill out[t] with the log-likelihood, Σ weight · ln P(own class), once face candidates[t] and its subsets are present.
//
// `others`, (classes − 1, rows), are the predictors of the other classes less that of the own one.
inline void log_likelihoods(const LabeledRows& rows, Matrix<const double> others, const BackOffFaces& faces,
                            Ints candidates, Flags present, Vector<double> out) {
  const Int n = rows.labels.size(), n_others = others.shape(0);
  Int most = 0;
  for (Int face : candidates) most = std::max(most, faces.n_places(face));
  Array<double, 1> room(n_others * most), all_sums(PLACE_ROWS), all_x(PLACE_ROWS), all_scratch(PLACE_ROWS);
  Array<u32, 1> all_places(PLACE_ROWS);
  Pulse pulse;
  for (Int t = 0; t < candidates.size(); ++t) {
    const Int face = candidates[t];
    const Matrix<double> added{room.data, {n_others, faces.n_places(face)}};
    add_parts(faces, face, present, added);
    pulse(added.size() * 20);
    double total = 0.0;
    for (Int from = 0; from < n; from += PLACE_ROWS) {
      const Int to = std::min(from + PLACE_ROWS, n), size = to - from;
      const Cells places = all_places.part(0, size);
      const Vector<double> sums = all_sums.part(0, size), x = all_x.part(0, size), scratch = all_scratch.part(0, size);
      fill_places(rows, faces.columns[face], faces.cards[face], n_others + 1, from, places);
      for (u32& place : places) place = u32(faces.place(face, place));
      sums.fill(1.0);
      for (Int j = 0; j < n_others; ++j) {
        const Floats predictors = others[j].part(from, to), table = added[j];
        for (Int i = 0; i < size; ++i) x[i] = std::min(predictors[i] + table[places[i]], LARGEST_EXPONENT);
        exponentials(x, scratch);
        for (Int i = 0; i < size; ++i) sums[i] += x[i];
      }
      logarithms(sums, scratch);
      const Floats weights = rows.weights.part(from, to);
      for (Int i = 0; i < size; ++i) total -= weights[i] * sums[i];
      pulse(size * n_others * 4);
    }
    out[t] = total;
  }
}

// Take a face and its subsets into the predictors of the other classes.
inline void join(const LabeledRows& rows, const BackOffFaces& faces, Int face, Vector<bool> present,
                 Matrix<double> others) {
  const Int n_others = others.shape(0);
  Array<double, 2> added(n_others, faces.n_places(face));
  add_parts(faces, face, present, added);
  Array<u32, 1> places(rows.labels.size());
  fill_places(rows, faces.columns[face], faces.cards[face], n_others + 1, 0, places);
  for (u32& place : places) place = u32(faces.place(face, place));
  for (Int j = 0; j < n_others; ++j)
    for (Int i = 0; i < places.size(); ++i) others(j, i) += added(j, places[i]);
  for (Int part : faces.parts[face]) present[part] = true;
}

}  // namespace cp::classifiers
