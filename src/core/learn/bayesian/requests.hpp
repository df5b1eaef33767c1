// The row cache as a search sees it: rows that are there, and the families whose rows it lacks.
//
// A kernel that lacks rows notes their families and returns MISS; it is called again once the rows are
// there, and goes on where it stopped. So rows are filled in batches, by threads or in one scan of a
// source that is not in memory, and search kernels stay small.
#pragma once
#include "scores/row_store.hpp"

namespace cp::bayesian {

constexpr Int MISS = -1;
constexpr Int WITHOUT_END = Int(1) << 30;

struct RowRequests {
  scores::RowStore store;
  Vector<Int> n_wanted;   // one number: how many families are noted
  Vector<Int> children;
  Matrix<Word> families;
  Vector<Int> n_moves;    // one number: moves made so far, whatever calls were cut short by missing rows

  static constexpr const char* fields = "store n_wanted[1] children[room] families[room,store.words] n_moves[1]";
};

// What a search may do: allowed[x] holds the parents x may have, required[x] those it must have.
struct Limits {
  Matrix<Word> allowed;
  Matrix<const Word> required;
  double tolerance;  // gains below it are rounding

  static constexpr const char* fields = "allowed[n,words] required[n,words] tolerance";
};

// The slot of (child, the set `family`), or MISS; then the family is noted as wanted.
inline Int load_row(const RowRequests& rows, Int child, Words family) {
  const Int slot = scores::find_row(rows.store, child, family);
  const Int k = rows.n_wanted[0];
  if (slot < 0 && k < rows.children.size()) {
    rows.children[k] = child;
    rows.families[k].copy_from(family);
    rows.n_wanted[0] = k + 1;
  }
  return slot;
}

}  // namespace cp::bayesian
