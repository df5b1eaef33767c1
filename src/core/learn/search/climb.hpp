// Steepest ascent in the space of DAGs, and what leads out of its optima: reinsertion, knock-outs, tabu walks.
#pragma once
#include <unordered_map>

#include "base/pulse.hpp"
#include "graphs/moves.hpp"
#include "learn/search/ordered_dag.hpp"

namespace cp::search {

using namespace graphs;  // moves

constexpr Int MAX_CHILDREN = 200;    // near reinsertion leaves nodes with more where they are
constexpr Int MAX_NEAR_MOVES = 200;  // of the climb around one reinserted node

template <class Rows>
class Climb {
 public:
  Climb(Rows& rows, const Limits& limits, const Dag& start)
      : dag(start), rows_(rows), limits_(limits), n_(Node(start.size())), families_(start.size()) {
    for (Node v = 0; v < n_; ++v) rows_.want(v, start[v]);
    rows_.fill();
    for (Node v = 0; v < n_; ++v) load(v);
  }

  OrderedDag dag;
  Int n_moves = 0;

  // Take the best move until none improves. If a row is interrupted, the DAG is that of the last move.
  void climb() {
    while (move(best_move(all()))) {}
  }

  // For each node: cut it out, climb, keep what is better; the number of gains.
  //
  // With `near`, the climb looks only at families of the node, its neighbors, and what they change.
  Int reinsert(bool near) {
    Int gains = 0;
    for (Node v = 0; v < n_; ++v) {
      if (near && (dag.parents(v).size() + dag.children(v).size() == 0 || Int(dag.children(v).size()) > MAX_CHILDREN)) continue;
      gains += keep_if_better([&] {
        Nodes around{v};
        std::vector<Family> cut{{v, {}}};
        for (Node p : dag.parents(v)) {
          around.push_back(p);
          if (limits_.requires_edge(p, v)) cut[0].parents.push_back(p);
        }
        for (Node c : dag.children(v)) {
          around.push_back(c);
          if (!limits_.requires_edge(v, c)) cut.push_back({c, without(dag.parents(c), v)});
        }
        change(cut);
        if (near) climb_near(around);
        else climb();
      });
    }
    return gains;
  }

  // For each edge: drop it, climb without it, climb with it allowed, keep what is better; the number of gains.
  Int knock_out() {
    Int gains = 0;
    for (Node x = 0; x < n_; ++x)
      for (Node p = 0; (p = next_parent(x, p)) >= 0; ++p) {
        if (limits_.requires_edge(p, x)) continue;
        gains += keep_if_better([&] {
          change({{x, without(dag.parents(x), p)}});
          banned_ = {p, x};
          climb();
          banned_ = {-1, -1};
          climb();
        });
      }
    return gains;
  }

  // Climb on past local optima, by the best move to a graph not in `tabu`, until as many moves in a row bring no gain.
  //
  // The best graph met is left. Returns the number of moves.
  Int tabu_walk(Vector<Word> tabu) {
    Int moves = 0, idle = 0;
    keep();
    try {
      for (;; ++moves, ++idle) {
        if (gained() > limits_.tolerance) {
          idle = 0;
          keep();
        }
        const Word here = graph_word();
        tabu[moves % tabu.size()] = here;
        const Move next = best_fresh_move(tabu, here);
        if (next.kind == NONE || idle == tabu.size()) break;
        move(next);
        pulse_(Int(n_) * n_);
      }
    } catch (...) {
      go_back();
      throw;
    }
    go_back();
    return moves;
  }

 private:
  struct Scores {
    double score, most_added, most_dropped;  // no parent gains more when it is added, or dropped
    Int hint;                                // of the row
  };

  Rows& rows_;
  Limits limits_;
  Node n_;
  std::vector<Scores> families_;
  std::unordered_map<Node, Scores> former_;  // of the families that changed since `keep`
  Nodes all_;
  std::pair<Node, Node> banned_{-1, -1};
  Pulse pulse_;

  const Nodes& all() {
    if (all_.empty())
      for (Node v = 0; v < n_; ++v) all_.push_back(v);
    return all_;
  }
  bool allows(Node p, Node x) const { return limits_.allows(p, x) && std::pair(p, x) != banned_; }
  Node next_parent(Node x, Node from) const {
    const Nodes& parents = dag.parents(x);
    const auto place = std::lower_bound(parents.begin(), parents.end(), from);
    return place == parents.end() ? -1 : *place;
  }

  auto row_of(Node v) { return rows_.get(v, dag.parents(v), families_[v].hint); }

  void load(Node v) {
    Scores& scores = families_[v];
    scores.hint = -1;
    const auto row = row_of(v);
    scores = {row.score(), row.n_adds() > 0 ? row.add(0).gain : -INF, -INF, scores.hint};
    for (std::size_t k = 0; k < dag.parents(v).size(); ++k) scores.most_dropped = std::max(scores.most_dropped, row.drop(k));
  }

  // Set families. Their rows come first: if they are interrupted, nothing has changed.
  void change(const std::vector<Family>& families) {
    for (const Family& family : families) rows_.want(family.child, family.parents);
    rows_.fill();
    for (const Family& family : families) {
      dag.set_parents(family.child, family.parents);
      former_.try_emplace(family.child, families_[family.child]);
      load(family.child);
    }
  }

