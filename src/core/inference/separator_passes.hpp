// The passes over a separator tree: messages up, messages down with all marginals, and the best states.
//
// Tables hold numbers, the largest near 1. Where a product of positive numbers could underflow, a clique is computed in
// logs, and a table whose positive cells span more than a float can is stored in logs: nothing is ever lost.
#pragma once
#include <map>
#include <unordered_map>

#include "inference/contraction.hpp"
#include "inference/separator_tree.hpp"

namespace cp::inference {

constexpr double UNDERFLOW_BOUND = 1e-290, SAFE = 1e-250, WEAK = 1e-200;

// Freed tables wait for the next one of about their size: fresh pages cost as much as sums over them.
class TablePool {
 public:
  explicit TablePool(double cells) : room_(cells) {}

  std::unique_ptr<double[]> take(Int& size) {
    const auto at = idle_.lower_bound(size);
    if (size >= LARGE && at != idle_.end() && at->first <= size + size / 4) {
      std::unique_ptr<double[]> out = std::move(at->second);
      size = at->first;
      held_ -= double(size);
      idle_.erase(at);
      return out;
    }
    return std::unique_ptr<double[]>(new double[std::max<Int>(size, 1)]);
  }
  void give(std::unique_ptr<double[]> table, Int size) {
    if (size < LARGE || held_ + double(size) > room_) return;
    held_ += double(size);
    idle_.emplace(size, std::move(table));
  }

 private:
  static constexpr Int LARGE = 1 << 17;
  double room_, held_ = 0.0;
  std::multimap<Int, std::unique_ptr<double[]>> idle_;
};

// The largest and the smallest positive item; in eight lanes, which the compiler can vectorize.
struct Spread {
  double most = 0.0, least = INF;
  Spread(const double* x, Int n) {
    double high[8], low[8];
    std::fill_n(high, 8, 0.0);
    std::fill_n(low, 8, INF);
    Int i = 0;
    for (; i + 8 <= n; i += 8) {
      for (int k = 0; k < 8; ++k) high[k] = high[k] < x[i + k] ? x[i + k] : high[k];
      for (int k = 0; k < 8; ++k) {
        const double positive = x[i + k] > 0.0 ? x[i + k] : INF;
        low[k] = positive < low[k] ? positive : low[k];
      }
    }
    for (; i < n; ++i) {
      high[0] = std::max(high[0], x[i]);
      if (x[i] > 0.0) low[0] = std::min(low[0], x[i]);
    }
    for (int k = 0; k < 8; ++k) most = std::max(most, high[k]), least = std::min(least, low[k]);
  }
};

// A message: its cells times `factor`, or logs; its largest value is 1 (0 in logs). `least` bounds the positive ones.
struct SeparatorTable {
  const std::vector<Int>* scope = nullptr;
  std::unique_ptr<double[]> data;
  Int size = 0, room = 0;
  bool logs = false;
  double factor = 1.0, least = 1.0;

  explicit operator bool() const { return data != nullptr; }
  Operand operand() const { return {data.get(), scope, logs}; }

  // Divide by the largest value; returns its log, −∞ if all cells are zero.
  double scale() {
    double* const x = data.get();
    factor = 1.0;
    if (logs) {
      double most = -INF, low = INF;
      for (Int i = 0; i < size; ++i) {
        most = std::max(most, x[i]);
        if (x[i] > -INF) low = std::min(low, x[i]);
      }
      if (most == -INF) return -INF;
      logs = most - low > 600.0;
      for (Int i = 0; i < size; ++i) x[i] = logs ? x[i] - most : std::exp(x[i] - most);
      least = logs ? 0.0 : std::exp(low - most);
      return most;
    }
    const Spread spread(x, size);
    if (spread.most == 0.0) return -INF;
    const double log_most = std::log(spread.most);
    least = spread.least / spread.most;
    if (!(least >= UNDERFLOW_BOUND)) {
      logs = true;
      for (Int i = 0; i < size; ++i) x[i] = std::log(x[i]) - log_most;
    } else if (size <= 65536 || spread.most < 1e-10 || spread.most > 1e10) {
      for (Int i = 0; i < size; ++i) x[i] /= spread.most;
    } else {
      factor = 1.0 / spread.most;
    }
    return log_most;
  }
  double log_at(Int cell) const { return logs ? data[cell] : std::log(data[cell] * factor); }
};

class SeparatorPasses {
 public:
  SeparatorPasses(const ReducedModel& model, const SeparatorTree& tree, double segment, TablePool& pool)
      : model_(model), tree_(tree), pool_(pool), keep_(tree.kept_messages(segment)), here_(tree.cliques.size(), 0),
        factors_(tree.cliques.size()), up_(tree.cliques.size()), down_(tree.cliques.size()) {
    for (const Factor& f : model.factors) place_factor(f);
    for (FactorTable& f : final_) log_weight_ += f.finish();
    for (auto& list : factors_) for (FactorTable& f : list) log_weight_ += f.finish();
    log_weight_ += model.log_constant;
  }
  ~SeparatorPasses() {
    for (auto* list : {&up_, &down_}) for (SeparatorTable& table : *list) release(table);
  }
  SeparatorPasses(const SeparatorPasses&) = delete;

