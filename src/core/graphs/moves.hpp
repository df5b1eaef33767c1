// Moves of a search that changes one edge of a DAG at a time.
#pragma once
#include "base/view.hpp"

namespace cp::graphs {

constexpr Int NONE = 0, ADD = 1, DROP = 2, TURN = 3;

struct Move {
  Int kind = NONE, parent = -1, child = -1;
};

// The best move so far; the first of equals, which differ by at most `tolerance`.
//
// Both directions of an edge score alike but for rounding, and rounding must not choose between them.
class BestMove {
 public:
  Move move;
  double gain = 0.0;

  explicit BestMove(double tolerance) : BestMove(tolerance, tolerance) {}
  BestMove(double threshold, double tolerance) : threshold_(threshold), tolerance_(tolerance) {}

  bool beaten_by(double other) const { return other > threshold_; }
  void take(Int kind, Int parent, Int child, double its_gain) {
    move = {kind, parent, child};
    gain = its_gain;
    threshold_ = its_gain + tolerance_;
  }

 private:
  double threshold_, tolerance_;  // what a better move must gain
};

}  // namespace cp::graphs
