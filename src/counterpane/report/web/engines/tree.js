// Exact answers by messages in a clique tree, which was planned in Python.
//
// Evidence is a Map from a variable to { weights, state, cut }: the weight of each state, the state if there is one
// alone (else −1), and whether the variable was set from outside, so that its parents do not bear on it (do).
import {
  ENGINES,
  cellMap,
  largest,
  normalize,
  parts,
  softmax,
  stridesOf,
  sum,
  unpack,
} from "./arrays.js";

class TreeEngine {
  constructor(spec) {
    this.cards = unpack(spec.cards);
    /** @type {import("../types").Clique[]} */
    this.cliques = [];
    /** @type {number[]} the clique in which each variable's marginal is read */
    this.homes = [];
    /** @type {number[]} */
    this.homeStrides = [];
    /** @type {number[][]} */
    this.ofClique = [];
    this.factors = this.readFactors(spec);
    this.readCliques(spec);
    this.cuts = "";
    for (let k = 0; k < this.cliques.length; k++) this.multiply(k, new Set());
    this.logZero = spec.normalized ? 0 : this.propagate(new Map(), false).logWeight;
  }

  readFactors(spec) {
    const scopes = parts(unpack(spec.scopes), unpack(spec.scopeFrom)),
      owners = unpack(spec.owners);
    const values = unpack(spec.values),
      ofChild = spec.children ? unpack(spec.children) : null;
    let from = 0;
    return scopes.map((scope, f) => {
      const size = scope.reduce((n, v) => n * this.cards[v], 1);
      /** @type {import("../types").Factor} */
      const factor = {
        map: new Int32Array(0),
        scope,
        owner: owners[f],
        child: ofChild ? ofChild[f] : -1,
        values: values.subarray(from, from + size),
        scale: 0,
      };
      from += size;
      if (spec.logs) {
        // potentials come as logs; their peaks are kept aside
        const peak = largest(factor.values);
        factor.logs = factor.values;
        factor.scale = peak === -Infinity ? 0 : peak;
        factor.values = factor.values.map((x) => Math.exp(x - factor.scale));
      }
      return factor;
    });
  }

  // A clique's axes are its new variables, then those that it shares with its parent, in the parent's order.
  readCliques(spec) {
    const scopes = parts(unpack(spec.cliques), unpack(spec.cliqueFrom)),
      parents = unpack(spec.parents);
    this.cliques = scopes.map((scope, k) => {
      const sizes = Array.from(scope, (v) => this.cards[v]),
        strides = stridesOf(sizes);
      const none = new Float64Array(0);
      return {
        base: none,
        work: none,
        up: none,
        down: none,
        separator: 1,
        toSeparator: new Int32Array(0),
        scope,
        parent: parents[k],
        sizes,
        strides,
        size: sizes.reduce((a, b) => a * b, 1),
        factors: [],
      };
    });
    const place = (clique, v) => clique.strides[clique.scope.indexOf(v)];
    this.cliques.forEach((clique) => {
      clique.base = new Float64Array(clique.size);
      clique.work = new Float64Array(clique.size);
      if (clique.parent < 0) return;
      const up = this.cliques[clique.parent],
        inParent = new Set(up.scope);
      const shared = Array.from(clique.scope).filter((v) => inParent.has(v));
      const strides = stridesOf(shared.map((v) => this.cards[v]));
      clique.separator = shared.reduce((n, v) => n * this.cards[v], 1);
      clique.toSeparator = cellMap(up.scope, this.cards, (v) =>
        shared.includes(v) ? strides[shared.indexOf(v)] : 0,
      );
      clique.up = new Float64Array(clique.separator);
      clique.down = new Float64Array(clique.separator);
    });
    this.factors.forEach((factor) => {
      const clique = this.cliques[factor.owner],
        strides = stridesOf(Array.from(factor.scope, (v) => this.cards[v]));
      factor.map = cellMap(clique.scope, this.cards, (v) =>
        factor.scope.includes(v) ? strides[factor.scope.indexOf(v)] : 0,
      );
      clique.factors.push(factor);
    });
    this.homes = Array.from(this.cards, (_, v) =>
      this.cliques.reduce(
        (best, clique, k) =>
          clique.scope.includes(v) && (best < 0 || clique.size < this.cliques[best].size)
            ? k
            : best,
        -1,
      ),
    );
    this.homeStrides = this.homes.map((k, v) => (k < 0 ? 0 : place(this.cliques[k], v)));
    this.ofClique = this.cliques.map(() => []);
    this.homes.forEach((k, v) => {
      if (k >= 0) this.ofClique[k].push(v);
    });
  }

