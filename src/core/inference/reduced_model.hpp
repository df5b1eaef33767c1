// A product of tables of logs, made smaller by steps that never change an answer.
#pragma once
#include <numeric>
#include <vector>

#include "base/numbers.hpp"
#include "base/pulse.hpp"

namespace cp::inference {

// Tables of natural logs: that of factor f is over scopes[scope_from[f]] … , the last fastest, from value_from[f] on.
struct FactorList {
  Ints cards, scope_from, scopes, value_from;
  Floats logs;
  static constexpr const char* fields = "cards[n] scope_from[f+1] scopes[] value_from[f+1] logs[]";
};

struct Factor {
  std::vector<Int> scope;
  std::vector<double> logs;  // the last variable is fastest
};

// Call visit(cell, states) for all cells of a table of such a shape.
template <class Visit>
void for_each_cell(const std::vector<Int>& shape, Visit visit) {
  std::vector<Int> states(shape.size(), 0);
  Int cells = 1;
  for (Int size : shape) cells *= size;
  for (Int cell = 0; cell < cells; ++cell) {
    visit(cell, states);
    for (Int a = Int(shape.size()) - 1; a >= 0; --a) {
      if (++states[a] < shape[a]) break;
      states[a] = 0;
    }
  }
}

// A model of which some states, axes and factors are gone.
class ReducedModel {
 public:
  std::vector<Int> cards;                 // the number of states left
  std::vector<std::vector<Int>> states;   // their original codes
  std::vector<Factor> factors;
  double log_constant = 0.0;              // the sum of factors without variables; −∞: no row is possible
  std::vector<Int> twin;                  // the variable that decides this one's state, itself if none does

  // At evidence[v], or with all states where it is negative.
  ReducedModel(const FactorList& list, Ints evidence) : cards(list.cards.begin(), list.cards.end()), states(cards.size()), twin(cards.size()), twin_codes_(cards.size()) {
    std::iota(twin.begin(), twin.end(), Int(0));
    for (Int v = 0; v < Int(cards.size()); ++v) {
      states[v].resize(cards[v]);
      std::iota(states[v].begin(), states[v].end(), Int(0));
    }
    for (Int f = 0; f + 1 < list.scope_from.size(); ++f) {
      const Ints scope = list.scopes.part(list.scope_from[f], list.scope_from[f + 1]);
      const Floats logs = list.logs.part(list.value_from[f], list.value_from[f + 1]);
      factors.push_back({{scope.begin(), scope.end()}, {logs.begin(), logs.end()}});
    }
    Support support = full_support();
    for (Int v = 0; v < evidence.size(); ++v) {
      if (evidence[v] < 0) continue;
      for (Int s = 0; s < cards[v]; ++s) support[v][s] = s == evidence[v];
    }
    keep_states(support);
  }

  bool possible() const { return log_constant > -INF; }

  // Drop states without support, constant axes, variables that another one decides, and factors inside the scope of
  // others. Only variables of the same stage stand for each other, and none of stage 2.
  void simplify(Ints stages) {
    drop_unsupported();
    if (!possible()) return;
    merge();
    for (Factor& f : factors) while (drop_constant_axis(f)) {}
    for (std::size_t f = 0; f < factors.size();) if (!join_twins(f, stages)) ++f;
    merge();
  }

  // The variable that decides the state of v in the end, and the code of v where that one has `code`.
  Int root_of(Int v) const {
    while (twin[v] != v) v = twin[v];
    return v;
  }
  Int translate(Int v, Int code) const {
    return twin[v] == v ? code : twin_codes_[v][translate(twin[v], code)];
  }

  // The same model with some variables at a state, and what follows from it by zeros.
  void fix(const std::vector<Int>& variables, const std::vector<Int>& at) {
    Support support = full_support();
    for (std::size_t k = 0; k < variables.size(); ++k)
      for (Int s = 0; s < cards[variables[k]]; ++s) support[variables[k]][s] = s == at[k];
    keep_states(support);
    if (possible()) drop_unsupported();
  }

  std::vector<Int> shape(const std::vector<Int>& scope) const {
    std::vector<Int> sizes;
    for (Int v : scope) sizes.push_back(cards[v]);
    return sizes;
  }

  // The product of two tables over `scope`, which has the variables of both.
  Factor product(const Factor& a, const Factor& b, std::vector<Int> scope) const {
    const std::vector<Int> in_a = steps(a.scope, scope), in_b = steps(b.scope, scope), sizes = shape(scope);
    Factor out{std::move(scope), {}};
    for_each_cell(sizes, [&](Int, const std::vector<Int>& s) {
      Int i = 0, j = 0;
      for (std::size_t k = 0; k < s.size(); ++k) i += in_a[k] * s[k], j += in_b[k] * s[k];
      out.logs.push_back(a.logs[i] + b.logs[j]);
    });
    return out;
  }

