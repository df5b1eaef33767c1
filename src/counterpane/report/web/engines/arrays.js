// Typed arrays from base64, and small sums over them.

const ARRAYS = {
  f8: Float64Array,
  f4: Float32Array,
  i4: Int32Array,
  i2: Int16Array,
  u4: Uint32Array,
  u2: Uint16Array,
  u1: Uint8Array,
};

/**
 * @param {import("../types").Packed} packed
 * @returns {any} a typed array
 */
export function unpack(packed) {
  const text = atob(packed.b),
    bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new ARRAYS[packed.t](bytes.buffer);
}

/**
 * The parts of an array of which part k is from offsets[k] to offsets[k + 1]: views, not copies.
 * @param {any} flat
 * @param {ArrayLike<number>} offsets
 * @returns {any[]}
 */
export function parts(flat, offsets) {
  return Array.from({ length: offsets.length - 1 }, (_, k) =>
    flat.subarray(offsets[k], offsets[k + 1]),
  );
}

/** @type {(values: ArrayLike<number>) => number} */
export function sum(values) {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i];
  return total;
}

/** @type {(values: ArrayLike<number>) => number} */
export function largest(values) {
  let most = -Infinity;
  for (let i = 0; i < values.length; i++) if (values[i] > most) most = values[i];
  return most;
}

// Divide by the sum, in place; the sum is returned.
export function normalize(values) {
  const total = sum(values);
  if (total > 0) for (let i = 0; i < values.length; i++) values[i] /= total;
  return total;
}

// Logs to probabilities, in place.
export function softmax(logs) {
  const most = largest(logs);
  if (most === -Infinity) return logs.fill(0);
  for (let i = 0; i < logs.length; i++) logs[i] = Math.exp(logs[i] - most);
  normalize(logs);
  return logs;
}

// The step of each axis of a table whose last axis is the fastest.
export function stridesOf(sizes) {
  const strides = new Int32Array(sizes.length);
  for (let a = sizes.length - 1, step = 1; a >= 0; a--) {
    strides[a] = step;
    step *= sizes[a];
  }
  return strides;
}

// For each cell of a table over `scope`, its cell in a table that has strides[v] for variable v.
export function cellMap(scope, cards, strideOf) {
  let size = 1;
  for (const v of scope) size *= cards[v];
  const map = new Int32Array(size);
  let filled = 1;
  for (let a = scope.length - 1; a >= 0; a--) {
    // the fastest axis first: each axis repeats what is filled
    const step = strideOf(scope[a]),
      card = cards[scope[a]];
    for (let state = 1; state < card; state++)
      for (let i = 0; i < filled; i++) map[state * filled + i] = map[i] + state * step;
    filled *= card;
  }
  return map;
}

/**
 * Engines by kind; a page has the one that its model needs.
 * @type {Record<string, new (spec: any) => import("../types").Engine>}
 */
export const ENGINES = {};
export const makeEngine = (spec) => new ENGINES[spec.kind](spec);
