// P(class | row) of classifiers: sums of tables and of boosted trees, or a weighted mean of products of tables.
//
// A row has a code for each feature, and a value number for each column of numbers: its place in the list of the
// numbers that the page may meet. What a number does to a model was tabulated over this list in Python.
//
// A member is a sum of parts. A part has the columns that it reads of the member's coded row, and a row of values, one
// for each class, for each of its cells; a cell without values adds nothing.
import { largest, parts, softmax, stridesOf, sum, unpack } from "./arrays.js";

const OPEN = -2; // the place of a cell that was not read yet; −1: there is none

// Adds the values of a cell to out.
function addCell(part, cell, out, share) {
  const at = cell < 0 ? -1 : part.place(cell),
    { values } = part;
  if (at >= 0) for (let t = 0, n = out.length; t < n; t++) out[t] += share * values[at * n + t];
}

class FacePart {
  constructor(columns, cards, keys, values) {
    this.cards = columns.map((c) => cards[c]);
    this.strides = stridesOf(this.cards);
    const size = this.cards.reduce((a, b) => a * b, 1);
    this.columns = columns;
    this.keys = keys;
    this.values = values;
    /** @type {Int32Array | null} */
    this.places = null;
    if (size <= 65536) {
      const places = new Int32Array(size).fill(-1);
      keys.forEach((key, k) => {
        places[key] = k;
      });
      this.places = places;
    }
  }

  // What a code adds to the number of the cell, or −1 where there is no such cell.
  step(a, code) {
    return code < this.cards[a] ? code * this.strides[a] : -1;
  }

  place(cell) {
    if (this.places) return this.places[cell];
    let low = 0,
      high = this.keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.keys[middle] < cell) low = middle + 1;
      else high = middle;
    }
    return low < this.keys.length && this.keys[low] === cell ? low : -1;
  }
}

class FaceMember {
  constructor(spec, classes) {
    this.constant = unpack(spec.constant);
    this.bins = spec.bins.map(unpack); // state of each value number, by column of numbers
    const cards = unpack(spec.cards),
      keyFrom = unpack(spec.keyFrom),
      values = unpack(spec.values);
    const keys = parts(unpack(spec.keys), keyFrom),
      faces = parts(unpack(spec.faces), unpack(spec.faceFrom));
    this.parts = faces.map(
      (face, f) =>
        new FacePart(
          Array.from(face),
          cards,
          keys[f],
          values.subarray(keyFrom[f] * classes, keyFrom[f + 1] * classes),
        ),
    );
    this.features = Array.from(cards.keys());
  }

  code(row, numeric, coded) {
    coded.set(row.codes);
    for (let a = 0; a < numeric.length; a++) coded[numeric[a]] = this.bins[a][row.values[a]];
  }
}

// Trees over the same columns as one table, which is filled where it is read. A cell is a bin of each column, where bins
// between which no tree distinguishes are one.
class TreePart {
  constructor(member, columns, trees) {
    this.member = member;
    this.columns = columns;
    this.trees = trees;
    this.count = 0; // cells that were read
    this.segments = columns.map((j) => this.segmentsOf(j)); // of each bin
    this.bins = this.segments.map((of) =>
      Array.from({ length: largest(of) + 1 }, (_, s) => of.indexOf(s)),
    );
    this.strides = stridesOf(this.bins.map((bins) => bins.length));
    this.places = new Int32Array(this.bins.reduce((n, bins) => n * bins.length, 1)).fill(OPEN);
    this.values = new Float64Array(64 * member.classes);
  }

  segmentsOf(j) {
    const { column, treeFrom } = this.member,
      of = new Uint8Array(this.member.binCounts[j]);
    for (const t of this.trees)
      for (let node = treeFrom[t]; node < treeFrom[t + 1]; node++) {
        if (column[node] !== j) continue;
        const seen = new Map(); // (segment, side): new segment
        for (let bin = 0; bin < of.length; bin++) {
          const key = 2 * of[bin] + this.member.side(node, bin);
          if (!seen.has(key)) seen.set(key, seen.size);
          of[bin] = seen.get(key);
        }
        if (seen.size === of.length) return of;
      }
    return of;
  }

