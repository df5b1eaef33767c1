// Elements and words. Texts go in as text nodes only, so that no name is ever read as markup.
const R = JSON.parse(document.getElementById("content").textContent);
const $ = (id) => document.getElementById(id);
const names = R.columns.map((c) => c.n);

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const button = (text, action, attributes) => el("button", { type: "button", onclick: action, ...attributes }, text);
const bdi = (text) => el("bdi", null, text); // a name cannot change the direction of what is around it
const table = (head, rows) => el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table" }, el("table", null,
  el("thead", null, el("tr", null, ...head)), el("tbody", null, ...rows)));
const th = (text, kind) => el("th", { scope: "col", class: kind }, text);
const sized = (node, share) => { node.style.width = 100 * Math.min(1, Math.max(0, share)) + "%"; return node; };

const number = (x, digits = 3) => {
  if (x === null || x === undefined) return "–";
  if (x !== 0 && Math.abs(x) < 10 ** -digits) return x.toExponential(1).replace("-", "−");
  return x.toFixed(digits).replace("-", "−");
};
const percent = (x) => {
  if (x === null || x === undefined) return "–";
  return (100 * x).toFixed(x > 0 && x < 0.001 ? 2 : 1) + " %";
};
const count = (n, one, many) => n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s");
const unique = (list) => [...new Set(list)];

// A probability by its log: 0.0312, or 3.1 × 10⁻⁷ where it is small.
function probability(log) {
  if (log > Math.log(0.0005)) return Math.exp(Math.min(log, 0)).toFixed(4);
  const tens = log / Math.LN10, exponent = Math.floor(tens);
  const raised = String(exponent).replace(/./g, (d) => (d === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(d)]));
  return `${(10 ** (tens - exponent)).toFixed(2)} × 10${raised}`;
}

// Links: [columns…, directed, strength, share] by column.
const links = R.links.map((k) => ({
  c: k.slice(0, -3), d: k[k.length - 3] === 1, s: k[k.length - 2], p: k[k.length - 1],
}));
const linksOf = names.map(() => []);
for (const link of links) for (const c of link.c) linksOf[c].push(link);
const strongest = links.reduce((most, k) => Math.max(most, k.s), 1e-12);
const certain = R.shares !== "";
const weightOf = (k) => (certain && k.p !== null && k.p !== undefined ? k.p : Math.sqrt(k.s / strongest));
// Bits have the digits that the command prints, so that both show the same number.
const strengthText = (s) => (R.measure === "bits per row" ? s.toFixed(4) : number(s));
const joiner = (link) => (link.d ? " → " : R.shape === "faces" || link.c.length > 2 ? " × " : " — ");
const others = (link, c) => link.c.filter((u) => u !== c);
function describe(link) {
  const said = link.c.map((c) => names[c]).join(joiner(link));
  const share = R.samples ? `in ${Math.round(link.p * R.samples)} of ${R.samples} samples` : percent(link.p);
  const sure = link.p === null || link.p === undefined ? "" : `, ${share} (${R.shares})`;
  return `${said}: ${strengthText(link.s)} ${R.measure}${sure}`;
}

function neighbors(c) {
  const known = linksOf[c];
  return {
    parents: unique(known.filter((k) => k.d && k.c[1] === c).map((k) => k.c[0])),
    children: unique(known.filter((k) => k.d && k.c[0] === c).map((k) => k.c[1])),
    beside: unique(known.filter((k) => !k.d).flatMap((k) => others(k, c))),
  };
}
function blanket(c) {
  const { parents, children, beside } = neighbors(c);
  if (R.shape === "conditional") return unique([...parents, ...beside]);
  const mates = R.shape === "dag" ? children.flatMap((x) => neighbors(x).parents) : [];
  return unique([...parents, ...children, ...beside, ...mates]).filter((u) => u !== c);
}
