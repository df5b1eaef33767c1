// Gibbs chains: a sweep draws each free variable from its conditional given the rest.
//
// A conditional is looked up by the code of its neighbors' joint state, which moves with each of their changes, and
// summed up from tables (and what is in none) only where that state is new: see docs/design/sampling.md.
#pragma once
#include "base/pulse.hpp"
#include "features/parts.hpp"
#include "inference/scopes.hpp"

namespace cp::inference {

using features::Parts;

constexpr Int IMPOSSIBLE = 10;  // nats that breaking a law costs while a start is looked for

// Free variables in order, their tables, whom they move, and where conditionals are remembered.
//
// A table over free variables is the sum of all factors whose free variables it holds: factor f, of those `sources`
// that matter, goes to table hosts[f], at what the observed variables fixed[fixed_offsets[f]] … say; wide rule k goes
// to rule_hosts[k] if what is observed allows. `plain` is what is in no table. The tables of variable v are
// touched[touch_offsets[v]] … , those that serve it until serve_ends[v]. A change of v adds child_steps to the codes of
// `children`. Conditionals of v have the slots from slots[v] on, their numbers lie from memory[v] on.
struct Scan {
  Ints free;
  Flags is_free;
  Parts plain;
  Scopes scopes;
  Ints rules, rule_hosts, sources, hosts, step_offsets, steps, fixed_offsets, fixed, fixed_strides;
  Ints touch_offsets, serve_ends, touched, touch_strides, child_offsets, children;
  Words child_steps;
  Ints slots;
  Ints shifts;  // a code is its slot where −1, else it is hashed and shifted
  Ints memory;

  static constexpr const char* fields =
      "free[] is_free[n] plain scopes rules[w] rule_hosts[w] sources[f] hosts[f] step_offsets[f+1] steps[] fixed_offsets[f+1] "
      "fixed[x] fixed_strides[x] touch_offsets[n+1] serve_ends[n] touched[t] touch_strides[t] child_offsets[n+1] children[c] "
      "child_steps[c] slots[n+1] shifts[n] memory[n+1]";
};

// What is added up along a chain: the conditionals of all variables, or those of the last of the variables `targets`, to
// the cells of the joint state of the others, which come before it in the scan.
struct Record {
  Ints targets, strides;
  Int burn_in, samples;  // sweeps before, and while, conditionals are added to `sums`
};

constexpr Int FRESH_START = 50;  // sweeps in search of a possible row after which another random row is tried

// One chain after the other: the row, its tables and places in them, and the conditionals that are remembered.
class Chain {
 public:
  Array<Code, 1> x;

  // `likelihoods` are logs, or none; `keys` must be zero at the start.
  Chain(const Scan& scan, Ints cards, Int max_card, Floats likelihoods, Vector<Word> keys)
      : x(cards.size()), scan_(scan), cards_(cards), likelihoods_(likelihoods), keys_(keys), states_(offsets_of(cards.size(), [&](Int v) { return cards[v]; })),
        codes_(cards.size()), last_(cards.size()), values_(scan.scopes.cells.back()), places_(scan.scopes.size()),
        memory_(scan.memory.back()), p_(zeros<double>(sum(cards))), logits_(max_card), digits_(longest_list(scan.scopes.offsets)) {
    for (Int v = 0; v < cards.size(); ++v)
      if (cards[v] == 1) p_[states_[v]] = 1.0;  // such a variable is not drawn
  }

  // Move the row to one that is possible, by Gibbs sweeps in which nothing is forbidden (`relaxed`). The variables `laws`
  // say what is possible. Returns whether one was found.
  bool find_start(const Parts& parts, const Parts& relaxed, Ints laws, Int sweeps, Word state, Pulse& pulse) {
    for (Int sweep = 0; sweep < sweeps; ++sweep) {
      if (is_possible(parts, laws)) return true;
      pulse(1000 * scan_.free.size());
      if (sweep && sweep % FRESH_START == 0)  // this row leads nowhere
        for (Int v : scan_.free) x[v] = Code(next_uniform(state) * double(cards_[v]));
      for (Int v : scan_.free) {
        weigh(relaxed, v);
        Int best = 0;
        double top = -INF;
        for (Int s = 0; s < cards_[v]; ++s) {
          if (!likelihoods_.empty()) logits_[s] += std::max(likelihoods_[states_[v] + s], -double(IMPOSSIBLE));
          // the largest of logits with Gumbel noise is a draw
          const double noisy = logits_[s] - std::log(-std::log(next_uniform(state) + 0x1p-54));
          if (noisy > top) {
            best = s;
            top = noisy;
          }
        }
        x[v] = Code(best);
      }
    }
    return is_possible(parts, laws);
  }