  step(a, bin) {
    return this.segments[a][bin] * this.strides[a];
  }

  place(cell) {
    if (this.places[cell] >= 0) return this.places[cell];
    const { classes, scores, bins } = this.member,
      from = this.count * classes;
    this.columns.forEach((j, a) => {
      bins[j] = this.bins[a][Math.floor(cell / this.strides[a]) % this.bins[a].length];
    });
    if (from + classes > this.values.length) {
      const more = new Float64Array(2 * this.values.length);
      more.set(this.values);
      this.values = more;
    }
    for (const t of this.trees) {
      const leaf = this.member.leaf(t);
      if (scores === classes) for (let s = 0; s < scores; s++) this.values[from + s] += leaf[s];
      else {
        // one score is the log-odds of the second of two classes
        this.values[from] -= 0.5 * leaf[0];
        this.values[from + 1] += 0.5 * leaf[0];
      }
    }
    return (this.places[cell] = this.count++);
  }
}

const MOST_CELLS = 16384; // of the table of some trees

class BoostedMember {
  constructor(spec, classes) {
    this.constant = unpack(spec.constant);
    this.features = Array.from(unpack(spec.columns));
    this.numbers = unpack(spec.numbers); // place among the columns of numbers, or −1
    this.binsOf = spec.bins.map(unpack); // of each value number, or of each state
    this.binCounts = this.binsOf.map((bins) => Math.max(0, largest(bins)) + 1);
    this.scores = spec.scores;
    // By node, tree after tree: its column (their number in a leaf), its first child within the tree or its leaf, and
    // the place among `sets` of the bins that go to the first child.
    this.treeFrom = unpack(spec.treeFrom);
    this.column = unpack(spec.column);
    this.child = unpack(spec.child);
    this.which = unpack(spec.which);
    this.sets = unpack(spec.sets);
    this.leafValues = unpack(spec.leafValues);
    this.bins = new Uint8Array(this.features.length);
    this.classes = classes;
    this.parts = this.grouped();
  }

  grouped() {
    const groups = new Map(),
      made = [];
    for (let t = 0; t < this.treeFrom.length - 1; t++) {
      const splits = this.column
        .subarray(this.treeFrom[t], this.treeFrom[t + 1])
        .filter((j) => j < this.features.length);
      const columns = [...new Set(splits)].sort((a, b) => a - b),
        key = columns.join();
      let group = groups.get(key);
      const more = columns.map((j) => splits.reduce((n, x) => n + (x === j ? 1 : 0), 0));
      if (!group || group.splits.reduce((n, s, a) => n * (s + more[a]), 1) > MOST_CELLS) {
        group = { columns, trees: [], splits: columns.map(() => 1) };
        groups.set(key, group);
        made.push(group);
      }
      group.trees.push(t);
      more.forEach((n, a) => {
        group.splits[a] += n;
      });
    }
    return made.map(({ columns, trees }) => new TreePart(this, columns, trees));
  }

  side(node, bin) {
    // 0: the first child
    return (this.sets[this.which[node] * 8 + (bin >> 5)] >>> (bin & 31)) & 1 ? 0 : 1;
  }

  leaf(t) {
    const root = this.treeFrom[t];
    let node = root;
    while (this.column[node] < this.features.length)
      node = root + this.child[node] + this.side(node, this.bins[this.column[node]]);
    const from = ((root + t) / 2 + this.child[node]) * this.scores; // a tree of n nodes has (n + 1) / 2 leaves
    return this.leafValues.subarray(from, from + this.scores);
  }

  code(row, numeric, coded) {
    for (let j = 0; j < this.features.length; j++) {
      const bins = this.binsOf[j],
        at = this.numbers[j] >= 0 ? row.values[this.numbers[j]] : row.codes[this.features[j]];
      coded[j] = at < bins.length ? bins[at] : 0;
    }
  }
}

