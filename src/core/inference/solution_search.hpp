// A row of positive probability, by search: states without support are dropped after each choice, conflicts undo it.
//
// The next variable has few states left and many conflicts so far (Boussemart et al. 2004); its states are tried by belief.
#pragma once
#include "inference/reduced_model.hpp"

namespace cp::inference {

class SolutionSearch {
 public:
  SolutionSearch(const ReducedModel& model, std::vector<std::vector<double>> scores)
      : model_(model), scores_(std::move(scores)), laws_of_(model.cards.size()), left_(model.cards.begin(), model.cards.end()), weights_(model.cards.size(), 1.0) {
    for (Int card : model.cards) alive_.emplace_back(card, 1);
    for (const Factor& f : model.factors) {
      if (std::find(f.logs.begin(), f.logs.end(), -INF) == f.logs.end()) continue;
      Law law{f.scope, {}, 1.0};
      for_each_cell(model.shape(f.scope), [&](Int cell, const std::vector<Int>& s) {
        if (f.logs[cell] > -INF) law.rows.insert(law.rows.end(), s.begin(), s.end());
      });
      for (Int v : law.scope) laws_of_[v].push_back(laws_.size());
      laws_.push_back(std::move(law));
    }
    queued_.assign(laws_.size(), 0);
  }

  // 1 if `states` has a row of positive probability, 0 if there is none, −1 if none was reached within `most` choices.
  Int run(Int most, std::vector<Int>& states) {
    for (double patience = 200.0; choices_ < most; patience *= 1.5) {
      undo(0);
      const Int outcome = descend(std::min(double(most), double(choices_) + patience));
      if (outcome < 0) continue;
      for (std::size_t v = 0; outcome == 1 && v < states.size(); ++v) states[v] = best_state(v);
      return outcome;
    }
    return -1;
  }

 private:
  struct Law {
    std::vector<Int> scope, rows;  // rows: the states of the possible cells, end to end
    double weight;
  };
  struct Choice {
    Int variable, state;
    std::size_t mark;  // the length of the trail before
  };
  const ReducedModel& model_;
  std::vector<std::vector<double>> scores_;  // by variable and state
  std::vector<Law> laws_;
  std::vector<std::vector<Int>> laws_of_;
  std::vector<std::vector<char>> alive_;
  std::vector<Int> left_;                          // states alive, by variable
  std::vector<double> weights_;                    // conflicts, by variable
  std::vector<char> queued_;
  std::vector<std::pair<Int, Int>> trail_;   // (variable, state) dropped
  Int choices_ = 0;
  Pulse pulse_;

  // 1: all variables under laws have one state; 0: no row is possible; −1: more than `most` choices.
  Int descend(double most) {
    std::vector<Choice> stack;
    for (;;) {
      const Int v = next_variable();
      if (v < 0) return 1;
      if (double(++choices_) > most) return -1;
      stack.push_back({v, best_state(v), trail_.size()});
      bool fits = assign(v, stack.back().state);
      while (!fits) {  // the last choice cannot be: its state goes
        if (stack.empty()) return 0;
        const Choice last = stack.back();
        stack.pop_back();
        undo(last.mark);
        drop(last.variable, last.state);
        fits = left_[last.variable] > 0 && propagate(laws_of_[last.variable]);
      }
    }
  }

  Int next_variable() const {
    Int best = -1;
    double least = INF;
    for (std::size_t v = 0; v < left_.size(); ++v) {
      if (left_[v] < 2 || laws_of_[v].empty()) continue;
      const double cost = double(left_[v]) / weights_[v] - 1e-3 * scores_[v][best_state(v)];
      if (cost < least) least = cost, best = v;
    }
    return best;
  }

  Int best_state(Int v) const {
    Int best = -1;
    for (Int s = 0; s < model_.cards[v]; ++s)
      if (alive_[v][s] && (best < 0 || scores_[v][s] > scores_[v][best])) best = s;
    return best;
  }

  void drop(Int v, Int s) {
    alive_[v][s] = 0;
    --left_[v];
    trail_.push_back({v, s});
  }
  void undo(std::size_t mark) {
    for (; trail_.size() > mark; trail_.pop_back()) {
      alive_[trail_.back().first][trail_.back().second] = 1;
      ++left_[trail_.back().first];
    }
  }
  bool assign(Int v, Int state) {
    for (Int s = 0; s < model_.cards[v]; ++s) if (s != state && alive_[v][s]) drop(v, s);
    return propagate(laws_of_[v]);
  }

  // Drop what no possible cell of a law supports, until nothing changes; false if a variable is left without a state.
  bool propagate(std::vector<Int> waiting) {
    for (Int l : waiting) queued_[l] = 1;
    bool fits = true;
    std::vector<std::vector<char>> seen;
    for (std::size_t k = 0; k < waiting.size(); ++k) {
      const Int l = waiting[k];
      queued_[l] = 0;
      if (!fits) continue;
      Law& law = laws_[l];
      const std::size_t width = law.scope.size();
      pulse_(20 + Int(law.rows.size()));
      seen.assign(width, {});
      for (std::size_t a = 0; a < width; ++a) seen[a].assign(model_.cards[law.scope[a]], 0);
      for (std::size_t row = 0; row < law.rows.size(); row += width) {
        bool alive = true;
        for (std::size_t a = 0; a < width && alive; ++a) alive = alive_[law.scope[a]][law.rows[row + a]];
        for (std::size_t a = 0; a < width && alive; ++a) seen[a][law.rows[row + a]] = 1;
      }
      for (std::size_t a = 0; a < width && fits; ++a) {
        const Int v = law.scope[a];
        const Int before = left_[v];
        for (Int s = 0; s < model_.cards[v]; ++s) if (alive_[v][s] && !seen[a][s]) drop(v, s);
        if (left_[v] == before) continue;
        if (left_[v] == 0) {
          fits = false;
          for (Int u : law.scope) weights_[u] += 1.0;
        }
        for (Int g : laws_of_[v]) if (!queued_[g]) queued_[g] = 1, waiting.push_back(g);
      }
    }
    return fits;
  }
};

// Fill `codes` with a row of positive probability that agrees with the evidence: 1, 0 if there is none, −1 if none was
// reached within `most` choices. States are tried by `beliefs`, end to end; with `noise`, by a draw from them.
inline Int find_solution(const FactorList& factors, Ints evidence, Floats beliefs, Word seed, bool noise, Int most, Vector<Int> codes) {
  ReducedModel model(factors, evidence);
  if (model.possible()) model.simplify(Array<Int, 1>(filled(Int(0), Int(model.cards.size()))));
  if (!model.possible()) return 0;
  const Array<Int, 1> starts = offsets_of(factors.cards.size(), [&](Int v) { return factors.cards[v]; });
  std::vector<std::vector<double>> scores(model.cards.size());
  for (std::size_t v = 0; v < scores.size(); ++v) {
    for (Int s = 0; s < model.cards[v]; ++s) {
      const double p = beliefs[starts[v] + model.states[v][s]];
      scores[v].push_back(!noise ? p : std::pow(next_uniform(seed), 1.0 / std::max(p, 1e-6)));  // the largest is a draw
    }
  }
  std::vector<Int> states(model.cards.size(), 0);
  SolutionSearch search(model, std::move(scores));
  const Int outcome = search.run(most, states);
  if (outcome != 1) return outcome;
  for (Int v = 0; v < codes.size(); ++v) {
    const Int root = model.root_of(v);
    codes[v] = model.translate(v, model.states[root][states[root]]);
  }
  return 1;
}

}  // namespace cp::inference