 private:
  using Support = std::vector<std::vector<char>>;
  std::vector<std::vector<Int>> twin_codes_;  // by code of the twin

  Support full_support() const {
    Support support;
    for (Int card : cards) support.emplace_back(card, 1);
    return support;
  }

  // By how much a state of each variable of `inside` moves in a table over `scope`; 0 where it is absent.
  std::vector<Int> steps(const std::vector<Int>& scope, const std::vector<Int>& inside) const {
    std::vector<Int> out(inside.size(), 0);
    Int step = 1;
    for (Int k = Int(scope.size()) - 1; k >= 0; --k) {
      for (std::size_t a = 0; a < inside.size(); ++a)
        if (inside[a] == scope[k]) out[a] = step;
      step *= cards[scope[k]];
    }
    return out;
  }

  // Leave only the states in `support`; a variable of one state leaves all scopes.
  void keep_states(const Support& support) {
    std::vector<Int> left(cards.size());
    for (std::size_t v = 0; v < cards.size(); ++v) {
      left[v] = std::count(support[v].begin(), support[v].end(), 1);
      if (left[v] == 0) log_constant = -INF;
    }
    if (!possible()) return;
    std::vector<Factor> smaller;
    for (const Factor& f : factors) {
      const bool changed = std::any_of(f.scope.begin(), f.scope.end(), [&](Int v) { return left[v] != cards[v] || left[v] == 1; });
      Factor out;
      if (!changed) {
        out = f;
      } else {
        for (Int v : f.scope) if (left[v] > 1) out.scope.push_back(v);
        for_each_cell(shape(f.scope), [&](Int cell, const std::vector<Int>& s) {
          for (std::size_t a = 0; a < s.size(); ++a) if (!support[f.scope[a]][s[a]]) return;
          out.logs.push_back(f.logs[cell]);
        });
      }
      if (out.scope.empty()) log_constant += out.logs[0];
      else smaller.push_back(std::move(out));
    }
    factors = std::move(smaller);
    for (std::size_t v = 0; v < cards.size(); ++v) {
      std::vector<Int> codes;
      for (Int s = 0; s < cards[v]; ++s) if (support[v][s]) codes.push_back(states[v][s]);
      states[v] = codes;
      cards[v] = left[v];
    }
  }

  // A state to which some factor gives no positive cell goes, until nothing changes (arc consistency).
  void drop_unsupported() {
    Support support = full_support();
    std::vector<std::vector<Int>> of(cards.size());
    std::vector<Int> waiting;
    std::vector<char> queued(factors.size(), 0);
    for (std::size_t f = 0; f < factors.size(); ++f) {
      for (Int v : factors[f].scope) of[v].push_back(f);
      const std::vector<double>& logs = factors[f].logs;
      if (std::find(logs.begin(), logs.end(), -INF) != logs.end()) waiting.push_back(f), queued[f] = 1;
    }
    bool changed = false;
    for (std::size_t k = 0; k < waiting.size(); ++k) {
      const Factor& f = factors[waiting[k]];
      queued[waiting[k]] = 0;
      Support seen;
      for (Int v : f.scope) seen.emplace_back(cards[v], 0);
      for_each_cell(shape(f.scope), [&](Int cell, const std::vector<Int>& s) {
        if (f.logs[cell] == -INF) return;
        for (std::size_t a = 0; a < s.size(); ++a) if (!support[f.scope[a]][s[a]]) return;
        for (std::size_t a = 0; a < s.size(); ++a) seen[a][s[a]] = 1;
      });
      for (std::size_t a = 0; a < f.scope.size(); ++a) {
        const Int v = f.scope[a];
        bool fewer = false;
        for (Int s = 0; s < cards[v]; ++s) {
          if (support[v][s] && !seen[a][s]) support[v][s] = 0, fewer = true;
        }
        if (!fewer) continue;
        changed = true;
        for (Int g : of[v]) if (!queued[g]) queued[g] = 1, waiting.push_back(g);
      }
    }
    if (changed) keep_states(support);
  }