  // The product of a clique's factors, without those of variables that were set from outside.
  multiply(k, cut) {
    const clique = this.cliques[k],
      base = clique.base.fill(1);
    for (const { child, values, map } of clique.factors)
      if (!cut.has(child)) for (let i = 0; i < base.length; i++) base[i] *= values[map[i]];
  }

  // The same in logs with the evidence, and then relative to the largest: for products that are too small otherwise.
  multiplyLogs(k, cut, evidence) {
    const clique = this.cliques[k],
      work = clique.work.fill(0);
    for (const { child, values, logs, scale, map } of clique.factors)
      if (!cut.has(child))
        for (let i = 0; i < work.length; i++)
          work[i] += logs ? logs[map[i]] - scale : Math.log(values[map[i]]);
    for (const v of this.ofClique[k])
      if (evidence.has(v))
        this.eachState(k, v, (i, state) => {
          work[i] += Math.log(evidence.get(v).weights[state]);
        });
    const most = largest(work);
    if (most === -Infinity) return -Infinity;
    for (let i = 0; i < work.length; i++) work[i] = Math.exp(work[i] - most);
    return most;
  }

  eachState(k, v, visit) {
    const { size } = this.cliques[k],
      stride = this.homeStrides[v],
      card = this.cards[v];
    for (let i = 0, state = 0, left = stride; i < size; i++) {
      visit(i, state);
      if (--left === 0) {
        left = stride;
        if (++state === card) state = 0;
      }
    }
  }

  cut(evidence) {
    const cut = new Set([...evidence].filter(([, e]) => e.cut).map(([v]) => v)),
      key = [...cut].sort((a, b) => a - b).join();
    if (key !== this.cuts) {
      const before = new Set(this.cuts.split(",").filter(Boolean).map(Number));
      this.cuts = key;
      const changed = new Set(
        this.factors.filter((f) => cut.has(f.child) !== before.has(f.child)).map((f) => f.owner),
      );
      for (const k of changed) this.multiply(k, cut);
    }
    return cut;
  }

  fill(evidence) {
    this.cliques.forEach((clique, k) => {
      const { work } = clique;
      work.set(clique.base);
      for (const v of this.ofClique[k]) {
        if (!evidence.has(v)) continue;
        const { weights } = evidence.get(v);
        this.eachState(k, v, (i, state) => {
          work[i] *= weights[state];
        });
      }
    });
    return 0;
  }

  // Messages to the root, sums or maxima; the log of the weight of the evidence, or of its best row.
  collect(max) {
    let logWeight = 0;
    for (let k = this.cliques.length - 1; k > 0; k--) {
      const { work, up, separator, parent, toSeparator } = this.cliques[k];
      up.fill(0);
      for (let i = 0; i < work.length; i += separator)
        for (let s = 0; s < separator; s++) {
          if (!max) up[s] += work[i + s];
          else if (work[i + s] > up[s]) up[s] = work[i + s];
        }
      const most = largest(up);
      if (!(most > 0)) return -Infinity;
      for (let s = 0; s < separator; s++) up[s] /= most;
      logWeight += Math.log(most);
      const above = this.cliques[parent].work;
      for (let i = 0; i < above.length; i++) above[i] *= up[toSeparator[i]];
    }
    const root = this.cliques[0].work,
      total = max ? largest(root) : sum(root);
    if (!(total > 0)) return -Infinity;
    for (let i = 0; i < root.length; i++) root[i] /= total;
    return logWeight + Math.log(total);
  }

  distribute() {
    for (let k = 1; k < this.cliques.length; k++) {
      const { work, up, down, separator, parent, toSeparator } = this.cliques[k],
        above = this.cliques[parent].work;
      down.fill(0);
      for (let i = 0; i < above.length; i++) down[toSeparator[i]] += above[i];
      for (let s = 0; s < separator; s++) down[s] = up[s] > 0 ? down[s] / up[s] : 0;
      for (let i = 0; i < work.length; i += separator)
        for (let s = 0; s < separator; s++) work[i + s] *= down[s];
    }
  }

  propagate(evidence, max) {
    const cut = this.cut(evidence);
    const scale = this.factors.reduce((total, f) => total + (cut.has(f.child) ? 0 : f.scale), 0);
    this.fill(evidence);
    let logWeight = this.collect(max);
    if (logWeight === -Infinity) {
      // impossible, or too small to be told from zero: once more in logs
      const peaks = this.cliques.reduce(
        (total, _, k) => total + this.multiplyLogs(k, cut, evidence),
        0,
      );
      logWeight = peaks === -Infinity ? -Infinity : peaks + this.collect(max);
    }
    return { logWeight: logWeight + scale, possible: logWeight > -Infinity };
  }

