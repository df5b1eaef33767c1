// Parallel tempering: Gibbs chains at powers β of the weights, from 0 (all rows alike) to 1, which exchange their rows.
//
// Neighbors are offered an exchange in turns, even and odd ones (Okabe et al. 2001); the powers are placed so that all
// exchanges are refused equally often, and are as many as that rate asks for (Syed et al. 2022).
#pragma once
#include "inference/reduced_model.hpp"

namespace cp::inference {

constexpr Int FIRST_RUNGS = 12, MOST_RUNGS = 48;
constexpr Int LEAST_SWEEPS = 100;  // of all first rungs that must fit, or tempering is not worth its while

// Chains of all powers over a model without zeros.
class TemperedChains {
 public:
  double work = 0.0;  // of a sweep of one chain: cells read, and 16 for each number drawn

  TemperedChains(const ReducedModel& model, Word state) : state_(state), touch_from_{0} {
    std::vector<Int> place(model.cards.size(), -1);
    for (std::size_t v = 0; v < model.cards.size(); ++v) {
      if (model.cards[v] < 2) continue;
      place[v] = variables.size();
      variables.push_back(v);
      cards_.push_back(model.cards[v]);
    }
    std::vector<std::vector<Touch>> touched(variables.size());
    for (const Factor& f : model.factors) {
      Int stride = 1;
      for (auto v = f.scope.rbegin(); v != f.scope.rend(); ++v) {
        touched[place[*v]].push_back({Int(starts_.size()), stride});
        stride *= model.cards[*v];
      }
      starts_.push_back(logs_.size());
      logs_.insert(logs_.end(), f.logs.begin(), f.logs.end());
    }
    state_from_.push_back(0);
    gains_.resize(variables.empty() ? 0 : *std::max_element(cards_.begin(), cards_.end()));
    p_.resize(gains_.size());
    for (std::size_t v = 0; v < variables.size(); ++v) {
      touches_.insert(touches_.end(), touched[v].begin(), touched[v].end());
      touch_from_.push_back(touches_.size());
      state_from_.push_back(state_from_.back() + cards_[v]);
      work += 16.0 + double(cards_[v]) * double(2 + touched[v].size());
    }
    for (Int k = 0; k < FIRST_RUNGS; ++k) {
      const double share = double(k) / (FIRST_RUNGS - 1);
      powers_.push_back(share * share);
      rows_.push_back(random_row());
    }
  }

  std::vector<Int> variables;  // of the model, those that are drawn

  Int rungs() const { return powers_.size(); }
  Int states() const { return state_from_.back(); }

  // So many sweeps of all chains; conditionals at the power 1 are added to `sums`, if it has room for them.
  void run(Int sweeps, Vector<double> sums) {
    refused_.assign(powers_.size() - 1, 0.0);
    offers_.assign(powers_.size() - 1, 1e-9);
    for (Int t = 0; t < sweeps; ++t) {
      for (Int k = 0; k < rungs(); ++k) sweep(rows_[k], powers_[k], k + 1 == rungs() ? sums : sums.part(0, 0));
      for (Int k = turn_ ^= 1; k + 1 < rungs(); k += 2) {
        const double log_odds = (powers_[k + 1] - powers_[k]) * (rows_[k].log_weight - rows_[k + 1].log_weight);
        const double chance = log_odds >= 0.0 ? 1.0 : std::exp(log_odds);
        offers_[k] += 1.0;
        refused_[k] += 1.0 - chance;
        if (next_uniform(state_) < chance) std::swap(rows_[k], rows_[k + 1]);
      }
    }
  }

  // Place powers by the exchanges refused in the last run: half of the offers are refused between any two.
  void place_powers() {
    std::vector<double> barrier{0.0};
    for (std::size_t k = 0; k < refused_.size(); ++k) barrier.push_back(barrier.back() + std::max(refused_[k] / offers_[k], 1e-3));
    const Int n = std::clamp(Int(std::ceil(2.0 * barrier.back())) + 1, Int(2), MOST_RUNGS);
    std::vector<double> powers;
    std::vector<Row> rows;
    for (Int j = 0, k = 0; j < n; ++j) {
      const double at = barrier.back() * double(j) / double(n - 1);
      while (k + 2 < rungs() && barrier[k + 1] < at) ++k;
      const double share = std::min(1.0, (at - barrier[k]) / (barrier[k + 1] - barrier[k]));
      powers.push_back(j + 1 == n ? 1.0 : powers_[k] + share * (powers_[k + 1] - powers_[k]));
      rows.push_back(rows_[share < 0.5 ? k : k + 1]);
    }
    powers_ = std::move(powers);
    rows_ = std::move(rows);
  }