  // Sum up the tables over free variables for the evidence in `x`.
  void settle(const Scopes& factors, Floats factor_values, const RuleMasks& rules) {
    const Ragged<const Int> steps{scan_.steps, scan_.step_offsets};
    values_.fill(0.0);
    for (Int k = 0; k < scan_.sources.size(); ++k) {
      const Int host = scan_.hosts[k];
      Int start = factors.cells[scan_.sources[k]];
      for (Int i = scan_.fixed_offsets[k]; i < scan_.fixed_offsets[k + 1]; ++i) start += scan_.fixed_strides[i] * x[scan_.fixed[i]];
      add_table(factor_values, start, scan_.scopes[host], cards_, steps[k], digits_, scan_.scopes.table(values_, host));
    }
    add_rules(rules, scan_.rules, scan_.rule_hosts, scan_.scopes, cards_, scan_.is_free, x, values_);
    epoch_ += SPLITMIX_STEP;
  }

  // Run from the row `x`; −1, or the variable that has no possible state.
  //
  // After each of the last `samples` sweeps, conditionals are added to a row of `sums`, of which each takes its share of
  // the sweeps. Rows of `kept`, if any, get the row at even distances.
  Int walk(const Record& record, Word state, Matrix<double> sums, Matrix<Code> kept, Pulse& pulse) {
    enter_row();
    for (Int sweep = -record.burn_in; sweep < record.samples; ++sweep) {
      pulse(20 * scan_.free.size());
      for (Int v : scan_.free) {
        if (codes_[v] != last_[v] && !look_up(v)) return v;
        const Int before = x[v], drawn = draw(v, next_uniform(state));
        if (drawn != before) move(v, before, drawn);
      }
      if (sweep < 0) continue;
      add_conditionals(record, sums[sweep * sums.shape(0) / record.samples]);
      const Int place = sweep * kept.shape(0) / record.samples;
      if ((sweep + 1) * kept.shape(0) / record.samples > place) kept[place].copy_from(x);
    }
    return -1;
  }

 private:
  const Scan& scan_;
  Ints cards_;
  Floats likelihoods_;
  Vector<Word> keys_;  // (neighbors' code ^ epoch) of the conditional that a slot remembers
  Array<Int, 1> states_;
  Array<Word, 1> codes_, last_;  // of the neighbors of each variable: now, and when p was looked up
  Array<double, 1> values_;      // of all tables
  Array<Int, 1> places_;         // of the row, in each table
  Array<double, 1> memory_, p_, logits_;
  Array<Int, 1> digits_;
  Word epoch_ = 0;  // another one for each evidence

  void weigh(const Parts& parts, Int v) {
    features::conditional(parts, Matrix<const Code>{x.data, {x.size(), 1}}, 0, v, logits_);
  }

  // Whether the state of each of the variables `laws` is possible given the others.
  bool is_possible(const Parts& parts, Ints laws) {
    return std::all_of(laws.begin(), laws.end(), [&](Int v) {
      weigh(parts, v);
      return logits_[x[v]] != -INF && (likelihoods_.empty() || likelihoods_[states_[v] + x[v]] != -INF);
    });
  }

  // Find the place of the row in all tables, and the codes of all neighborhoods.
  void enter_row() {
    const Scopes& scopes = scan_.scopes;
    for (Int h = 0; h < scopes.size(); ++h) {
      const Ints variables = scopes[h], strides = scopes.strides_of(h);
      places_[h] = scopes.cells[h];
      for (Int k = 0; k < variables.size(); ++k) places_[h] += strides[k] * x[variables[k]];
    }
    codes_.fill(0);
    for (Int u : scan_.free) move_children(u, x[u]);
    for (Int v : scan_.free) last_[v] = ~codes_[v];
  }

  void move_children(Int v, Word by) {
    for (Int k = scan_.child_offsets[v]; k < scan_.child_offsets[v + 1]; ++k)
      codes_[scan_.children[k]] += scan_.child_steps[k] * by;
  }

  void move(Int v, Int before, Int after) {
    x[v] = Code(after);
    for (Int k = scan_.touch_offsets[v]; k < scan_.touch_offsets[v + 1]; ++k)
      places_[scan_.touched[k]] += scan_.touch_strides[k] * (after - before);
    move_children(v, Word(after) - Word(before));
  }