  // The upward pass; returns the log of the total weight, −∞ if no row is possible.
  double collect() {
    for (Int i : tree_.up) {
      const double scale = send_up(i);
      if (scale == -INF) return -INF;
      log_weight_ += scale;
      for (Int c : tree_.cliques[i].children) if (!keep_[c]) forget(c);
    }
    return log_weight_;
  }

  // Fill `logs` with the unnormalized logs of the joint table of the kept variables; returns the log of its sum.
  double read_kept(std::vector<double>& logs) {
    std::vector<Operand> inputs;
    double factor = 0.0;
    for (std::size_t i = 0; i < up_.size(); ++i) {
      if (tree_.cliques[i].parent >= 0) continue;
      inputs.push_back(up_[i].operand());
      factor += std::log(up_[i].factor);
    }
    for (FactorTable& f : final_) inputs.push_back(f.operand());
    Int cells = 1;
    for (Int v : tree_.kept) cells *= model_.cards[v];
    logs.assign(cells, -INF);
    contract(tree_.kept, model_.cards, inputs, {{logs.data(), &tree_.kept, true}}, factor, true, false, pulse_);
    for (double& x : logs) x += log_weight_;
    return log_sum_exp({logs.data(), {cells}});
  }

  // The downward pass: marginals[v] gets the probabilities of each variable that is eliminated.
  void distribute(std::vector<std::vector<double>>& marginals) {
    walk_down([](Int) { return true; }, [&](Int i) { visit(i, marginals); });
  }

  // Draw all variables in each column of `codes`, (variables, draws), independently.
  void draw(Word& random, Matrix<u16> codes) {
    walk_down([](Int) { return true; }, [&](Int i) { draw_own(i, random, codes); });
  }

  // The states at the maximum, of all variables of stage 1.
  void choose(std::vector<Int>& best) {
    walk_down([&](Int i) { return tree_.cliques[i].stage == 1; }, [&](Int i) { choose_own(i, best); });
  }

 private:
  struct FactorTable {
    std::vector<Int> scope;
    std::vector<double> values;
    bool logs = true;
    double least = 0.0;

    // Turn the logs into numbers if these fit into a float; returns the log that was taken out.
    double finish() {
      const double most = *std::max_element(values.begin(), values.end());
      if (most == -INF) return -INF;
      double low = INF;
      for (double& x : values) {
        x -= most;
        if (x > -INF) low = std::min(low, x);
      }
      logs = low < -600.0;
      least = logs ? 0.0 : std::exp(low);
      if (!logs) for (double& x : values) x = std::exp(x);
      return most;
    }
    Operand operand() { return {values.data(), &scope, logs}; }
    double log_at(Int cell) const { return logs ? values[cell] : std::log(values[cell]); }
  };

  const ReducedModel& model_;
  const SeparatorTree& tree_;
  TablePool& pool_;
  std::vector<char> keep_, here_;
  std::vector<std::vector<FactorTable>> factors_;  // by clique
  std::vector<FactorTable> final_;                 // over kept variables alone
  std::vector<SeparatorTable> up_, down_;
  double log_weight_ = 0.0;
  Pulse pulse_;