  // Make a move; false if it is none.
  bool move(const Move& m) {
    const Node p = Node(m.parent), x = Node(m.child);
    if (m.kind == NONE) return false;
    if (m.kind == ADD) change({{x, with(dag.parents(x), p)}});
    else if (m.kind == DROP) change({{x, without(dag.parents(x), p)}});
    else change({{x, without(dag.parents(x), p)}, {p, with(dag.parents(p), x)}});
    ++n_moves;
    return true;
  }

  // From here on, `go_back` comes back to this DAG, and `gained` is the gain since.
  void keep() {
    dag.keep();
    former_.clear();
  }
  double gained() const {
    double sum = 0.0;
    for (Node y : dag.changed()) sum += families_[y].score - former_.at(y).score;
    return sum;
  }
  void go_back() {
    dag.undo();
    for (const auto& [y, scores] : former_) families_[y] = scores;
    former_.clear();
  }

  // Whether `work` on the DAG brings a gain; if not, or if it is interrupted, the DAG is what it was.
  template <class Work>
  bool keep_if_better(Work work) {
    keep();
    try {
      work();
    } catch (...) {
      banned_ = {-1, -1};
      go_back();
      throw;
    }
    if (gained() > limits_.tolerance) return true;
    go_back();
    return false;
  }

  // The largest gain of the moves at `nodes` that need no search for cycles.
  double easy_gain(const Nodes& nodes) {
    double largest = 0.0;
    for (Node x : nodes) {
      if (families_[x].most_added <= largest) continue;
      const auto row = row_of(x);
      for (Int k = 0; k < row.n_adds(); ++k) {
        const auto [gain, y] = row.add(k);
        if (gain <= largest) break;
        if (!dag.is_before(y, x) || !allows(y, x)) continue;
        largest = gain;
        break;
      }
    }
    return largest;
  }

  // The best improving move at `nodes`.
  //
  // Most edges are skipped: those that gain less than an easy move, and, since no parent of the child gains more when dropped and
  // no parent of its parent more when added, most turns.
  Move best_move(const Nodes& nodes) {
    const double least = std::max(easy_gain(nodes), limits_.tolerance);
    BestMove best(std::max(least - limits_.tolerance, limits_.tolerance), limits_.tolerance);
    pulse_(32 * Int(nodes.size()));
    for (Node x : nodes) {
      const Nodes& parents = dag.parents(x);
      if (best.beaten_by(families_[x].most_added)) {
        const auto row = row_of(x);
        for (Int k = 0; k < row.n_adds(); ++k) {
          const auto [gain, y] = row.add(k);
          if (!best.beaten_by(gain)) break;
          if (!allows(y, x) || holds(dag.parents(y), x) || !dag.fits(y, x)) continue;
          best.take(ADD, y, x, gain);
          break;
        }
      }
      const double most_dropped = families_[x].most_dropped;
      for (std::size_t k = 0; k < parents.size(); ++k) {
        const Node p = parents[k];
        const double most_added = families_[p].most_added;
        if (!best.beaten_by(most_dropped + std::max(most_added, 0.0)) || limits_.requires_edge(p, x)) continue;
        const double drop = row_of(x).drop(k);
        if (best.beaten_by(drop)) best.take(DROP, p, x, drop);
        if (!best.beaten_by(drop + most_added) || !allows(x, p)) continue;
        const double turn = drop + row_of(p).gain_of(x);
        if (best.beaten_by(turn) && dag.can_turn(p, x)) best.take(TURN, p, x, turn);
      }
    }
    return best.move;
  }

  // Climb by moves at some nodes, to which those that lose or gain a parent are added.
  void climb_near(Nodes& active) {
    for (Int k = 0; k < MAX_NEAR_MOVES; ++k) {
      const Move best = best_move(active);
      if (!move(best)) return;
      if (!holds(active, Node(best.child))) active.push_back(Node(best.child));
      if (best.kind == TURN && !holds(active, Node(best.parent))) active.push_back(Node(best.parent));
    }
  }

  // A hash of the edge p → x; a graph's is the exclusive or of its edges'.
  static Word edge_word(Node p, Node x) { return mix_bits(Word(p) * SPLITMIX_STEP + Word(x) + 1); }

  Word graph_word() const {
    Word word = 0;
    for (Node x = 0; x < n_; ++x)
      for (Node p : dag.parents(x)) word ^= edge_word(p, x);
    return word;
  }

  // The best move, a loss if need be, to a graph not in `tabu`; `here` is the hash of this one.
  Move best_fresh_move(Words tabu, Word here) {
    const auto is_fresh = [&](Word there) { return !contains(tabu, there); };
    BestMove best(-INF, 0.0);
    for (Node x = 0; x < n_; ++x) {
      const Nodes& parents = dag.parents(x);
      const auto row = row_of(x);
      for (Node y = 0; y < n_; ++y) {
        const double gain = row.gain_of(y);
        if (!best.beaten_by(gain) || y == x) continue;
        const bool is_parent = holds(parents, y);
        const bool legal = is_parent ? !limits_.requires_edge(y, x) : allows(y, x) && !holds(dag.parents(y), x) && dag.fits(y, x);
        if (legal && is_fresh(here ^ edge_word(y, x))) best.take(is_parent ? DROP : ADD, y, x, gain);
      }
      for (Node p : parents) {
        const double gain = row_of(x).gain_of(p) + row_of(p).gain_of(x);
        if (best.beaten_by(gain) && !limits_.requires_edge(p, x) && allows(x, p) && dag.can_turn(p, x) &&
            is_fresh(here ^ edge_word(p, x) ^ edge_word(x, p)))
          best.take(TURN, p, x, gain);
      }
    }
    return best.move;
  }
};

}  // namespace cp::search
