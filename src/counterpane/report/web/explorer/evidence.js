// What is known, what follows from it, and how it came about: evidence, answers, undo, cases, the page's address.
//
// A piece of evidence is { state, out, weights, cut }: one state, or states that are excluded, or likelihoods; `cut`
// says that the state was set from outside (do).
import { makeEngine } from "../engines/arrays.js";
import { R, count, names, number, probability } from "./elements.js";

export const engine = makeEngine(R.engine);
export const cards = engine.cards;
export const classOnly = R.engine.kind === "rows"; // tells the class, the last column, and nothing of it may be given
export const canSet = (c) => !engine.still && !(classOnly && c === cards.length - 1);
export const canDo = (c) => Boolean(R.engine.children) && canSet(c);
export const canRank = (c) => Boolean(engine.pairs) && (!classOnly || c === cards.length - 1);
/** @typedef {Map<number, import("../types").Piece>} Pieces */

export const store = {
  /** @type {Pieces} */
  evidence: new Map(),
  /** @type {import("../types").Result | null} */
  result: null,
  /** @type {(Float64Array | null)[] | null} the bars before any evidence */
  prior: null,
  /** @type {number[] | null} */
  conflict: null,
  /** @type {{ row: Int32Array, logProbability: number } | null | undefined} */
  best: null,
  /** @type {Pieces[]} */
  past: [],
  /** @type {Pieces[]} */
  future: [],
  /** @type {{ name: string, evidence: Pieces }[]} */
  cases: [],
  milliseconds: 0,
  /** @type {(() => void)[]} */
  watchers: [],
};
export const watch = (watcher) => store.watchers.push(watcher);
const notify = () => store.watchers.forEach((watcher) => watcher());
export const stateText = (c, s) =>
  s < R.columns[c].s.length ? R.columns[c].s[s] : `state ${s + 1}`;

export function weightsOf(c, piece) {
  const weights = new Float64Array(cards[c]).fill(1);
  if (piece.weights) weights.set(piece.weights);
  for (const s of piece.out) weights[s] = 0;
  if (piece.state >= 0)
    weights.forEach((_, s) => {
      weights[s] = s === piece.state ? 1 : 0;
    });
  return weights;
}
export function asEvidence(pieces) {
  return new Map(
    [...pieces].map(([c, piece]) => [
      c,
      { weights: weightsOf(c, piece), state: piece.state, cut: piece.cut },
    ]),
  );
}
export function pieceText(c, piece) {
  const sign = R.columns[c].cut ? " " : " = "; // intervals are read as they are
  if (piece.state >= 0)
    return `${piece.cut ? "do: " : ""}${names[c]}${sign}${stateText(c, piece.state)}`;
  if (piece.weights)
    return `${names[c]}: likelihoods ${Array.from(weightsOf(c, piece).slice(0, 6), (w) => number(w, 2)).join(", ")}${cards[c] > 6 ? ", …" : ""}`;
  return `${names[c]} not ${piece.out.map((s) => stateText(c, s)).join(", ")}`;
}

// P(evidence) in words, or how many training rows fit it.
export function evidenceText(result, evidence) {
  if (!result) return "0: impossible";
  if (!evidence.size && result.basis)
    return count(Math.round(result.basis.fitting), "training row");
  if (!evidence.size) return "1: nothing is given";
  if (result.logEvidence === null) {
    if (result.basis)
      return result.basis.looser
        ? `${count(Math.round(result.basis.fitting), "training row")} fit, so similar ones too`
        : `${count(Math.round(result.basis.fitting), "training row")} fit`;
    return "not known: the model has no joint distribution";
  }
  return probability(result.logEvidence);
}

/** @type {ReturnType<typeof setTimeout>} */
let timer;
export function recompute() {
  const begin = performance.now();
  clearTimeout(timer);
  store.best = null;
  const result = engine.run(asEvidence(store.evidence));
  store.conflict = result ? null : conflicts();
  store.result = result;
  if (!store.evidence.size && result) store.prior = result.marginals;
  notify();
  store.milliseconds = performance.now() - begin;
  document.body.dataset.milliseconds = store.milliseconds.toFixed(2);
  if (result && result.done === false) timer = setTimeout(refine, 30);
}
function refine() {
  // sampling goes on while nothing else happens
  const result = engine.more(60);
  store.result = result;
  if (!store.evidence.size) store.prior = result.marginals;
  notify();
  if (!result.done) timer = setTimeout(refine, 30);
}
// Of impossible evidence, the pieces without which the rest is possible; if there is none, all of a smallest conflict.
function conflicts() {
  const without = (c) => new Map([...store.evidence].filter(([u]) => u !== c));
  const single = [...store.evidence.keys()].filter((c) => engine.run(asEvidence(without(c))));
  if (single.length) return single;
  let pieces = new Map(store.evidence);
  for (const c of store.evidence.keys()) {
    const rest = new Map([...pieces].filter(([u]) => u !== c));
    if (!engine.run(asEvidence(rest))) pieces = rest;
  }
  return [...pieces.keys()];
}