  marginal(v) {
    const out = new Float64Array(this.cards[v]),
      { work } = this.cliques[this.homes[v]];
    this.eachState(this.homes[v], v, (i, state) => {
      out[state] += work[i];
    });
    normalize(out);
    return out;
  }

  // All marginals and ln P(evidence); null where the evidence is impossible.
  run(evidence) {
    const { logWeight, possible } = this.propagate(evidence, false);
    if (!possible) return null;
    this.distribute();
    return {
      marginals: Array.from(this.cards, (_, v) => this.marginal(v)),
      logEvidence: logWeight - this.logZero,
    };
  }

  // The most probable row given the evidence, and ln P(row); null where the evidence is impossible.
  best(evidence) {
    const { logWeight, possible } = this.propagate(evidence, true);
    if (!possible) return null;
    const row = new Int32Array(this.cards.length).fill(-1);
    for (const { scope, strides, sizes, work } of this.cliques) {
      let from = 0;
      scope.forEach((v, a) => {
        if (row[v] >= 0) from += row[v] * strides[a];
      });
      const open = Array.from(scope.keys()).filter((a) => row[scope[a]] < 0);
      let most = -1,
        at = from;
      const count = open.reduce((n, a) => n * sizes[a], 1);
      for (let n = 0; n < count; n++) {
        let cell = from,
          rest = n;
        for (let j = open.length - 1; j >= 0; j--) {
          cell += (rest % sizes[open[j]]) * strides[open[j]];
          rest = Math.floor(rest / sizes[open[j]]);
        }
        if (work[cell] > most) {
          most = work[cell];
          at = cell;
        }
      }
      for (const a of open) row[scope[a]] = Math.floor(at / strides[a]) % sizes[a];
    }
    return { row, logProbability: logWeight - this.logZero };
  }

  // P(target = t, v = s | evidence) of each v as a flat table, t slowest: one run for each state of the target.
  pairs(evidence, target) {
    const now = this.run(evidence);
    if (!now) return null;
    const tables = Array.from(this.cards, (card) => new Float64Array(this.cards[target] * card));
    const given = evidence.get(target);
    for (let t = 0; t < this.cards[target]; t++) {
      const share = now.marginals[target][t];
      if (!(share > 0)) continue;
      const weights = new Float64Array(this.cards[target]);
      weights[t] = given ? given.weights[t] : 1;
      const then = this.run(
        new Map([...evidence, [target, { weights, state: t, cut: Boolean(given && given.cut) }]]),
      );
      if (then)
        then.marginals.forEach((m, v) =>
          m.forEach((p, s) => {
            tables[v][t * m.length + s] = share * p;
          }),
        );
    }
    return { tables, now };
  }
}

// A weighted sum of engines: evidence moves the weights to those that expect it, unless they are fixed.
class MixtureEngine {
  constructor(spec) {
    this.engines = spec.parts.map((part) => new TreeEngine(part));
    this.weights = unpack(spec.weights);
    this.fixed = Boolean(spec.fixed);
    this.cards = this.engines[0].cards;
  }

  shares(runs) {
    const logs = Float64Array.from(runs, (run, m) =>
      run ? Math.log(this.weights[m]) + (this.fixed ? 0 : run.logEvidence) : -Infinity,
    );
    return softmax(logs);
  }

  logEvidence(runs) {
    const logs = runs.map((run, m) =>
        run ? Math.log(this.weights[m]) + run.logEvidence : -Infinity,
      ),
      most = largest(logs);
    return most + Math.log(sum(logs.map((x) => Math.exp(x - most))));
  }

  blend(runs, shares) {
    const marginals = Array.from(this.cards, (card) => new Float64Array(card));
    runs.forEach((run, m) => {
      if (run)
        run.marginals.forEach((p, v) =>
          p.forEach((x, s) => {
            marginals[v][s] += shares[m] * x;
          }),
        );
    });
    return { marginals, logEvidence: this.logEvidence(runs) };
  }

  run(evidence) {
    const runs = this.engines.map((engine) => engine.run(evidence));
    return runs.some(Boolean) ? this.blend(runs, this.shares(runs)) : null;
  }

  pairs(evidence, target) {
    const each = this.engines.map((engine) => engine.pairs(evidence, target)),
      runs = each.map((e) => e && e.now);
    if (!runs.some(Boolean)) return null;
    const shares = this.shares(runs),
      tables = Array.from(this.cards, (card) => new Float64Array(this.cards[target] * card));
    each.forEach((e, m) => {
      if (e)
        e.tables.forEach((table, v) =>
          table.forEach((p, i) => {
            tables[v][i] += shares[m] * p;
          }),
        );
    });
    return { tables, now: this.blend(runs, shares) };
  }
}
Object.assign(ENGINES, { tree: TreeEngine, mixture: MixtureEngine });
