// Answers of classifiers: P(class | evidence) as a mean over the training rows that fit the evidence.
//
// Where the rows that fit weigh less than m rows, the nearest rows make up for the difference, with the evidence put
// in; m is chosen for each set of columns by leaving out rows. The same sums as counterpane.models.row_average.
import { ENGINES, largest, normalize, sum, unpack } from "./arrays.js";
import { AdditivePredictor, AveragePredictor } from "./classifiers.js";

const ENOUGH = [2.5, 5, 10, 20, 40, 80],
  LEFT_OUT = 128,
  NEAREST = 128,
  CANDIDATES = 4096,
  HALVINGS = 60,
  PRECISE = 1e-11,
  TINY = 1e-12,
  ROUNDING = 1e-9;

class RowEngine {
  constructor(spec) {
    this.cards = unpack(spec.cards); // the class is last
    this.predictor =
      spec.predictor.kind === "additive"
        ? new AdditivePredictor(spec.predictor)
        : new AveragePredictor(spec.predictor);
    this.codes = spec.codes.map(unpack); // by feature
    this.numeric = unpack(spec.numeric);
    this.values = spec.values.map(unpack); // value numbers by column of numbers
    this.ranks = spec.ranks.map(unpack); // of each row
    this.typical = spec.typical.map(unpack); // value number that is put in for each state
    this.copies = unpack(spec.copies);
    this.shares = spec.shares.map(unpack);
    this.size = this.copies.length;
    this.classes = this.cards[this.cards.length - 1];
    this.enough = new Map();
    this.row = {
      codes: new Int32Array(this.codes.length),
      values: new Int32Array(this.numeric.length),
    };
    /** @type {any[]} */
    this.known = Array.from({ length: this.size }, () => null); // P(class | row) of rows as they are
  }

  read(i) {
    for (let c = 0; c < this.codes.length; c++) this.row.codes[c] = this.codes[c][i];
    for (let a = 0; a < this.numeric.length; a++) this.row.values[a] = this.values[a][i];
    return this.row;
  }

  ofRow(i) {
    if (!this.known[i])
      this.known[i] = this.predictor.probabilities(this.read(i), new Float64Array(this.classes));
    return this.known[i];
  }

  // One piece of evidence as what is compared and put in: a state, or a weight for each state.
  items(evidence) {
    return [...evidence]
      .sort((a, b) => a[0] - b[0])
      .map(([c, { weights, state }]) => {
        const shares = this.shares[c];
        let best = 0;
        for (let s = 1; s < weights.length; s++)
          if (weights[s] * (shares[s] + 1e-9) > weights[best] * (shares[best] + 1e-9)) best = s;
        return {
          c,
          a: this.numeric.indexOf(c),
          state: state >= 0 ? state : best,
          weights: state >= 0 ? null : weights,
          most: largest(weights),
        };
      });
  }

  distance(item, i) {
    const code = this.codes[item.c][i];
    if (item.weights) return item.weights[code] === 0 ? 1 : 0;
    if (item.rank === undefined || Number.isNaN(item.rank) || Number.isNaN(this.ranks[item.a][i]))
      return code === item.state ? 0 : 1;
    return Math.abs(Math.fround(item.rank - this.ranks[item.a][i]));
  }

  fits(item, i) {
    if (item.value !== undefined) return this.values[item.a][i] === item.value ? 1 : 0;
    const code = this.codes[item.c][i];
    return item.weights ? item.weights[code] / item.most : code === item.state ? 1 : 0;
  }

  // The nearest candidates that do not fit, by distance and then by place.
  nearest(items) {
    const n = Math.min(CANDIDATES, this.size),
      steps = Math.floor(2 ** 31 / CANDIDATES) - 2,
      shift = 11; // steps are below 2^19
    const factor = Math.fround(steps / Math.max(items.length, 1)),
      far = new Float32Array(n),
      keys = new Int32Array(n),
      often = new Int32Array(257);
    for (const item of items) for (let i = 0; i < n; i++) far[i] += this.distance(item, i);
    for (let i = 0; i < n; i++) {
      keys[i] = far[i] === 0 ? steps + 1 : Math.trunc(Math.fround(far[i] * factor));
      often[keys[i] >> shift]++;
    }
    let limit = 0; // only those up to the limit are put in order
    for (let below = often[0]; below < NEAREST && limit < 256;) below += often[++limit];
    const some = [];
    for (let i = 0; i < n; i++) if (keys[i] >> shift <= limit) some.push(keys[i] * CANDIDATES + i);
    const rows = Float64Array.from(some)
      .sort()
      .subarray(0, Math.min(NEAREST, n))
      .map((key) => key % CANDIDATES);
    return {
      rows,
      distance: rows.map((i) => far[i]),
      copies: rows.map((i) => (far[i] === 0 ? 0 : this.copies[i])),
    };
  }

  // copies × exp(−distance / h), h such that they sum to what is lacking: Newton's steps for ln h between bounds.
  nearWeights({ distance, copies }, lacking) {
    const n = distance.length,
      weights = new Float64Array(n);
    if (lacking <= 0) return weights;
    let low = -30,
      high = 30,
      x = sum(copies) > lacking ? Math.log(0.1 + largest(distance) / 4) : high;
    for (let step = 0; step < HALVINGS && high - low > PRECISE; step++) {
      const h = Math.exp(x);
      let total = 0,
        slope = 0;
      for (let k = 0; k < n; k++) {
        if (!copies[k]) continue;
        const part = copies[k] * Math.exp(-distance[k] / h);
        total += part;
        slope += (part * distance[k]) / h;
      }
      if (total < lacking) low = x;
      else high = x;
      const next = x + (lacking - total) / slope;
      if (Math.abs(next - x) < PRECISE) {
        high = next;
        break;
      }
      x = next > low && next < high ? next : (low + high) / 2;
    }
    for (let k = 0; k < n; k++) weights[k] = copies[k] * Math.exp(-distance[k] / Math.exp(high));
    const least = 1e-4 * largest(weights);
    return weights.map((w) => (w < least ? 0 : w));
  }