 private:
  struct Touch {
    Int factor, stride;
  };
  struct Row {
    std::vector<Int> x, places;  // states, and the cell of each factor
    double log_weight;
  };
  Word state_;
  std::vector<Int> cards_, state_from_, starts_, touch_from_;
  std::vector<Touch> touches_;
  std::vector<double> logs_, powers_, refused_, offers_, gains_, p_;
  std::vector<Row> rows_;
  Int turn_ = 0;
  Pulse pulse_;

  void move(Row& row, Int v, Int by) const {
    for (Int t = touch_from_[v]; t < touch_from_[v + 1]; ++t) row.places[touches_[t].factor] += touches_[t].stride * by;
  }

  Row random_row() {
    Row row{{}, starts_, 0.0};
    for (std::size_t v = 0; v < cards_.size(); ++v) {
      row.x.push_back(Int(next_uniform(state_) * double(cards_[v])));
      move(row, v, row.x[v]);
    }
    for (Int cell : row.places) row.log_weight += logs_[cell];
    return row;
  }

  // Draw all variables of a row from their conditionals, which are added to `sums`.
  void sweep(Row& row, double power, Vector<double> sums) {
    pulse_(Int(work));
    for (std::size_t v = 0; v < cards_.size(); ++v) {
      const Int card = cards_[v], before = row.x[v];
      const double total = weigh(row, v, power);
      double left = next_uniform(state_) * total - p_[0];
      Int drawn = 0;
      while (left >= 0.0 && drawn + 1 < card) left -= p_[++drawn];
      if (!sums.empty()) for (Int s = 0; s < card; ++s) sums[state_from_[v] + s] += p_[s] / total;
      if (drawn == before) continue;
      row.x[v] = drawn;
      row.log_weight += gains_[drawn] - gains_[before];
      move(row, v, drawn - before);
    }
  }

  // Fill `gains_` with the log-weights of the states of v, and p_ with their shares; returns the sum of these.
  double weigh(const Row& row, Int v, double power) {
    const Int card = cards_[v], before = row.x[v];
    std::fill_n(gains_.begin(), card, 0.0);
    for (Int t = touch_from_[v]; t < touch_from_[v + 1]; ++t) {
      const Int stride = touches_[t].stride;
      const double* cell = logs_.data() + row.places[touches_[t].factor] - stride * before;
      for (Int s = 0; s < card; ++s) gains_[s] += cell[stride * s];
    }
    if (card == 2) {
      p_[0] = 1.0 / (1.0 + std::exp(power * (gains_[1] - gains_[0])));
      p_[1] = 1.0 - p_[0];
      return 1.0;
    }
    const double top = *std::max_element(gains_.begin(), gains_.begin() + card);
    double total = 0.0;
    for (Int s = 0; s < card; ++s) total += p_[s] = gains_[s] < top ? std::exp(power * (gains_[s] - top)) : 1.0;
    return total;
  }
};

// Means of conditionals of all variables along a tempered chain, in as many stretches as `means` has rows.
//
// Returns the number of powers; 0, and nothing is done, if some joint state is impossible or `most_work` is too little.
inline Int temper(const FactorList& factors, Ints evidence, Word seed, double most_work, Matrix<double> means) {
  ReducedModel model(factors, evidence);
  if (model.possible()) model.simplify(Array<Int, 1>(filled(Int(0), Int(model.cards.size()))));
  if (!model.possible()) return 0;
  for (const Factor& f : model.factors) if (std::find(f.logs.begin(), f.logs.end(), -INF) != f.logs.end()) return 0;
  TemperedChains chains(model, seed);
  if (chains.work * double(FIRST_RUNGS * LEAST_SWEEPS) > most_work) return 0;
  const auto sweeps = [&](double share) { return Int(share * most_work / (chains.work * double(chains.rungs()))); };
  for (double share : {1.0 / 32, 1.0 / 16, 1.0 / 8, 1.0 / 8}) {
    chains.run(std::max(sweeps(share), Int(4)), {});
    chains.place_powers();
  }
  const Int stretches = means.shape(0), samples = std::max(sweeps(21.0 / 32), stretches);
  const Array<Int, 1> starts = offsets_of(factors.cards.size(), [&](Int v) { return factors.cards[v]; });
  means.fill(0.0);
  Array<double, 1> sums(chains.states());
  for (Int k = 0; k < stretches; ++k) {
    const Int n = (k + 1) * samples / stretches - k * samples / stretches;
    sums.fill(0.0);
    chains.run(n, sums);
    Int at = 0;
    std::vector<Int> from(model.cards.size(), -1);
    for (Int v : chains.variables) from[v] = at, at += model.cards[v];
    for (Int v = 0; v < factors.cards.size(); ++v) {
      const Int root = model.root_of(v);
      for (Int s = 0; s < model.cards[root]; ++s)
        means(k, starts[v] + model.translate(v, model.states[root][s])) = from[root] < 0 ? 1.0 : sums[from[root] + s] / double(n);
    }
  }
  return chains.rungs();
}

}  // namespace cp::inference
