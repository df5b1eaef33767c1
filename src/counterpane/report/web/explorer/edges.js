// Lines between the boxes of the graph: their paths, arrowheads, numbers, and hubs of three or more columns.
import { parts, unpack } from "../engines/arrays.js";
import { R, describe, names, shortStrength, svg, weightOf } from "./elements.js";
import { store, watch } from "./evidence.js";
import { boxes } from "./graph.js";

export const MOST_LABELED = 30; // edges that carry their numbers in the picture
/** @type {any[]} */
export let drawn = []; // lines and hubs on the page
/** @type {[number[], any] | null} */
let pinned = null; // what a click keeps highlighted: [columns, one link or none]
/** @type {import("../types").Picture} */
export let scene = R.picture; // what is drawn: sizes, places and routes

const border = (from, to) => {
  // where the line between two centers leaves the first box
  const dx = to.x - from.x,
    dy = to.y - from.y;
  const t = Math.min(Math.abs(from.w / 2 / (dx || 1e-9)), Math.abs(from.h / 2 / (dy || 1e-9)));
  return [from.x + dx * Math.min(t, 1), from.y + dy * Math.min(t, 1)];
};
function curve(p, arc) {
  // an arc through three points, or a line rounded at its corners
  if (arc && p.length === 6)
    return `M${p[0]} ${p[1]} Q${2 * p[2] - (p[0] + p[4]) / 2} ${2 * p[3] - (p[1] + p[5]) / 2} ${p[4]} ${p[5]}`;
  let path = `M${p[0]} ${p[1]}`;
  for (let i = 2; i < p.length - 2; i += 2)
    path += ` Q${p[i]} ${p[i + 1]} ${(p[i] + p[i + 2]) / 2} ${(p[i + 1] + p[i + 3]) / 2}`;
  return `${path} L${p[p.length - 2]} ${p[p.length - 1]}`;
}
function drawEdge(item) {
  const [a, b] = item.link.c.map((c) => boxes.get(c));
  let p = item.route && !a.moved && !b.moved ? item.route : [...border(a, b), ...border(b, a)];
  if (item.head) {
    // the line ends at the base of its arrowhead
    const n = p.length,
      dx = p[n - 2] - p[n - 4],
      dy = p[n - 1] - p[n - 3],
      long = Math.hypot(dx, dy) || 1;
    const size = 7 + item.width,
      ux = dx / long,
      uy = dy / long,
      x = p[n - 2],
      y = p[n - 1];
    const bx = x - ux * size,
      by = y - uy * size,
      half = size * 0.45;
    item.head.setAttribute(
      "points",
      `${x},${y} ${bx - uy * half},${by + ux * half} ${bx + uy * half},${by - ux * half}`,
    );
    p = [...p.slice(0, n - 2), bx + ux, by + uy];
  }
  item.path.setAttribute("d", curve(p, scene.arcs));
  item.points = p;
  if (item.tag && item.at) writeOn(item);
}
export function writeOn(item) {
  // the number on an edge: where neither a box nor another number is, or nowhere
  /** @param {any} place */
  const clear = ([x, y]) =>
    drawn.every(
      (o) => o === item || !o.at || Math.abs(o.at[0] - x) > 42 || Math.abs(o.at[1] - y) > 13,
    ) &&
    [...boxes.values()].every(
      (b) => Math.abs(b.x - x) > b.w / 2 + 20 || Math.abs(b.y - y) > b.h / 2 + 8,
    );
  item.at =
    [0.5, 0.35, 0.65, 0.25, 0.75, 0.15, 0.85]
      .map((share) => along(item.points, share))
      .find(clear) || null;
  item.tag.toggleAttribute("hidden", !item.at);
  if (!item.at) return;
  item.tag.setAttribute("x", item.at[0].toFixed(1));
  item.tag.setAttribute("y", (item.at[1] + 4).toFixed(1));
}
export const rise = ({ points: p }) => Math.abs(p[p.length - 1] - p[1]); // flat edges have least room for their numbers
function along(p, share) {
  // the point at a share of the length of the line through points
  const lengths = [];
  for (let i = 2; i < p.length; i += 2)
    lengths.push(Math.hypot(p[i] - p[i - 2], p[i + 1] - p[i - 1]));
  let left = lengths.reduce((a, b) => a + b, 0) * share,
    i = 0;
  while (i < lengths.length - 1 && left > lengths[i]) left -= lengths[i++];
  const t = lengths[i] ? left / lengths[i] : 0;
  return [
    p[2 * i] + t * (p[2 * i + 2] - p[2 * i]),
    p[2 * i + 1] + t * (p[2 * i + 3] - p[2 * i + 1]),
  ];
}
function drawHyper(item) {
  const ends = item.link.c.map((c) => boxes.get(c)),
    moved = ends.some((b) => b.moved);
  if (moved) {
    item.hub.x = ends.reduce((total, b) => total + b.x, 0) / ends.length;
    item.hub.y = ends.reduce((total, b) => total + b.y, 0) / ends.length;
  }
  const { x, y } = item.hub;
  const spoke = (b, i) => [x, y, ...(moved ? border(b, item.hub) : item.route[i].slice(2))];
  item.path.setAttribute("d", ends.map((b, i) => curve(spoke(b, i), true)).join(" "));
  item.mark.setAttribute("transform", `translate(${x} ${y}) rotate(45)`);
}
export const redraw = (item) => (item.hub ? drawHyper(item) : drawEdge(item));
export function clearLinks(next) {
  // another picture is drawn
  scene = next;
  drawn = [];
  pinned = null;
}