  // A factor that lies inside the scope of another is added to it.
  void merge() {
    std::vector<Int> order(factors.size());
    std::iota(order.begin(), order.end(), Int(0));
    std::stable_sort(order.begin(), order.end(), [&](Int a, Int b) { return factors[a].scope.size() > factors[b].scope.size(); });
    std::vector<std::vector<Int>> of(cards.size());
    std::vector<Factor> out;
    for (Int f : order) {
      Factor& small = factors[f];
      if (small.scope.empty()) {
        log_constant += small.logs[0];
        continue;
      }
      const Int rare = *std::min_element(small.scope.begin(), small.scope.end(), [&](Int a, Int b) { return of[a].size() < of[b].size(); });
      const auto inside = [&](Int g) {
        return std::all_of(small.scope.begin(), small.scope.end(), [&](Int v) {
          return std::find(out[g].scope.begin(), out[g].scope.end(), v) != out[g].scope.end();
        });
      };
      const auto host = std::find_if(of[rare].begin(), of[rare].end(), inside);
      if (host != of[rare].end()) {
        out[*host] = product(out[*host], small, out[*host].scope);
      } else {
        for (Int v : small.scope) of[v].push_back(out.size());
        out.push_back(std::move(small));
      }
    }
    factors = std::move(out);
  }

  // If two variables of factor f decide each other's state, one of them goes; false if there are none.
  bool join_twins(std::size_t f, Ints stages) {
    const Factor& factor = factors[f];
    const std::vector<Int>& scope = factor.scope;
    if (std::find(factor.logs.begin(), factor.logs.end(), -INF) == factor.logs.end()) return false;
    for (std::size_t a = 0; a < scope.size(); ++a) {
      for (std::size_t b = a + 1; b < scope.size(); ++b) {
        const Int u = scope[a], v = scope[b], card = cards[u];
        if (cards[v] != card || stages[u] != stages[v] || stages[u] > 1) continue;
        std::vector<Int> to(card, -1), from(card, -1);
        bool one_to_one = true;
        for_each_cell(shape(scope), [&](Int cell, const std::vector<Int>& s) {
          if (!one_to_one || factor.logs[cell] == -INF) return;
          if (to[s[a]] < 0 && from[s[b]] < 0) to[s[a]] = s[b], from[s[b]] = s[a];
          one_to_one = to[s[a]] == s[b] && from[s[b]] == s[a];
        });
        if (!one_to_one || std::find(to.begin(), to.end(), -1) != to.end()) continue;
        replace(v, u, to);
        return true;
      }
    }
    return false;
  }

  // Put variable u, where it is in state x, in the place of v in state to[x].
  void replace(Int v, Int u, const std::vector<Int>& to) {
    for (Factor& f : factors) {
      const auto at = std::find(f.scope.begin(), f.scope.end(), v);
      if (at == f.scope.end()) continue;
      const bool both = std::find(f.scope.begin(), f.scope.end(), u) != f.scope.end();
      Factor out{f.scope, {}};
      if (both) out.scope.erase(out.scope.begin() + (at - f.scope.begin()));
      else out.scope[at - f.scope.begin()] = u;
      const std::vector<Int> others = steps(f.scope, out.scope);
      const Int step = steps(f.scope, {v})[0];
      const Int axis = std::find(out.scope.begin(), out.scope.end(), u) - out.scope.begin();
      for_each_cell(shape(out.scope), [&](Int, const std::vector<Int>& s) {
        Int cell = step * to[s[axis]];
        for (std::size_t k = 0; k < s.size(); ++k) cell += others[k] * s[k];
        out.logs.push_back(f.logs[cell]);
      });
      f = std::move(out);
    }
    twin[v] = u;
    twin_codes_[v].assign(1 + *std::max_element(states[u].begin(), states[u].end()), 0);
    for (std::size_t x = 0; x < to.size(); ++x) twin_codes_[v][states[u][x]] = states[v][to[x]];
    cards[v] = 1;
    states[v].resize(1);
  }

  // Remove an axis along which the table does not change; false if there is none.
  bool drop_constant_axis(Factor& f) const {
    Int step = f.logs.size();
    for (std::size_t a = 0; a < f.scope.size(); ++a) {
      const Int card = cards[f.scope[a]], block = step;
      step /= card;
      bool same = true;
      for (Int start = 0; start < Int(f.logs.size()) && same; start += block)
        for (Int i = start; i + step < start + block && same; ++i) same = f.logs[i] == f.logs[i + step];
      if (!same) continue;
      std::vector<double> rest;
      for (Int start = 0; start < Int(f.logs.size()); start += block)
        rest.insert(rest.end(), f.logs.begin() + start, f.logs.begin() + start + step);
      f.logs = std::move(rest);
      f.scope.erase(f.scope.begin() + a);
      return true;
    }
    return false;
  }
};

}  // namespace cp::inference
