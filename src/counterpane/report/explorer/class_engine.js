// P(class | row) of classifiers: sums of tables and of boosted trees, or a weighted mean of products of tables.
//
// A row has a code for each feature, and a value number for each column of numbers: its place in the list of the
// numbers that the page may meet. What a number does to a model was tabulated over this list in Python.

// Tables by cell of a face; a cell without an entry adds nothing.
class FaceTable {
  constructor(columns, cards, keys, values, classes) {
    const size = columns.reduce((n, c) => n * cards[c], 1);
    Object.assign(this, { columns, cards, keys, values, classes, places: null });
    if (size <= 65536) {
      this.places = new Int32Array(size).fill(-1);
      keys.forEach((key, k) => { this.places[key] = k; });
    }
  }

  add(coded, out, share) {
    let cell = 0;
    for (const c of this.columns) {
      if (coded[c] >= this.cards[c]) return;
      cell = cell * this.cards[c] + coded[c];
    }
    let at = -1;
    if (this.places) at = this.places[cell];
    else {
      let low = 0, high = this.keys.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.keys[middle] < cell) low = middle + 1;
        else high = middle;
      }
      if (low < this.keys.length && this.keys[low] === cell) at = low;
    }
    if (at >= 0) for (let t = 0; t < this.classes; t++) out[t] += share * this.values[at * this.classes + t];
  }
}

class FaceMember {
  constructor(spec, classes) {
    this.constant = unpack(spec.constant);
    this.bins = spec.bins.map(unpack); // state of each value number, by column of numbers
    const cards = unpack(spec.cards), keyFrom = unpack(spec.keyFrom), values = unpack(spec.values);
    const keys = parts(unpack(spec.keys), keyFrom), faces = parts(unpack(spec.faces), unpack(spec.faceFrom));
    this.faces = faces.map((face, f) => new FaceTable(
      Array.from(face), cards, keys[f], values.subarray(keyFrom[f] * classes, keyFrom[f + 1] * classes), classes));
    this.coded = new Int32Array(cards.length);
  }

  add(row, numeric, out, share) {
    this.coded.set(row.codes);
    for (let a = 0; a < numeric.length; a++) this.coded[numeric[a]] = this.bins[a][row.values[a]];
    for (let t = 0; t < out.length; t++) out[t] += share * this.constant[t];
    for (const face of this.faces) face.add(this.coded, out, share);
  }
}

class BoostedMember {
  constructor(spec) {
    this.constant = unpack(spec.constant);
    this.columns = unpack(spec.columns); // of the features
    this.numbers = unpack(spec.numbers); // place among the columns of numbers, or −1
    this.bins = spec.bins.map(unpack); // of each value number, or of each state
    this.scores = spec.scores;
    // By node, tree after tree: its column (their number in a leaf), its first child within the tree or its leaf, and
    // the place among `sets` of the bins that go to the first child.
    for (const name of ["treeFrom", "column", "child", "which", "sets", "leafValues"]) this[name] = unpack(spec[name]);
    this.row = new Uint8Array(this.columns.length);
    this.score = new Float64Array(this.scores);
  }

  add(row, numeric, out, share) {
    const { treeFrom, column, child, which, sets, leafValues, scores, score } = this, none = this.columns.length;
    for (let j = 0; j < none; j++) {
      const bins = this.bins[j], at = this.numbers[j] >= 0 ? row.values[this.numbers[j]] : row.codes[this.columns[j]];
      this.row[j] = at < bins.length ? bins[at] : 0;
    }
    score.fill(0);
    for (let t = 0; t < treeFrom.length - 1; t++) {
      const root = treeFrom[t];
      let node = root;
      while (column[node] < none) {
        const bin = this.row[column[node]];
        node = root + child[node] + (sets[which[node] * 8 + (bin >> 5)] >>> (bin & 31) & 1 ? 0 : 1);
      }
      const leaf = ((root + t) / 2 + child[node]) * scores; // a tree of n nodes has (n + 1) / 2 leaves
      for (let s = 0; s < scores; s++) score[s] += leafValues[leaf + s];
    }
    const two = scores < out.length; // one score is the log-odds of the second of two classes
    for (let t = 0; t < out.length; t++) out[t] += share * (this.constant[t] + (two ? (t ? 0.5 : -0.5) * score[0] : score[t]));
  }
}

class AdditivePredictor {
  constructor(spec) {
    this.classes = spec.classes;
    this.numeric = unpack(spec.numeric);
    this.shares = unpack(spec.shares);
    this.smooth = 1 / (spec.total + 1);
    this.members = spec.members.map((m) => (m.kind === "faces" ? new FaceMember(m, spec.classes) : new BoostedMember(m)));
    this.terms = spec.terms.map((t) => (t ? unpack(t) : null)); // of each value number, by class
  }

  probabilities(row, out) {
    out.fill(0);
    this.members.forEach((member, m) => member.add(row, this.numeric, out, this.shares[m]));
    this.terms.forEach((terms, a) => {
      if (terms) for (let t = 0; t < this.classes; t++) out[t] += terms[row.values[a] * this.classes + t];
    });
    softmax(out);
    for (let t = 0; t < this.classes; t++) out[t] = (1 - this.smooth) * out[t] + this.smooth / this.classes;
    return out;
  }
}

// Σ_m weight_m P_m(class | row), each P_m from the potentials that hold the class.
class AveragePredictor {
  constructor(spec) {
    this.classes = spec.classes;
    this.weights = unpack(spec.weights);
    this.logs = new Float64Array(this.classes);
    this.models = spec.models.map((model) => {
      const scopes = parts(unpack(model.scopes), unpack(model.scopeFrom)), values = unpack(model.values), cards = unpack(spec.cards);
      let from = 0;
      return scopes.map((scope) => { // the class is the last axis
        const sizes = Array.from(scope, (v) => cards[v]), size = sizes.reduce((a, b) => a * b, 1);
        from += size;
        return { scope: scope.subarray(0, -1), strides: stridesOf(sizes), values: values.subarray(from - size, from) };
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
}
