// The rows of a RowCache, kept in a ring of slots and found through chained hash buckets.
//
// A row belongs to a child x and a set of parents P. Its entry y is the score of x given P with y
// added, or with y taken out if it is in P; entry x is the score of (x, P) itself.
#pragma once
#include <tuple>

#include "graphs/bits.hpp"

namespace cp::scores {

struct RowStore {
  Matrix<const Word> zobrist;  // (2, n): random words of a node as child and as parent
  Vector<Int> head;            // first slot of each bucket plus 1; 0, an untouched page, for none
  Vector<Int> next;            // next slot in the same bucket, likewise
  Vector<Word> keys;
  Vector<Int> child;
  Matrix<Word> parents;   // (slots, words): the exact parent set, since keys may collide
  Matrix<double> scores;  // (slots, n)
  Matrix<Int> improving;  // (slots, n): parents whose addition improves, best first
  Vector<Int> n_improving;
  Vector<Int> ring;  // slots used, next slot to take, rows found, rows filled

  static constexpr const char* fields =
      "zobrist[2,n] head[] next[slots] keys[slots] child[slots] parents[slots,words] scores[slots,n] improving[slots,n] n_improving[slots] ring[4]";
  auto members() { return std::tie(zobrist, head, next, keys, child, parents, scores, improving, n_improving, ring); }
};

// The hash of (child, the set `family`): toggling one parent is one exclusive or.
inline Word row_key(const RowStore& store, Int child, Words family) {
  Word key = store.zobrist(0, child);
  graphs::for_each_bit(family, [&](Int p) { key ^= store.zobrist(1, p); });
  return key;
}

// The slot that holds the row of (child, the set `family`), or −1.
inline Int find_row(const RowStore& store, Int child, Words family) {
  const Word key = row_key(store, child, family);
  for (Int slot = store.head[key & Word(store.head.size() - 1)] - 1; slot >= 0; slot = store.next[slot] - 1) {
    if (store.keys[slot] == key && store.child[slot] == child && std::equal(family.begin(), family.end(), store.parents[slot].begin()))
      return slot;
  }
  return -1;
}

}  // namespace cp::scores
