// Local Bayesian networks by steepest ascent: one kernel call learns those of many variables.
//
// Local columns are numbered 0, 1, … and parents are bit sets. gains[x, y] is what adding y to the
// parents of x brings, or dropping it if it is one; a move changes one row of it, a turn two.
#pragma once
#include "graphs/moves.hpp"
#include "learn/hybrid/families.hpp"

namespace cp::hybrid {

using namespace graphs;  // moves

// Score all families of x that differ from its present one by one parent.
inline void refresh(Int x, Ints parents, Ints cards, Int rows, const Scratch& scratch, const Terms& terms,
                    Matrix<double> gains) {
  const Vector<Number> groups = scratch.groups[0].part(0, rows), other = scratch.groups[1].part(0, rows);
  const Int r = cards[x];
  const double q = product(parents[x], cards);
  const Int n = group_by(parents[x], cards, scratch, groups);
  const double score = family_score(groups, n, q, x, r, scratch, terms);
  for (Int y = 0; y < cards.size(); ++y) {
    if (y == x) continue;
    const double states = double(cards[y]);
    if (in_set(parents[x], y)) {
      const Int m = group_by(without(parents[x], y), cards, scratch, other);
      gains(x, y) = family_score(other, m, q / states, x, r, scratch, terms) - score;
    } else {
      const Int m = refine(groups, n, scratch.codes[y].part(0, rows), cards[y], scratch.new_numbers, other);
      gains(x, y) = family_score(other, m, q * states, x, r, scratch, terms) - score;
    }
  }
}

// Fill reach[u] with u and its descendants.
inline void fill_reach(Ints parents, Vector<Set> reach) {
  const Int size = parents.size();
  for (Int u = 0; u < size; ++u) reach[u] = with(0, u);
  for (bool changed = true; changed;) {
    changed = false;
    for (Int c = 0; c < size; ++c) {
      for (Int p = 0; p < size; ++p) {
        if (in_set(parents[c], p) && (reach[c] & ~reach[p])) {
          reach[p] |= reach[c];
          changed = true;
        }
      }
    }
  }
}

// Whether p → x may be turned: no other way leads from p to x.
inline bool turnable(Int p, Int x, Ints parents, Ints reach) {
  for (Int c = 0; c < parents.size(); ++c)
    if (c != x && in_set(parents[c], p) && in_set(reach[c], x)) return false;
  return true;
}

// The best improving move. Children come in order, for each its parents in order, dropping one before turning it.
inline Move best_move(Ints parents, Matrix<const double> gains, Ints reach, double tolerance) {
  BestMove best(tolerance);
  for (Int x = 0; x < parents.size(); ++x) {
    for (Int y = 0; y < parents.size(); ++y) {
      if (y == x) continue;
      const double gain = gains(x, y), turned = gain + gains(y, x);
      const bool is_parent = in_set(parents[x], y);
      if (best.beaten_by(gain) && (is_parent || !in_set(reach[x], y))) best.take(is_parent ? DROP : ADD, y, x, gain);
      if (is_parent && best.beaten_by(turned) && turnable(y, x, parents, reach)) best.take(TURN, y, x, turned);
    }
  }
  return best.move;
}

// Fill `parents` with the network that no addition, deletion or turn of one edge improves.
inline void climb(Ints cards, Int rows, const Scratch& scratch, const Terms& terms, Vector<Set> parents, Pulse& pulse) {
  const Int size = cards.size();
  Array<double, 2> gains(size, size);
  Array<Set, 1> reach(size);
  const auto toggle = [&](Int p, Int x) {
    parents[x] ^= with(0, p);
    refresh(x, parents, cards, rows, scratch, terms, gains);
    pulse(4 * size * rows);
  };
  parents.fill(0);
  for (Int x = 0; x < size; ++x) {
    refresh(x, parents, cards, rows, scratch, terms, gains);
    pulse(4 * size * rows);
  }
  while (true) {
    fill_reach(parents, reach);
    const Move move = best_move(parents, gains, reach, terms.tolerance);
    if (move.kind == NONE) return;
    toggle(move.parent, move.child);
    if (move.kind == TURN) toggle(move.child, move.parent);
  }
}

// The columns in a row that −1 fills up.
inline Ints members_of(Ints row) {
  return row.part(0, std::find_if(row.begin(), row.end(), [](Int v) { return v < 0; }) - row.begin());
}

// Call visit(v, place of v among its columns, cards of the columns, number of distinct rows) for the network of each v,
// whose columns are members[v]; their distinct rows are in `scratch` then.
template <class Code, class Visit>
void for_each_network(const Data<Code>& data, Ints variables, Matrix<const Int> members, const Scratch& scratch, Pulse& pulse,
                      Visit visit) {
  Array<Int, 1> all_cards(members.shape(1));
  for (Int v : variables) {
    const Ints columns = members_of(members[v]);
    const Vector<Int> cards = all_cards.part(0, columns.size());
    for (Int a = 0; a < columns.size(); ++a) cards[a] = data.cards[columns[a]];
    const Int rows = compress(data, columns, scratch, pulse);
    visit(v, std::find(columns.begin(), columns.end(), v) - columns.begin(), Ints(cards), rows);
  }
}

// Learn the networks over members[v] for some v: bit sets parents[v], and v's likelihood.
template <class Code>
void learn_networks(const Data<Code>& data, const Terms& terms, Ints variables, Matrix<const Int> members,
                    const Scratch& scratch, Matrix<Set> parents, Vector<double> scores) {
  Pulse pulse;
  for_each_network(data, variables, members, scratch, pulse, [&](Int v, Int place, Ints cards, Int rows) {
    const Vector<Set> network = parents[v].part(0, cards.size());
    climb(cards, rows, scratch, terms, network, pulse);
    scores[v] = conditional_log_likelihood(place, network, cards, rows, scratch, terms.prior);
  });
}

// Fill in the tables of v and its children in the network of v, for some v, in local order.
//
// Those of v begin at out[table_from[v]].
template <class Code>
void fill_tables(const Data<Code>& data, const Terms& terms, Ints variables, Matrix<const Int> members,
                 Matrix<const Set> parents, const Scratch& scratch, Ints table_from, Vector<double> out) {
  Pulse pulse;
  for_each_network(data, variables, members, scratch, pulse, [&](Int v, Int place, Ints cards, Int rows) {
    Int start = table_from[v];
    for (Int c = 0; c < cards.size(); ++c) {
      if (c != place && !in_set(parents(v, c), place)) continue;
      const Int stop = start + Int(product(parents(v, c), cards)) * cards[c];
      fill_table(c, parents(v, c), cards, rows, scratch, terms.prior, out.part(start, stop));
      start = stop;
      pulse(2 * cards.size() * rows);
    }
  });
}

// ---- Blankets in local networks, and their unions

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
