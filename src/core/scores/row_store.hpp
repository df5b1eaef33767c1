// The rows of a RowCache, kept in a ring of slots and found through chained hash buckets.
//
// A row belongs to a child x and a set of parents P. Its entry y is the score of x given P with y
// added, or with y taken out if it is in P; entry x is the score of (x, P) itself.
#pragma once
#include <algorithm>

#include "base/bits.hpp"

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
};

// The hash of (child, the set `family`): toggling one parent is one exclusive or.
inline Word row_key(const RowStore& store, Int child, Words family) {
  Word key = store.zobrist(0, child);
  for_each_bit(family, [&](Int p) { key ^= store.zobrist(1, p); });
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

// A slot for the row, entered in its bucket; the oldest row gives way when all are taken.
inline Int claim_slot(const RowStore& store, Int child, Words family) {
  const Word mask = Word(store.head.size() - 1);
  const Int slot = store.ring[1];
  if (slot < store.ring[0]) {  // taken: unlink it from its bucket
    Int* link = &store.head[store.keys[slot] & mask];
    while (*link != slot + 1) link = &store.next[*link - 1];
    *link = store.next[slot];
  } else {
    store.ring[0] += 1;
  }
  store.ring[1] = (slot + 1) % store.keys.size();
  const Word key = row_key(store, child, family);
  store.keys[slot] = key;
  store.child[slot] = child;
  store.parents[slot].copy_from(family);
  store.next[slot] = store.head[key & mask];
  store.head[key & mask] = slot + 1;
  store.ring[3] += 1;
  return slot;
}

// Fill `slots` with claimed slots for the rows that are not there; returns their number.
inline Int claim_missing(const RowStore& store, Ints children, Matrix<const Word> families, Vector<Int> slots) {
  Int count = 0;
  for (Int i = 0; i < children.size(); ++i)
    if (find_row(store, children[i], families[i]) < 0) slots[count++] = claim_slot(store, children[i], families[i]);
  return count;
}

// List the additions that improve the score of a row whose scores are filled: best first, equal ones in
// order.
inline void rank_row(const RowStore& store, Int slot) {
  const Floats scores = store.scores[slot];
  const Vector<Int> improving = store.improving[slot];
  const Int child = store.child[slot];
  Int count = 0;
  for (Int y = 0; y < scores.size(); ++y)
    if (y != child && scores[y] > scores[child] && !has(store.parents[slot], y)) improving[count++] = y;
  const Vector<Int> some = improving.part(0, count);
  std::sort(some.begin(), some.end(), [&](Int a, Int b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  store.n_improving[slot] = count;
}

inline void rank_rows(const RowStore& store, Ints slots) {
  for (Int slot : slots) rank_row(store, slot);
}

}  // namespace cp::scores
