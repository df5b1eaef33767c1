// The values that a page gets from Python (content.py, engines.py), and what its engines answer.

export type Numbers = Float64Array | Float32Array | Int32Array | Int16Array | Uint32Array | Uint16Array | Uint8Array;

/** An array in base64, with the type of its numbers; see packing.py. */
export interface Packed {
  t: "f8" | "f4" | "i4" | "i2" | "u4" | "u2" | "u1";
  b: string;
}

/** What is given on a column: the weight of each state, the state if there is one alone (else −1), and
 * whether it was set from outside (do). */
export interface Given {
  weights: Float64Array;
  state: number;
  cut: boolean;
}
export type Evidence = Map<number, Given>;

/** How many training rows fit, and whether similar ones were added. */
export interface Basis {
  fitting: number;
  looser: boolean;
}

export interface Result {
  /** null where a still page does not know the bars */
  marginals: any[];
  logEvidence: any;
  errors?: any;
  worst?: number;
  done?: boolean;
  basis?: Basis;
}

/** P(target = t, v = s | evidence) of each v as a flat table, t slowest. */
export interface Pairs {
  tables: Float64Array[];
  now: Result;
}

export interface Engine {
  cards: Numbers;
  still?: string;
  run(evidence: Evidence): Result | null;
  /** undefined where the engine does not answer this */
  more?: any;
  best?: any;
  pairs?: any;
}

export interface Column {
  n: string;
  s: string[];
  more?: number;
  cut?: 1;
  m?: number[];
  d?: number[];
}

export interface Link {
  c: number[];
  d: boolean;
  s: number;
  p: number | null;
}

/** An edge with the keys of `Edge` in Python, or an interaction of `columns`; columns by position. */
export interface LinkRecord {
  source?: number;
  target?: number;
  mark?: string;
  columns?: number[];
  strength: number;
  share?: number | null;
  share_of_mark?: number | null;
  bits?: number;
  explained?: number;
}

/** A line of the picture, and its route. */
export interface DrawnLink extends LinkRecord {
  route: any;
  hub?: [number, number];
}

export interface Picture {
  size: [number, number];
  nodes: [number, number, number, number, number][];
  edges: DrawnLink[];
  hyperedges: DrawnLink[];
  arcs: boolean;
  note?: string;
}

/** A table over a scope, and for each cell of its clique the place in it. */
export interface Factor {
  scope: any;
  owner: number;
  child: number;
  values: any;
  scale: number;
  logs?: any;
  map: Int32Array;
}
export interface Clique {
  scope: any;
  parent: number;
  sizes: number[];
  strides: Int32Array;
  size: number;
  factors: Factor[];
  base: Float64Array;
  work: Float64Array;
  up: Float64Array;
  down: Float64Array;
  separator: number;
  toSeparator: Int32Array;
}

/** A piece of evidence as it was entered: one state, or excluded states, or likelihoods. */
export interface Piece {
  state: number;
  out: number[];
  weights: ArrayLike<number> | null;
  cut: boolean;
}

/** Everything on a page; the parts of a report are missing in an explorer. */
export interface Content {
  title: string;
  kind: string;
  target: number | null;
  shape: "dag" | "faces" | "conditional" | "pairs";
  measure: string;
  shares: string;
  samples: number | null;
  rows: number | null;
  columns: Column[];
  links: LinkRecord[];
  nLinks: number;
  boxes: [number, number][];
  picture: Picture;
  engine: { kind: string; [name: string]: any };
  [part: string]: any;
}