  // Bring the conditional of v to p, from memory or summed up; returns whether any state is possible.
  bool look_up(Int v) {
    const Word code = last_[v] = codes_[v];
    const Int slot = scan_.shifts[v] < 0 ? Int(code) : Int((code * SPLITMIX_STEP) >> scan_.shifts[v]);
    const Int card = states_[v + 1] - states_[v], at = scan_.memory[v] + slot * card;
    const Vector<double> p = p_.part(states_[v], states_[v + 1]), remembered = memory_.part(at, at + card);
    Word& key = keys_[scan_.slots[v] + slot];
    if (key == (code ^ epoch_)) {
      for (Int s = 0; s < card; ++s) p[s] = remembered[s];
      return true;
    }
    if (!sum_up(v, p)) return false;
    for (Int s = 0; s < card; ++s) remembered[s] = p[s];
    key = code ^ epoch_;
    return true;
  }

  // Fill p with the conditional of v; returns whether any state is possible.
  bool sum_up(Int v, Vector<double> p) {
    const Vector<double> logits = logits_.part(0, p.size());
    if (scan_.plain.terms(v) > 0) weigh(scan_.plain, v);
    else logits.fill(0.0);
    for (Int k = scan_.touch_offsets[v]; k < scan_.serve_ends[v]; ++k) {
      const Int stride = scan_.touch_strides[k], cell = places_[scan_.touched[k]] - stride * x[v];
      for (Int s = 0; s < logits.size(); ++s) logits[s] += values_[cell + stride * s];
    }
    double top = -INF, total = 0.0;
    for (Int s = 0; s < logits.size(); ++s) {
      if (!likelihoods_.empty()) logits[s] += likelihoods_[states_[v] + s];
      top = std::max(top, logits[s]);
    }
    if (top == -INF) return false;
    for (Int s = 0; s < p.size(); ++s) {
      p[s] = logits[s] < top ? std::exp(logits[s] - top) : 1.0;
      total += p[s];
    }
    const double scale = 1.0 / total;
    for (double& share : p) share *= scale;
    return true;
  }

  // The state of v at a number in [0, 1).
  Int draw(Int v, double number) const {
    const Floats p = p_.part(states_[v], states_[v + 1]);
    double left = number - p[0];
    Int s = 0;
    while (left >= 0.0 && s + 1 < p.size()) left -= p[++s];
    while (p[s] == 0.0) --s;  // rounding alone leads beyond the last possible state
    return s;
  }

  void add_conditionals(const Record& record, Vector<double> sums) {
    const Ints targets = record.targets;
    if (targets.empty()) {
      for (Int k = 0; k < sums.size(); ++k) sums[k] += p_[k];
      return;
    }
    Int cell = 0;
    for (Int k = 0; k < targets.size() - 1; ++k) cell += record.strides[k] * x[targets[k]];
    const Floats p = p_.part(states_[targets.back()], states_[targets.back() + 1]);
    for (Int s = 0; s < p.size(); ++s) sums[cell + s * record.strides.back()] += p[s];
  }
};

// Run the chains first … last − 1, each of a column of `codes`: evidence, and a start or missing.
//
// `faults` gets −1, −2 where no possible start was found, or what `Chain::walk` says. A chain with the evidence of the
// one before goes on with its tables and its memory.
inline void run_chains(const Scopes& factors, Floats values, const RuleMasks& rules, const Scan& scan, const Parts& parts,
                       const Parts& relaxed, Ints laws, Int sweeps, Matrix<const Code> codes, Floats likelihoods, Ints targets,
                       Ints strides, Int burn_in, Int samples, Words seeds, Int first, Int last, Vector<Word> keys,
                       View<double, 3> sums, View<Code, 3> kept, Vector<Int> faults) {
  Chain chain(scan, parts.cards, parts.max_card(), likelihoods, keys);
  Pulse pulse;
  bool settled = false;  // whether the tables are those of the unit before
  for (Int unit = first; unit < last; ++unit) {
    Word state = seeds[unit] ^ SPLITMIX_FACTOR;
    bool same = settled;
    for (Int v = 0; v < parts.cards.size(); ++v) {
      same = same && codes(v, unit) == codes(v, unit - 1);
      chain.x[v] = codes(v, unit);
    }
    for (Int v : scan.free)
      if (chain.x[v] >= parts.cards[v]) chain.x[v] = Code(next_uniform(state) * double(parts.cards[v]));
    settled = laws.empty() || chain.find_start(parts, relaxed, laws, sweeps, state, pulse);
    if (!settled) {
      faults[unit] = -2;
      continue;
    }
    if (!same) chain.settle(factors, values, rules);
    faults[unit] = chain.walk({targets, strides, burn_in, samples}, seeds[unit], sums[unit], kept[unit], pulse);
  }
}

}  // namespace cp::inference