export class AdditivePredictor {
  constructor(spec) {
    this.classes = spec.classes;
    this.numeric = unpack(spec.numeric);
    this.shares = unpack(spec.shares);
    this.smooth = 1 / (spec.total + 1);
    this.members = spec.members.map(
      (m) => new (m.kind === "faces" ? FaceMember : BoostedMember)(m, spec.classes),
    );
    this.coded = this.members.map((member) => new Int32Array(member.features.length));
    this.terms = spec.terms.map((t) => (t ? unpack(t) : null)); // of each value number, by class
  }

  addTerms(a, value, out, share) {
    const terms = this.terms[a];
    if (terms)
      for (let t = 0; t < this.classes; t++) out[t] += share * terms[value * this.classes + t];
  }

  logits(row, out) {
    out.fill(0);
    this.members.forEach((member, m) => {
      const coded = this.coded[m],
        share = this.shares[m];
      member.code(row, this.numeric, coded);
      for (let t = 0; t < out.length; t++) out[t] += share * member.constant[t];
      for (const part of member.parts) {
        let cell = 0;
        for (let a = 0; a < part.columns.length && cell >= 0; a++)
          cell = joined(cell, part.step(a, coded[part.columns[a]]));
        addCell(part, cell, out, share);
      }
    });
    for (let a = 0; a < this.numeric.length; a++) this.addTerms(a, row.values[a], out, 1);
    return out;
  }

  finish(out) {
    softmax(out);
    for (let t = 0; t < this.classes; t++)
      out[t] = (1 - this.smooth) * out[t] + this.smooth / this.classes;
    return out;
  }

  probabilities(row, out) {
    return this.finish(this.logits(row, out));
  }

  // The first rows, with their codes in each member and what they sum to.
  remember(size, read) {
    if (this.remembered) return this.remembered;
    const logits = new Float64Array(size * this.classes),
      values = this.numeric.length;
    const codes = this.members.map((member) => new Uint16Array(size * member.features.length)),
      numbers = new Int32Array(size * values);
    for (let i = 0; i < size; i++) {
      const row = read(i);
      this.logits(row, logits.subarray(i * this.classes, (i + 1) * this.classes));
      codes.forEach((of, m) => of.set(this.coded[m], i * this.coded[m].length));
      numbers.set(row.values, i * values);
    }
    return (this.remembered = { size, logits, codes, numbers });
  }

  mixer(columns, size, read) {
    return new RowMixer(this, columns, this.remember(size, read));
  }
}
const joined = (cell, step) => (cell < 0 || step < 0 ? -1 : cell + step); // −1: no such cell

// P(class | row i, but with some columns as in row e), for many pairs of rows. What parts that read none of these columns
// add is known for each row; the cell of another part is a sum of what row i and what row e says.
class RowMixer {
  constructor(predictor, columns, rows) {
    const put = new Set(columns),
      { numeric } = predictor;
    this.predictor = predictor;
    this.rows = rows;
    /** @type {any[]} */
    this.parts = [];
    this.rest = rows.logits.slice();
    this.changed = Array.from(numeric.keys()).filter((a) => put.has(numeric[a]));
    predictor.members.forEach((member, m) => {
      for (const part of member.parts) {
        const here = part.columns.map((c) => put.has(member.features[c]));
        if (here.includes(true))
          this.parts.push(
            this.apart(part, here, rows.codes[m], member.features.length, predictor.shares[m]),
          );
      }
    });
    for (let i = 0; i < rows.size; i++)
      this.changed.forEach((a) =>
        predictor.addTerms(a, rows.numbers[i * numeric.length + a], this.of(i), -1),
      );
  }

  of(i) {
    return this.rest.subarray(i * this.predictor.classes, (i + 1) * this.predictor.classes);
  }

  // What each row says of the cell, in the columns that stay and in those that are put in.
  apart(part, here, codes, width, share) {
    const { size } = this.rows,
      inner = new Int32Array(size),
      outer = new Int32Array(size),
      { classes } = this.predictor,
      { rest } = this;
    here.forEach((put, a) => {
      const to = put ? outer : inner,
        c = part.columns[a];
      for (let i = 0; i < size; i++) to[i] = joined(to[i], part.step(a, codes[i * width + c]));
    });
    for (let i = 0; i < size; i++) {
      const cell = joined(inner[i], outer[i]),
        at = cell < 0 ? -1 : part.place(cell),
        { values } = part;
      if (at >= 0)
        for (let t = 0; t < classes; t++) rest[i * classes + t] -= share * values[at * classes + t];
    }
    return { part, share, inner, outer, alone: !here.includes(false) };
  }

