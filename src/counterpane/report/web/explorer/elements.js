// Elements and words. Texts go in as text nodes only, so that no name is ever read as markup.

/** @typedef {import("../types").Link} Link */
/** @typedef {import("../types").LinkRecord} LinkRecord */

/** @type {import("../types").Content} */
export const R = JSON.parse(
  /** @type {HTMLElement} */ (document.getElementById("content")).textContent || "",
);
/** @type {(id: string) => any} an element of the page's skeleton */
export const $ = (id) => document.getElementById(id);
export const names = R.columns.map((c) => c.n);
// The class, on a page that has one.
export const classColumn = /** @type {number} */ (R.target);

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}
/** @type {(tag: string, attributes?: any, ...children: any[]) => any} */
export const el = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
/** @type {(tag: string, attributes?: any, ...children: any[]) => any} */
export const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
/** @type {(text: string, action: any, attributes?: any) => any} */
export const button = (text, action, attributes) =>
  el("button", { type: "button", onclick: action, ...attributes }, text);
export const bdi = (text) => el("bdi", null, text); // a name cannot change the direction of what is around it
export const table = (head, rows) =>
  el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table" },
    el("table", null, el("thead", null, el("tr", null, ...head)), el("tbody", null, ...rows)),
  );
export const th = (text, kind) => el("th", { scope: "col", class: kind }, text);
export const sized = (node, share) => {
  node.style.width = 100 * Math.min(1, Math.max(0, share)) + "%";
  return node;
};

export const number = (x, digits = 3) => {
  if (x === null || x === undefined) return "–";
  if (x !== 0 && Math.abs(x) < 10 ** -digits) return x.toExponential(1).replace("-", "−");
  return x.toFixed(digits).replace("-", "−");
};
export const percent = (x) => {
  if (x === null || x === undefined) return "–";
  return (100 * x).toFixed(x > 0 && x < 0.001 ? 2 : 1) + " %";
};
export const count = (n, one, many) =>
  n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s");
export const unique = (list) => [...new Set(list)];

// A probability by its log: 0.0312, or 3.1 × 10⁻⁷ where it is small.
export function probability(log) {
  if (log > Math.log(0.0005)) return Math.exp(Math.min(log, 0)).toFixed(4);
  const tens = log / Math.LN10,
    exponent = Math.floor(tens);
  const raised = String(exponent).replace(/./g, (d) => (d === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(d)]));
  return `${(10 ** (tens - exponent)).toFixed(2)} × 10${raised}`;
}

// An edge or an interaction of the page's data: its columns, whether it has an arrow, strength, share.
/** @type {(k: LinkRecord) => Link} */
export const linkOf = (k) => ({
  c: k.columns ?? [/** @type {number} */ (k.source), /** @type {number} */ (k.target)],
  d: k.mark === "→",
  s: k.strength,
  p: k.share_of_mark ?? k.share ?? null,
});
export const links = R.links.map(linkOf);
/** @type {Link[][]} */
export const linksOf = names.map(() => []);
for (const link of links) for (const c of link.c) linksOf[c].push(link);
export const strongest = links.reduce((most, k) => Math.max(most, k.s), 1e-12);
export const certain = R.shares !== "";
export const weightOf = (k) =>
  certain && k.p !== null && k.p !== undefined ? k.p : Math.sqrt(k.s / strongest);
// Bits have the digits that the command prints, so that both show the same number.
export const strengthText = (s) => (R.measure === "bits per row" ? s.toFixed(4) : number(s));
// On an edge there is room for two digits.
export const shortStrength = (s) => (s >= 100 ? s.toFixed(0) : s.toPrecision(2)).replace("-", "−");
export const joiner = (link) =>
  link.d ? " → " : R.shape === "faces" || link.c.length > 2 ? " × " : " — ";
const others = (link, c) => link.c.filter((u) => u !== c);
export function describe(link) {
  const said = link.c.map((c) => names[c]).join(joiner(link));
  const share = R.samples
    ? `in ${Math.round(link.p * R.samples)} of ${R.samples} samples`
    : percent(link.p);
  const sure = link.p === null || link.p === undefined ? "" : `, ${share} (${R.shares})`;
  return `${said}: ${strengthText(link.s)} ${R.measure}${sure}`;
}

export function neighbors(c) {
  const known = linksOf[c];
  return {
    parents: unique(known.filter((k) => k.d && k.c[1] === c).map((k) => k.c[0])),
    children: unique(known.filter((k) => k.d && k.c[0] === c).map((k) => k.c[1])),
    beside: unique(known.filter((k) => !k.d).flatMap((k) => others(k, c))),
  };
}
export function blanket(c) {
  const { parents, children, beside } = neighbors(c);
  if (R.shape === "conditional") return unique([...parents, ...beside]);
  const mates = R.shape === "dag" ? children.flatMap((x) => neighbors(x).parents) : [];
  return unique([...parents, ...children, ...beside, ...mates]).filter((u) => u !== c);
}