  // P(class | row i with the evidence put in); this.row holds the row then.
  putIn(items, i) {
    const row = this.read(i);
    for (const { c, a, state, weights, value } of items) {
      const fits = weights ? weights[row.codes[c]] > 0 : row.codes[c] === state;
      if (!fits) row.codes[c] = state;
      if (a >= 0)
        row.values[a] = value !== undefined ? value : fits ? row.values[a] : this.typical[a][state];
    }
    return this.predictor.probabilities(row, new Float64Array(this.classes));
  }

  // How many rows an average needs, by the cross-entropy of some rows that are left out.
  needed(columns) {
    const key = columns.join();
    if (!this.enough.has(key)) {
      const losses = this.losses(columns),
        least = Math.min(...losses);
      this.enough.set(
        key,
        ENOUGH[losses.findIndex((loss) => loss <= least + ROUNDING * Math.abs(least))],
      );
    }
    return this.enough.get(key);
  }

  losses(columns) {
    const { classes } = this,
      losses = ENOUGH.map(() => 0),
      size = Math.min(LEFT_OUT, this.size);
    const tasks = Array.from({ length: size }, (_, e) => this.leftOut(columns, e));
    const made = this.predictor
      .mixer(columns, Math.min(CANDIDATES, this.size), (i) => this.read(i))
      .probabilities(tasks);
    tasks.forEach(({ e, truth, sums, mass, each }, n) =>
      each.forEach((weights, m) => {
        const total = Math.max(mass + sum(weights), TINY);
        for (let t = 0; t < classes; t++) {
          let part = sums[t];
          for (let k = 0; k < weights.length; k++) part += weights[k] * made[n][k * classes + t];
          losses[m] -= truth[t] * Math.log(Math.max(part / total, TINY)) * this.copies[e];
        }
      }),
    );
    return losses;
  }

  // Row e as if only these columns of it were known: the sums over other rows that agree with it, and the weights of the
  // nearest rows for each number of rows that may be enough.
  leftOut(columns, e) {
    const items = columns.map((c) => {
      const a = this.numeric.indexOf(c),
        item = { c, a, state: this.codes[c][e], weights: null };
      return a < 0 ? item : { ...item, value: this.values[a][e], rank: this.ranks[a][e] };
    });
    const truth = this.ofRow(e),
      sums = new Float64Array(this.classes),
      leftOut = Math.min(this.copies[e], 1);
    let mass = 0;
    for (let i = 0; i < this.size; i++) {
      let fits = true;
      for (let k = 0; fits && k < items.length; k++) fits = this.fits(items[k], i) > 0;
      if (!fits) continue;
      const p = this.ofRow(i);
      mass += this.copies[i];
      for (let t = 0; t < this.classes; t++) sums[t] += this.copies[i] * p[t];
    }
    mass = Math.max(mass - leftOut, 0);
    for (let t = 0; t < this.classes; t++) sums[t] -= leftOut * truth[t];
    const near = this.nearest(items),
      weights = ENOUGH.map((m) => this.nearWeights(near, Math.max(m - mass, 0)));
    const used = Array.from(near.rows.keys()).filter((k) => weights.some((w) => w[k] > 0));
    return {
      e,
      truth,
      sums,
      mass,
      rows: Int32Array.from(used, (k) => near.rows[k]),
      each: weights.map((w) => Float64Array.from(used, (k) => w[k])),
    };
  }

  // Visit the rows of the average: their weight, P(class | row), and the codes with the evidence put in.
  eachRow(evidence, visit) {
    const items = this.items(evidence);
    let mass = 0;
    for (let i = 0; i < this.size; i++) {
      let weight = this.copies[i];
      for (const item of items) weight *= this.fits(item, i);
      if (!(weight > 0)) continue;
      mass += weight;
      visit(weight, this.ofRow(i), this.read(i).codes, true);
    }
    const enough = mass < ENOUGH[ENOUGH.length - 1] ? this.needed(items.map((item) => item.c)) : 0;
    if (mass >= enough) return { fitting: mass, looser: false };
    const near = this.nearest(items),
      weights = this.nearWeights(near, enough - mass);
    weights.forEach((weight, k) => {
      if (weight > 0) visit(weight, this.putIn(items, near.rows[k]), this.row.codes, false);
    });
    return { fitting: mass, looser: true };
  }

  tables(evidence, fill) {
    const last = this.cards.length - 1,
      marginals = Array.from(this.cards, (card) => new Float64Array(card));
    const basis = this.eachRow(evidence, (weight, p, codes) => {
      for (let c = 0; c < last; c++) marginals[c][codes[c]] += weight;
      for (let t = 0; t < this.classes; t++) marginals[last][t] += weight * p[t];
      if (fill) fill(weight, p, codes);
    });
    marginals.forEach(normalize);
    return { marginals, logEvidence: null, basis };
  }

  run(evidence) {
    return this.tables(evidence, null);
  }

  pairs(evidence, target) {
    if (target !== this.cards.length - 1) return null;
    const tables = Array.from(this.cards, (card) => new Float64Array(this.classes * card));
    const now = this.tables(evidence, (weight, p, codes) => {
      for (let c = 0; c < codes.length; c++)
        for (let t = 0; t < this.classes; t++)
          tables[c][t * this.cards[c] + codes[c]] += weight * p[t];
    });
    tables.forEach(normalize);
    return { tables, now };
  }
}
ENGINES.rows = RowEngine;