  // For each { e, rows }: P(class | row) of these rows with the columns as in row e, one after the other. Part by part, so
  // that a part's table stays near.
  probabilities(tasks) {
    const { predictor, rest } = this,
      { classes, numeric } = predictor;
    const outs = tasks.map(({ e, rows }) => {
      const out = new Float64Array(rows.length * classes),
        same = new Float64Array(classes);
      for (const a of this.changed)
        predictor.addTerms(a, this.rows.numbers[e * numeric.length + a], same, 1);
      for (const { part, share, outer, alone } of this.parts)
        if (alone) addCell(part, outer[e], same, share);
      for (let k = 0; k < rows.length; k++)
        for (let t = 0; t < classes; t++)
          out[k * classes + t] = rest[rows[k] * classes + t] + same[t];
      return out;
    });
    for (const mixed of this.parts)
      if (!mixed.alone)
        tasks.forEach(({ e, rows }, n) => this.addMixed(mixed, mixed.outer[e], rows, outs[n]));
    for (const out of outs)
      for (let k = 0; k < out.length; k += classes) predictor.finish(out.subarray(k, k + classes));
    return outs;
  }

  addMixed({ part, share, inner }, put, rows, out) {
    const { places } = part,
      { classes } = this.predictor;
    if (put < 0) return;
    for (let k = 0, o = 0; k < rows.length; k++, o += classes) {
      const from = inner[rows[k]];
      if (from < 0) continue;
      let place = places ? places[from + put] : OPEN;
      if (place === OPEN) place = part.place(from + put);
      if (place < 0) continue;
      const { values } = part;
      for (let t = 0, v = place * classes; t < classes; t++) out[o + t] += share * values[v + t];
    }
  }
}

// Σ_m weight_m P_m(class | row), each P_m from the potentials that hold the class.
export class AveragePredictor {
  constructor(spec) {
    this.classes = spec.classes;
    this.weights = unpack(spec.weights);
    this.logs = new Float64Array(this.classes);
    this.models = spec.models.map((model) => {
      const scopes = parts(unpack(model.scopes), unpack(model.scopeFrom)),
        values = unpack(model.values),
        cards = unpack(spec.cards);
      let from = 0;
      return scopes.map((scope) => {
        // the class is the last axis
        const sizes = Array.from(scope, (v) => cards[v]),
          size = sizes.reduce((a, b) => a * b, 1);
        from += size;
        return {
          scope: scope.subarray(0, -1),
          strides: stridesOf(sizes),
          values: values.subarray(from - size, from),
        };
      });
    });
  }

  probabilities(row, out) {
    const { logs, classes } = this;
    let total = 0;
    out.fill(0);
    this.models.forEach((model, m) => {
      logs.fill(0);
      for (const { scope, strides, values } of model) {
        let at = 0;
        for (let a = 0; a < scope.length; a++) at += row.codes[scope[a]] * strides[a];
        for (let t = 0; t < classes; t++) logs[t] += values[at + t];
      }
      if (softmax(logs)[0] >= 0 && sum(logs) > 0) {
        total += this.weights[m];
        for (let t = 0; t < classes; t++) out[t] += this.weights[m] * logs[t];
      }
    });
    for (let t = 0; t < classes; t++) out[t] /= total || 1;
    return out;
  }

  mixer(columns, size, read) {
    const { classes } = this;
    const mixed = ({ e, rows }) => {
      const out = new Float64Array(rows.length * classes),
        put = columns.map((c) => read(e).codes[c]);
      rows.forEach((i, k) => {
        const row = read(i);
        columns.forEach((c, n) => {
          row.codes[c] = put[n];
        });
        this.probabilities(row, out.subarray(k * classes, (k + 1) * classes));
      });
      return out;
    };
    return { probabilities: (tasks) => tasks.map(mixed) };
  }
}
