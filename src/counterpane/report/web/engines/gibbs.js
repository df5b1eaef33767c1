// Estimates for dependency networks and hybrid random fields: Gibbs chains that draw the columns in their order.
//
// A bar is the mean of the column's conditional along the chains; its standard error is that between the chains.
import { ENGINES, largest, normalize, softmax, stridesOf, sum, unpack } from "./arrays.js";

const CHAINS = 32,
  BURN_IN = 40,
  LEAST_SWEEPS = 60,
  MOST_SWEEPS = 4000,
  SURE = 0.002;

// Numbers from 0 to below 1 by a seed (a xorshift of 32 bits after a multiplication).
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
    return ((x ^ (x >>> 15)) >>> 0) / 4294967296;
  };
}

class GibbsEngine {
  constructor(spec) {
    this.cards = unpack(spec.cards);
    this.spec = Object.fromEntries(
      Object.entries(spec.arrays).map(([name, packed]) => [name, unpack(packed)]),
    );
    this.at = {};
    /** @type {{ row: Int32Array, sums: Float64Array[] }[]} */
    this.chains = [];
    /** @type {number[]} */
    this.free = [];
    this.sweeps = 0;
    /** @type {{ evidence: import("../types").Evidence, next: () => number, target: any }} */
    this.run_ = { evidence: new Map(), next: randomNumbers(0), target: undefined };
    /** @type {Float64Array[] | null} */
    this.joint = null;
    let kind = 0;
    this.conditionals = Array.from(this.spec.part_counts, (count, v) =>
      Array.from({ length: count }, () =>
        [() => this.potential(v), () => this.rules(v), () => this.tree(v)][
          this.spec.kinds[kind++]
        ](),
      ),
    );
    this.logs = Array.from(this.cards, (card) => new Float64Array(card));
  }

  take(name, count) {
    const from = this.at[name] || 0;
    this.at[name] = from + count;
    return this.spec[name].subarray(from, from + count);
  }

  potential(v) {
    const scope = this.take("scopes", this.take("scope_sizes", 1)[0]),
      sizes = Array.from(scope, (u) => this.cards[u]);
    const strides = stridesOf(sizes),
      values = this.take(
        "log_values",
        sizes.reduce((a, b) => a * b, 1),
      );
    const own = scope.indexOf(v),
      step = own < 0 ? 0 : strides[own];
    return (row, logs) => {
      let from = 0;
      for (let a = 0; a < scope.length; a++) if (a !== own) from += row[scope[a]] * strides[a];
      for (let s = 0; s < logs.length; s++) logs[s] += values[from + s * step];
    };
  }

  rules(v) {
    const count = this.take("rule_counts", 1)[0],
      sizes = this.take("rule_sizes", count),
      weights = this.take("rule_weights", count);
    const rules = Array.from(sizes, (size, r) => {
      const variables = this.take("rule_variables", size),
        values = this.take("rule_values", size),
        negated = this.take("rule_negated", size);
      return { variables, values, negated, weight: weights[r] };
    });
    return (row, logs) => {
      for (const { variables, values, negated, weight } of rules) {
        let holds = true;
        for (let k = 0; holds && k < variables.length; k++)
          if (variables[k] !== v) holds = (row[variables[k]] === values[k]) !== Boolean(negated[k]);
        if (!holds) continue;
        for (let s = 0; s < logs.length; s++) {
          let here = true;
          for (let k = 0; here && k < variables.length; k++)
            if (variables[k] === v) here = (s === values[k]) !== Boolean(negated[k]);
          if (here) logs[s] += weight;
        }
      }
    };
  }

  tree(v) {
    const size = this.take("tree_sizes", 1)[0],
      nodes = this.take("tree_nodes", 4 * size),
      card = this.cards[v];
    const leaf = new Int32Array(size);
    let leaves = 0;
    for (let k = 0; k < size; k++) if (nodes[4 * k] < 0) leaf[k] = leaves++;
    const values = this.take("leaf_values", leaves * card);
    return (row, logs) => {
      let k = 0;
      while (nodes[4 * k] >= 0) k = nodes[4 * k + (row[nodes[4 * k]] === nodes[4 * k + 1] ? 2 : 3)];
      for (let s = 0; s < card; s++) logs[s] += values[leaf[k] * card + s];
    };
  }