  // A factor goes to the clique that eliminates the first of its variables; small ones there are multiplied beforehand.
  void place_factor(const Factor& f) {
    Int first = f.scope[0];
    for (Int v : f.scope) if (tree_.rank[v] < tree_.rank[first]) first = v;
    const Int home = tree_.home[first];
    std::vector<FactorTable>& list = home >= 0 ? factors_[home] : final_;
    const double most = home >= 0 ? std::min(65536.0, tree_.cliques[home].cells / 8) : 0.0;
    for (FactorTable& other : list) {
      std::vector<Int> scope = other.scope;
      for (Int v : f.scope) if (std::find(scope.begin(), scope.end(), v) == scope.end()) scope.push_back(v);
      double cells = 1.0;
      for (Int v : scope) cells *= double(model_.cards[v]);
      if (cells > most && cells > double(other.values.size())) continue;
      tree_.sort(scope);
      Factor product = model_.product({other.scope, other.values}, f, scope);
      other.scope = std::move(product.scope);
      other.values = std::move(product.logs);
      return;
    }
    std::vector<Int> scope = f.scope;
    tree_.sort(scope);
    Factor sorted = model_.product(f, {{}, {0.0}}, scope);
    list.push_back({std::move(sorted.scope), std::move(sorted.logs)});
  }

  void allocate(SeparatorTable& table, const std::vector<Int>& scope, bool logs) {
    table.scope = &scope;
    table.size = 1;
    for (Int v : scope) table.size *= model_.cards[v];
    table.room = table.size;
    table.data = pool_.take(table.room);
    table.logs = logs;
    std::fill_n(table.data.get(), table.size, logs ? -INF : 0.0);
  }
  void release(SeparatorTable& table) {
    if (table) pool_.give(std::move(table.data), table.room);
    table.data = nullptr;
  }
  void forget(Int i) {
    release(up_[i]);
    here_[i] = 0;
  }

  // What clique i multiplies; `bound` gets a lower bound on its positive cells, 0 if logs are needed.
  std::vector<Operand> inputs_of(Int i, double& log_factor, double& bound) {
    std::vector<Operand> inputs;
    bound = 1.0;
    log_factor = 0.0;
    const auto take = [&](const SeparatorTable& table) {
      inputs.push_back(table.operand());
      log_factor += std::log(table.factor);
      bound *= table.logs ? 0.0 : table.least;
    };
    for (Int c : tree_.cliques[i].children) take(up_[c]);
    if (down_[i]) take(down_[i]);
    for (FactorTable& f : factors_[i]) {
      inputs.push_back(f.operand());
      bound *= f.logs ? 0.0 : f.least;
    }
    return inputs;
  }

  static bool has_logs(const std::vector<Operand>& inputs) {
    return std::any_of(inputs.begin(), inputs.end(), [](const Operand& input) { return input.logs; });
  }

  // Compute the message of clique i to its parent; returns the log taken out of it.
  double send_up(Int i) {
    const SeparatorClique& clique = tree_.cliques[i];
    double log_factor, bound;
    const std::vector<Operand> inputs = inputs_of(i, log_factor, bound);
    const auto form = [&](bool logs) {
      contract(clique.axes, model_.cards, inputs, {up_[i].operand()}, logs ? log_factor : std::exp(log_factor), logs, clique.stage == 1, pulse_);
    };
    bool logs = bound < UNDERFLOW_BOUND;
    const bool may_fit = !has_logs(inputs);
    allocate(up_[i], clique.separator, logs && !may_fit);
    if (logs && may_fit) {  // the bound is a rough one: two passes over numbers tell whether any cell is lost
      contract_support(clique.axes, model_.cards, inputs, up_[i].operand(), pulse_);
      double* const cells = up_[i].data.get();
      const auto zeros = std::count(cells, cells + up_[i].size, 0.0);
      std::fill_n(cells, up_[i].size, 0.0);
      form(false);
      logs = Spread(cells, up_[i].size).least < SAFE || std::count(cells, cells + up_[i].size, 0.0) != zeros;
      up_[i].logs = logs;
      if (logs) std::fill_n(cells, up_[i].size, -INF);
      if (logs) form(true);
    } else {
      form(logs);
    }
    here_[i] = 1;
    return up_[i].scale();
  }

