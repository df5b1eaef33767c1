// The row cache of Python as rows of a search; rows that it lacks are filled by a call of Python.
//
// Families that are needed together are filled together: by threads, or in one scan of a source that is not in memory.
#pragma once
#include "base/callback.hpp"
#include "learn/search/rows.hpp"
#include "scores/row_store.hpp"

namespace cp::search {

struct RowRequests {
  scores::RowStore store;
  Vector<Int> n_wanted;  // one number: how many families are noted
  Vector<Int> children;
  Matrix<Word> families;
  Callback fill;  // fills the rows of the noted families

  static constexpr const char* fields = "store n_wanted[1] children[room] families[room,store.words] fill";
};

class CachedRows {
 public:
  static constexpr bool IS_NARROW = true;

  class Row {
   public:
    Row(const scores::RowStore& store, Int slot, Node child, const Nodes& parents)
        : scores_(store.scores[slot]), improving_(store.improving[slot].part(0, store.n_improving[slot])), child_(child), parents_(&parents) {}

    double score() const { return scores_[child_]; }
    double drop(std::size_t k) const { return scores_[(*parents_)[k]] - score(); }
    Int n_adds() const { return improving_.size(); }
    Gain add(Int i) const { return {scores_[improving_[i]] - score(), Node(improving_[i])}; }
    double gain_of(Node x) const { return scores_[x] - score(); }

   private:
    Floats scores_;
    Ints improving_;
    Node child_;
    const Nodes* parents_;  // those that `get` was given
  };

  explicit CachedRows(const RowRequests& requests) : requests_(requests), family_(requests.store.parents.shape(1)) {}

  Row get(Node y, const Nodes& parents) {
    Int slot = find(y, parents);
    if (slot < 0) {
      note(y);
      fill();
      slot = find(y, parents);
    }
    return {requests_.store, slot, y, parents};
  }

  Row get(Node y, const Nodes& parents, Int& slot) {
    if (slot < 0 || !is_in(slot, y, parents)) {
      const Row row = get(y, parents);
      slot = find(y, parents);
      return row;
    }
    return {requests_.store, slot, y, parents};
  }

  void want(Node y, const Nodes& parents) {
    if (find(y, parents) >= 0) return;
    note(y);
    if (requests_.n_wanted[0] == requests_.children.size()) fill();
  }
  void fill() {
    if (requests_.n_wanted[0] == 0) return;
    requests_.fill();
    requests_.n_wanted[0] = 0;
  }

 private:
  const RowRequests& requests_;
  Array<Word, 1> family_;  // the parents that were looked for last

  bool is_in(Int slot, Node y, const Nodes& parents) const {
    if (requests_.store.child[slot] != y) return false;
    const Words row = requests_.store.parents[slot];
    return size_of(row) == Int(parents.size()) && std::all_of(parents.begin(), parents.end(), [&](Node p) { return has(row, p); });
  }
  Int find(Node y, const Nodes& parents) {
    family_.fill(0);
    for (Node p : parents) family_[p >> 6] |= bit(p);
    return scores::find_row(requests_.store, y, family_);
  }
  void note(Node y) {
    Int& k = requests_.n_wanted[0];
    requests_.children[k] = y;
    requests_.families[k].copy_from(family_);
    ++k;
  }
};

}  // namespace cp::search