export function commit(evidence) {
  store.past.push(store.evidence);
  if (store.past.length > 500) store.past.shift();
  store.future = [];
  store.evidence = evidence;
  recompute();
  writeAddress();
}
function change(c, piece) {
  const evidence = new Map(store.evidence);
  if (piece) evidence.set(c, piece);
  else evidence.delete(c);
  commit(evidence);
}
/** @type {(evidence: Pieces, c: number) => boolean} whether one state of a column is given */
export const isGiven = (evidence, c) => (evidence.get(c) || blank()).state >= 0;
/** @type {() => import("../types").Piece} */
export const blank = () => ({ state: -1, out: [], weights: null, cut: false });
export const pieceOf = (c) => store.evidence.get(c) || blank();
export function setState(c, s) {
  if (!canSet(c)) return;
  const piece = pieceOf(c);
  change(c, piece.state === s ? null : { ...blank(), state: s, cut: piece.cut && canDo(c) });
}
export function exclude(c, s) {
  if (!canSet(c)) return;
  const piece = pieceOf(c),
    out = piece.out.includes(s)
      ? piece.out.filter((x) => x !== s)
      : [...piece.out, s].sort((a, b) => a - b);
  if (out.length === cards[c]) return; // one state has to remain
  change(c, out.length || piece.weights ? { ...piece, state: -1, cut: false, out } : null);
}
export function setWeights(c, weights) {
  if (!canSet(c) || !weights.some((w) => w > 0)) return;
  const same = weights.every((w) => w === weights[0]),
    { out } = pieceOf(c);
  change(c, same && !out.length ? null : { ...blank(), out, weights: same ? null : weights });
}
export function toggleCut(c) {
  const piece = pieceOf(c);
  if (canDo(c) && piece.state >= 0) change(c, { ...piece, cut: !piece.cut });
}
export const retract = (c) => change(c, null);
export const clearAll = () => {
  if (store.evidence.size) commit(new Map());
};
function travel(from, to) {
  if (!from.length) return;
  to.push(store.evidence);
  store.evidence = from.pop();
  recompute();
  writeAddress();
}
export const undo = () => travel(store.past, store.future);
export const redo = () => travel(store.future, store.past);

// The address: evidence by the names of columns and the numbers of states, and the named cases.
function plain(evidence) {
  return Object.fromEntries(
    [...evidence].map(([c, { state, out, weights, cut }]) => [
      names[c],
      state >= 0
        ? cut
          ? { do: state }
          : state
        : { ...(out.length ? { not: out } : {}), ...(weights ? { w: weights } : {}) },
    ]),
  );
}
function restored(record) {
  const evidence = new Map();
  for (const [name, value] of Object.entries(record || {})) {
    const c = names.indexOf(name),
      known = (s) => Number.isInteger(s) && s >= 0 && s < cards[c];
    if (c < 0 || !canSet(c) || value === null) continue;
    if (known(value)) evidence.set(c, { ...blank(), state: value });
    else if (known(value.do)) evidence.set(c, { ...blank(), state: value.do, cut: canDo(c) });
    else {
      const out = (Array.isArray(value.not) ? value.not : []).filter(known);
      const fits =
        Array.isArray(value.w) &&
        value.w.length === cards[c] &&
        value.w.every((w) => w >= 0 && w < Infinity) &&
        value.w.some((w) => w > 0);
      if (out.length < cards[c] && (out.length || fits))
        evidence.set(c, { ...blank(), out, weights: fits ? value.w : null });
    }
  }
  return evidence;
}
let written = 0;
/** @type {ReturnType<typeof setTimeout>} */
let writing;
function writeAddress() {
  // browsers refuse many changes of the address in a short time
  clearTimeout(writing);
  if (Date.now() - written < 350) {
    writing = setTimeout(writeAddress, 350);
    return;
  }
  written = Date.now();
  const record = {
    e: plain(store.evidence),
    cases: store.cases.map(({ name, evidence }) => [name, plain(evidence)]),
  };
  const empty = !store.evidence.size && !store.cases.length;
  try {
    history.replaceState(
      null,
      "",
      empty
        ? location.pathname + location.search
        : "#" + encodeURIComponent(JSON.stringify(record)),
    );
  } catch {
    /* a page inside another page has no address of its own */
  }
}
export function readAddress() {
  /** @type {any} */
  let record = null;
  try {
    record = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  } catch {
    /* an anchor, or nothing */
  }
  if (!record || typeof record !== "object") return false;
  store.evidence = restored(record.e);
  store.cases = (Array.isArray(record.cases) ? record.cases : []).map(([name, e]) => ({
    name: String(name),
    evidence: restored(e),
  }));
  return true;
}
export function keepCase(name) {
  store.cases = [...store.cases.filter((k) => k.name !== name), { name, evidence: store.evidence }];
  writeAddress();
  notify();
}
export function dropCase(name) {
  store.cases = store.cases.filter((k) => k.name !== name);
  writeAddress();
  notify();
}