  // Call visit(i) for each clique that `enters` accepts, parents first, when the messages of its children are there.
  template <class Enters, class Visit>
  void walk_down(Enters enters, Visit visit) {
    std::vector<Int> stack;
    for (std::size_t r = 0; r < tree_.cliques.size(); ++r) {
      if (tree_.cliques[r].parent < 0 && enters(r)) stack.push_back(r);
      while (!stack.empty()) {
        const Int i = stack.back();
        stack.pop_back();
        for (Int c : tree_.cliques[i].children) {
          for (Int m : tree_.missing_below(c, here_)) send_up(m);
          if (enters(c)) stack.push_back(c);
        }
        visit(i);
        for (Int c : tree_.cliques[i].children) if (here_[c]) forget(c);
      }
    }
  }

  void visit(Int i, std::vector<std::vector<double>>& marginals) {
    const SeparatorClique& clique = tree_.cliques[i];
    std::vector<Int> alone;                       // variables whose marginal is read from this clique
    std::map<Int, std::vector<Int>> from_child;   // and those read from the separator of a child
    for (Int v : clique.own) {
      Int best = -1;
      for (Int c : clique.children) {
        const std::vector<Int>& scope = tree_.cliques[c].separator;
        if (std::find(scope.begin(), scope.end(), v) == scope.end()) continue;
        if (best < 0 || tree_.cliques[c].separator_cells < tree_.cliques[best].separator_cells) best = c;
      }
      if (best < 0) alone.push_back(v);
      else from_child[best].push_back(v);
    }
    std::vector<std::vector<Int>> groups;         // small tables over several of them
    std::vector<std::vector<double>> tables;
    tree_.sort(alone);
    for (Int v : alone) {
      if (groups.empty() || Int(tables.back().size()) * model_.cards[v] > BLOCK) {
        groups.emplace_back();
        tables.emplace_back(1);
      }
      groups.back().push_back(v);
      tables.back().resize(tables.back().size() * model_.cards[v]);
    }
    double log_factor, bound;
    const std::vector<Operand> inputs = inputs_of(i, log_factor, bound);
    for (bool logs : {false, true}) {
      if (!logs && has_logs(inputs)) continue;
      std::vector<Operand> outputs;
      for (Int c : clique.children) {
        release(down_[c]);
        allocate(down_[c], tree_.cliques[c].separator, logs);
        outputs.push_back(down_[c].operand());
      }
      for (std::size_t g = 0; g < groups.size(); ++g) {
        std::fill(tables[g].begin(), tables[g].end(), logs ? -INF : 0.0);
        outputs.push_back({tables[g].data(), &groups[g], logs});
      }
      if (outputs.empty()) break;
      contract(clique.axes, model_.cards, inputs, outputs, logs ? log_factor : std::exp(log_factor), logs, false, pulse_);
      double weakest = INF;
      if (!logs) {
        for (Int c : clique.children) weakest = std::min(weakest, Spread(down_[c].data.get(), down_[c].size).most);
        for (const auto& table : tables) weakest = std::min(weakest, Spread(table.data(), table.size()).most);
      }
      if (logs || weakest >= WEAK) {
        for (std::size_t g = 0; g < groups.size(); ++g) read({tables[g].data(), &groups[g], logs}, groups[g], marginals);
        break;
      }
    }
    release(down_[i]);
    for (const auto& [c, variables] : from_child) read(down_[c].operand(), variables, marginals);
    for (Int c : clique.children) divide(down_[c], up_[c]);
  }

  // The marginal of each variable from a table over more.
  void read(const Operand& table, const std::vector<Int>& variables, std::vector<std::vector<double>>& marginals) {
    for (Int v : variables) {
      std::vector<double>& p = marginals[v];
      const std::vector<Int> scope{v};
      p.assign(model_.cards[v], table.logs ? -INF : 0.0);
      contract(*table.scope, model_.cards, {table}, {{p.data(), &scope, table.logs}}, table.logs ? 0.0 : 1.0, table.logs, false, pulse_);
      double total = 0.0;
      if (table.logs) total = exponentiate({p.data(), {Int(p.size())}});
      else for (double x : p) total += x;
      for (double& x : p) x /= total;
    }
  }