export function addLink(link, layer, /** @type {any} */ { route, hub, labeled } = {}) {
  const width = 1 + (hub ? 2.5 : 4) * weightOf(link);
  const opacity = (0.4 + 0.6 * weightOf(link)).toFixed(2); // of the line, not of its number
  const item = {
    link,
    route,
    width,
    path: svg("path", { "stroke-width": width.toFixed(2), opacity }),
  };
  item.group = svg(
    "g",
    { class: hub ? "hyper" : "edge" },
    svg("title", null, describe(link)),
    item.path,
  );
  if (hub) {
    item.hub = { x: hub[0], y: hub[1], w: 10, h: 10 };
    item.mark = svg("rect", { opacity, x: -5, y: -5, width: 10, height: 10, rx: 2 });
    item.group.append(item.mark);
  } else if (link.d) {
    item.head = svg("polygon", { opacity });
    item.group.append(item.head);
  }
  if (labeled && !hub) {
    item.tag = svg("text", { "aria-hidden": "true" }, shortStrength(link.s));
    item.group.append(item.tag);
  }
  item.group.addEventListener("pointerenter", () => highlight(link.c, item));
  item.group.addEventListener("pointerleave", () => highlight(null));
  item.group.link = item;
  layer.append(item.group);
  drawn.push(item);
  redraw(item);
}

// Lines into columns that were set from outside are cut: by the arrows of the network, also where the data leave them open.
/** @type {number[][]} */
export const parentsOf = names.map(() => []);
if (R.engine.children) {
  const scopes = parts(unpack(R.engine.scopes), unpack(R.engine.scopeFrom));
  unpack(R.engine.children).forEach((c, f) => {
    parentsOf[c] = Array.from(scopes[f]).filter((u) => u !== c);
  });
}
export function markCuts() {
  const cut = new Set([...store.evidence].filter(([, piece]) => piece.cut).map(([c]) => c));
  for (const { link, group } of drawn) {
    const [a, b] = link.c,
      into =
        link.c.length === 2 &&
        ((cut.has(b) && parentsOf[b].includes(a)) || (cut.has(a) && parentsOf[a].includes(b)));
    group.classList.toggle("cut", into);
  }
}
watch(markCuts);

export function pin(columns, only) {
  pinned = columns ? [columns, only] : null;
  highlight(null);
}
export function highlight(columns, only) {
  for (const item of drawn) item.group.classList.remove("dim", "near");
  for (const box of boxes.values()) box.node.classList.remove("dim");
  if (!columns && pinned) [columns, only] = pinned;
  if (!columns) return;
  const near = new Set(columns);
  for (const item of drawn) {
    const touches = only ? item === only : item.link.c.includes(columns[0]);
    item.group.classList.add(touches ? "near" : "dim");
    if (touches) item.link.c.forEach((c) => near.add(c));
  }
  for (const box of boxes.values()) if (!near.has(box.c)) box.node.classList.add("dim");
}