  // P(v | the rest of the row, evidence); false where no state is possible.
  conditional(v, row, evidence) {
    const logs = this.logs[v].fill(0);
    for (const part of this.conditionals[v]) part(row, logs);
    const told = evidence.get(v);
    if (told) for (let s = 0; s < logs.length; s++) logs[s] += Math.log(told.weights[s]);
    softmax(logs);
    return sum(logs) > 0;
  }

  begin(evidence, target) {
    const next = randomNumbers(12345),
      states = (v) => (evidence.has(v) ? evidence.get(v).weights : null);
    this.chains = Array.from({ length: CHAINS }, () => {
      const row = Int32Array.from(this.cards, (card, v) => {
        const weights = states(v);
        let s = Math.floor(next() * card);
        if (weights) while (!(weights[s] > 0)) s = (s + 1) % card;
        return s;
      });
      return { row, sums: Array.from(this.cards, (card) => new Float64Array(card)) };
    });
    this.free = Array.from(this.cards.keys()).filter(
      (v) => !(evidence.has(v) && evidence.get(v).state >= 0),
    );
    this.sweeps = 0;
    this.run_ = { evidence, next, target };
    this.joint =
      target === undefined
        ? null
        : Array.from(this.cards, (card) => new Float64Array(card * this.cards[target]));
    for (let k = 0; k < BURN_IN; k++) this.sweep(false);
  }

  sweep(counted) {
    const { evidence, next, target } = this.run_;
    for (const { row, sums } of this.chains) {
      for (const v of this.free) {
        if (!this.conditional(v, row, evidence)) continue;
        const p = this.logs[v];
        let left = next(),
          s = 0;
        while (s < p.length - 1 && left >= p[s]) left -= p[s++];
        while (!(p[s] > 0) && s > 0) s--;
        row[v] = s;
        if (counted) for (let k = 0; k < p.length; k++) sums[v][k] += p[k];
      }
      if (counted && this.joint) {
        this.conditional(target, row, evidence);
        const p = this.logs[target];
        this.joint.forEach((table, v) => {
          for (let t = 0; t < p.length; t++)
            table[t * this.cards[v] + (v === target ? t : row[v])] += p[t];
        });
      }
    }
    if (counted) this.sweeps++;
  }

  result() {
    const { evidence } = this.run_,
      marginals = [],
      errors = [];
    for (let v = 0; v < this.cards.length; v++) {
      const mean = new Float64Array(this.cards[v]),
        error = new Float64Array(this.cards[v]);
      marginals.push(mean);
      errors.push(error);
      const told = evidence.get(v);
      if (told && told.state >= 0) {
        mean[told.state] = 1;
        continue;
      }
      for (let s = 0; s < mean.length; s++) {
        const means = this.chains.map(({ sums }) => sums[v][s] / this.sweeps);
        mean[s] = sum(means) / CHAINS;
        error[s] = Math.sqrt(sum(means.map((x) => (x - mean[s]) ** 2)) / CHAINS / (CHAINS - 1));
      }
      normalize(mean);
    }
    const worst = Math.max(...errors.map((e) => largest(e)));
    return {
      marginals,
      errors,
      worst,
      logEvidence: null,
      done: worst < SURE || this.sweeps >= MOST_SWEEPS,
    };
  }

  run(evidence) {
    this.begin(evidence);
    for (let k = 0; k < LEAST_SWEEPS; k++) this.sweep(true);
    return this.result();
  }

  // Go on for some milliseconds.
  more(milliseconds) {
    const end = performance.now() + milliseconds;
    do this.sweep(true);
    while (performance.now() < end && this.sweeps < MOST_SWEEPS);
    return this.result();
  }

  pairs(evidence, target, milliseconds = 250) {
    this.begin(evidence, target);
    const end = performance.now() + milliseconds;
    do this.sweep(true);
    while (performance.now() < end && this.sweeps < MOST_SWEEPS);
    const tables = this.joint || [];
    tables.forEach(normalize);
    return { tables, now: this.result() };
  }
}
ENGINES.gibbs = GibbsEngine;