  // Take the message up out of the message down, with 0 / 0 = 0.
  void divide(SeparatorTable& down, const SeparatorTable& up) {
    double* __restrict const d = down.data.get();
    const double* __restrict const u = up.data.get();
    if (!down.logs && !up.logs) {
      const double top = 1.0 / Spread(d, down.size).most;
      for (Int k = 0; k < down.size; ++k) d[k] = d[k] * top / (u[k] > 0.0 ? u[k] : 1.0);
    } else {
      for (Int k = 0; k < down.size; ++k) {
        const double x = down.logs ? d[k] : std::log(d[k]), y = up.logs ? u[k] : std::log(u[k]);
        d[k] = y > -INF ? x - y : -INF;
      }
      down.logs = true;
    }
    down.scale();
  }

  // Call visit(weight, states) for the log-weight of each joint state of what clique i eliminates, at the states `at` of
  // its separator; `at` is scratch for the others.
  template <class Visit>
  void weigh_own(Int i, std::vector<Int>& at, Visit visit) {
    const SeparatorClique& clique = tree_.cliques[i];
    const auto cell_of = [&](const std::vector<Int>& scope) {
      Int cell = 0;
      for (Int v : scope) cell = cell * model_.cards[v] + at[v];
      return cell;
    };
    for_each_cell(model_.shape(clique.own), [&](Int, const std::vector<Int>& s) {
      for (std::size_t a = 0; a < s.size(); ++a) at[clique.own[a]] = s[a];
      double weight = 0.0;
      for (const FactorTable& f : factors_[i]) weight += f.log_at(cell_of(f.scope));
      for (Int c : clique.children) weight += up_[c].log_at(cell_of(tree_.cliques[c].separator));
      visit(weight, s);
    });
  }

  // The best states of the variables that clique i eliminates, given those of its separator.
  void choose_own(Int i, std::vector<Int>& best) {
    const SeparatorClique& clique = tree_.cliques[i];
    double most = -INF;
    std::vector<Int> chosen(clique.own.size(), 0);
    weigh_own(i, best, [&](double weight, const std::vector<Int>& s) {
      if (weight > most) most = weight, chosen = s;
    });
    for (std::size_t a = 0; a < chosen.size(); ++a) best[clique.own[a]] = chosen[a];
  }

  // Draw what clique i eliminates in each column of `codes`, given its separator; equal separators share one table.
  void draw_own(Int i, Word& random, Matrix<u16> codes) {
    const SeparatorClique& clique = tree_.cliques[i];
    std::vector<Int> at(model_.cards.size(), 0);
    std::unordered_map<Int, std::size_t> group_of;  // by the cell of the separator
    std::vector<std::vector<Int>> groups;            // of draws
    for (Int j = 0; j < codes.shape(1); ++j) {
      Int cell = 0;
      for (Int v : clique.separator) cell = cell * model_.cards[v] + codes(v, j);
      const auto group = group_of.emplace(cell, groups.size());
      if (group.second) groups.emplace_back();
      groups[group.first->second].push_back(j);
    }
    std::vector<double> weights;
    for (const std::vector<Int>& draws : groups) {
      for (Int v : clique.separator) at[v] = codes(v, draws[0]);
      weights.clear();
      weigh_own(i, at, [&](double weight, const std::vector<Int>&) { weights.push_back(weight); });
      pulse_(16 * Int(weights.size()) + 32 * Int(draws.size()));
      exponentiate({weights.data(), {Int(weights.size())}});
      Int last = 0;  // the last possible one
      for (std::size_t k = 0; k < weights.size(); ++k) {
        if (weights[k] > 0.0) last = k;
        if (k > 0) weights[k] += weights[k - 1];
      }
      for (Int j : draws) {
        const auto above = std::upper_bound(weights.begin(), weights.end(), next_uniform(random) * weights.back());
        Int drawn = std::min(Int(above - weights.begin()), last);
        for (Int a = Int(clique.own.size()) - 1; a >= 0; --a) {
          const Int v = clique.own[a];
          codes(v, j) = u16(drawn % model_.cards[v]);
          drawn /= model_.cards[v];
        }
      }
    }
  }
};

}  // namespace cp::inference
