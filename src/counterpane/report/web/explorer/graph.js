// The graph: monitors and lines in a plane that is moved and scaled; the whole of it, or what is around a column.
import {
  MOST_LABELED,
  addLink,
  clearLinks,
  drawn,
  highlight,
  markCuts,
  pin,
  redraw,
  rise,
  scene,
  writeOn,
} from "./edges.js";
import {
  $,
  R,
  blanket,
  describe,
  el,
  linkOf,
  links,
  linksOf,
  names,
  neighbors,
  strongest,
  svg,
  weightOf,
} from "./elements.js";
import { dropMonitors, makeMonitor, wideness } from "./monitor.js";
import { openPanel, opened } from "./panel.js";

const MOST_AROUND = 24,
  FEW_AROUND = 12,
  NARROW = 560,
  NAME_PIXELS = 11,
  STATE_PIXELS = 9,
  GAP = 16,
  WIDEST = 200;
export const graph = $("graph"),
  view = el("div", { class: "view" });
export let boxes = new Map(),
  here = null,
  zoom = { x: 0, y: 0, k: 1 },
  focusOn = null;
graph.append(view);

function addBox(c, x, y, w, h, layer) {
  const monitor = makeMonitor(c, () => openPanel(c, true)),
    { node } = monitor;
  const alone = linksOf[c].find((k) => k.c.length === 1); // what the column does by itself
  node.style.width = `${w}px`;
  node.style.height = `${h}px`;
  const letters = [...names[c]].reduce((n, x) => n + wideness(x), 0);
  const long = 9 * letters + 26 > WIDEST; // as in picture.py: two lines
  node.classList.toggle("long", long);
  const room = ((w - 22) * (long ? 1.7 : 1)) / (0.65 * letters);
  node.style.setProperty("--widest", `${Math.max(9, Math.min(long ? 15 : 16, room)).toFixed(1)}px`);
  if (alone) {
    node.style.setProperty("--tint", (0.05 + 0.3 * Math.sqrt(alone.s / strongest)).toFixed(2));
    node.classList.add("tinted");
    monitor.name.title = `${names[c]}\n${describe(alone)}`;
  }
  const box = { c, x, y, w, h, node, monitor, moved: false };
  boxes.set(c, box);
  layer.append(node);
  place(box);
  node.addEventListener("pointerenter", () => highlight([c]));
  node.addEventListener("pointerleave", () => highlight(null));
  node.addEventListener("focusin", () => {
    roam(c);
    reveal(box);
  });
  monitor.name.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) {
      event.preventDefault();
      step(box, event.key);
    }
  });
}
const place = (box) => {
  box.node.style.transform = `translate(${box.x - box.w / 2}px, ${box.y - box.h / 2}px)`;
};

export function show(next, focus = null) {
  clearLinks(next);
  focusOn = focus;
  dropMonitors(view);
  boxes = new Map();
  const [w, h] = next.size,
    lines = svg("svg", { class: "lines", width: w, height: h, "aria-hidden": "true" }),
    layer = el("div", { class: "boxes" });
  view.replaceChildren(lines, layer);
  const byPlace = [...next.nodes].sort((a, b) => a[2] - b[2] || a[1] - b[1]); // the order of Tab and of screen readers
  for (const [c, x, y, width, height] of byPlace) addBox(c, x, y, width, height, layer);
  for (const k of next.hyperedges) addLink(linkOf(k), lines, { route: k.route, hub: k.hub });
  for (const k of next.edges)
    addLink(linkOf(k), lines, {
      route: k.route,
      labeled: next.edges.length <= (focus === null ? MOST_LABELED : MOST_LABELED / 2),
    });
  drawn
    .filter((item) => item.tag)
    .sort((a, b) => rise(a) - rise(b))
    .forEach(writeOn);
  roam(boxes.has(here) ? here : focus !== null ? focus : byPlace.length ? byPlace[0][0] : null);
  $("whole").hidden = next === R.picture;
  fitStage();
  fit();
  markCuts();
  markOpen();
}
export function fitStage() {
  // a report gives the graph the height that it needs; the explorer all that there is
  if (document.body.classList.contains("explore")) return;
  const wide = graph.getBoundingClientRect().width,
    tall = scene.size[1] * Math.min(1.2, wide / scene.size[0]) + 48;
  $("stage").style.height = Math.max(420, Math.min(tall, 0.85 * window.innerHeight, 1000)) + "px";
}

export const isNarrow = () => graph.getBoundingClientRect().width < NARROW;
// What is around a column: parents left of it, children right, others on the emptier side; several columns where there are many.
export function around(c) {
  const { parents, children, beside } = neighbors(c);
  const rank = (list) => list.sort((a, b) => weightTo(c, b) - weightTo(c, a));
  const mates =
    R.shape === "dag"
      ? blanket(c).filter((u) => ![...parents, ...children, ...beside].includes(u))
      : [];
  let left = rank([...parents]),
    right = rank(children.filter((u) => !left.includes(u)));
  for (const u of rank(beside.filter((x) => x !== c)))
    if (!left.includes(u) && !right.includes(u))
      (left.length <= right.length ? left : right).push(u);
  const narrow = isNarrow(),
    most = narrow ? FEW_AROUND : MOST_AROUND,
    room = most - Math.min(mates.length, most / 3);
  left = left.slice(0, Math.ceil(room / 2) + Math.max(0, Math.floor(room / 2) - right.length));
  right = right.slice(0, room - left.length);
  left = [...left, ...mates.slice(0, Math.max(0, most - left.length - right.length))];
  const { nodes, size } = (narrow ? aboveAndBelow : leftAndRight)(c, left, right);
  const at = new Map(nodes.map((node) => [node[0], node]));
  const pairs = links.filter((k) => k.c.length === 2 && at.has(k.c[0]) && at.has(k.c[1]));
  const joined = new Set(pairs.flatMap((k) => (k.c.includes(c) ? k.c : [])));
  const wider = [...left, ...right]
    .filter((u) => !joined.has(u) && !mates.includes(u))
    .map((u) => {
      // they share only a larger part
      const k = linksOf[c].find((l) => l.c.includes(u)) || { s: 0, p: null };
      return { columns: [c, u], strength: k.s, share: k.p, route: null };
    });
  show(
    {
      size,
      nodes,
      edges: [
        ...pairs.map((k) => ({
          columns: k.c,
          mark: k.d ? "→" : "—",
          strength: k.s,
          share: k.p,
          route: narrow ? null : sideRoute(at.get(k.c[0]), at.get(k.c[1])),
        })),
        ...wider,
      ],
      hyperedges: [],
      arcs: false,
    },
    c,
  );
}
function leftAndRight(c, left, right) {
  const own = R.boxes[c],
    [before, widthBefore, tallBefore] = stacked(left),
    [after, widthAfter, tallAfter] = stacked(right);
  const tall = Math.max(tallBefore, tallAfter, own[1]),
    lane = 90,
    middle = widthBefore + (left.length ? lane : 0) + own[0] / 2;
  const nodes = [
    [c, middle, tall / 2, ...own],
    ...before.map(([u, x, y, w, h]) => [u, x, y + (tall - tallBefore) / 2, w, h]),
    ...after.map(([u, x, y, w, h]) => [
      u,
      middle + own[0] / 2 + lane + x,
      y + (tall - tallAfter) / 2,
      w,
      h,
    ]),
  ];
  return { nodes, size: [middle + own[0] / 2 + (right.length ? lane + widthAfter : 0), tall] };
}
function aboveAndBelow(c, above, below) {
  // rows as wide as a phone
  const wide = 420,
    own = R.boxes[c],
    nodes = [];
  let y = 0;
  for (const list of [above, [c], below]) {
    if (y > 0 && list.length) y += 34; // room for lines
    for (let rest = list; rest.length;) {
      let many = 1,
        width = R.boxes[rest[0]][0];
      while (many < rest.length && width + GAP + R.boxes[rest[many]][0] <= wide)
        width += GAP + R.boxes[rest[many++]][0];
      const tall = Math.max(...rest.slice(0, many).map((u) => R.boxes[u][1]));
      let x = (wide - width) / 2;
      for (const u of rest.slice(0, many)) {
        const [w, h] = R.boxes[u];
        nodes.push([u, x + w / 2, y + tall / 2, w, h]);
        x += w + GAP;
      }
      y += tall + GAP;
      rest = rest.slice(many);
    }
  }
  return { nodes, size: [Math.max(wide, own[0]), y - GAP] };
}
const weightTo = (c, u) => Math.max(0, ...linksOf[c].filter((k) => k.c.includes(u)).map(weightOf));
function sideRoute([, ax, ay, aw], [, bx, by, bw]) {
  // from side to side, so that no line runs behind its own box
  if (Math.abs(ax - bx) < Math.max(aw, bw) / 2) return null;
  const aside = bx > ax ? 1 : -1;
  return [
    ax + (aside * aw) / 2,
    ay,
    ax + aside * (aw / 2 + 18),
    ay,
    bx - aside * (bw / 2 + 26),
    by,
    bx - (aside * bw) / 2,
    by,
  ];
}
/** @returns {[any[], number, number]} */
function stacked(list) {
  // [[column, x, y, w, h]…], width, height
  const total = list.reduce((sum_, u) => sum_ + R.boxes[u][1] + GAP, 0),
    most = Math.max(760, total / 3);
  const nodes = [];
  let x = 0,
    y = 0,
    wide = 0,
    tall = 0;
  for (const u of list) {
    const [w, h] = R.boxes[u];
    if (y > 0 && y + h > most) {
      x += wide + 40;
      y = 0;
      wide = 0;
    }
    nodes.push([u, x + w / 2, y + h / 2, w, h]);
    wide = Math.max(wide, w);
    y += h + GAP;
    tall = Math.max(tall, y - GAP);
  }
  return [nodes, x + wide, tall];
}

function apply() {
  view.style.transform = `translate(${zoom.x.toFixed(2)}px, ${zoom.y.toFixed(2)}px) scale(${zoom.k.toFixed(4)})`;
  // Names and states stay readable where the graph is small: their letters grow into the room that they have.
  view.style.setProperty(
    "--name",
    `${Math.min(16, Math.max(13, NAME_PIXELS / zoom.k)).toFixed(2)}px`,
  );
  view.style.setProperty(
    "--text",
    `${Math.min(13.5, Math.max(11.5, STATE_PIXELS / zoom.k)).toFixed(2)}px`,
  );
}
/** Whether the last fit knew the size of the graph. */
export let fitted = false;
export function fit() {
  const { width, height } = graph.getBoundingClientRect(),
    [w, h] = scene.size;
  fitted = width > 24 && height > 24;
  zoom.k = Math.min(1.5, (width - 24) / Math.max(w, 1), (height - 24) / Math.max(h, 1));
  if (!(zoom.k > 0)) zoom.k = 1;
  zoom.x = (width - w * zoom.k) / 2;
  zoom.y = (height - h * zoom.k) / 2;
  apply();
}
export function zoomBy(factor, x, y) {
  const { width, height } = graph.getBoundingClientRect();
  const px = x === undefined ? width / 2 : x,
    py = y === undefined ? height / 2 : y;
  const k = Math.min(6, Math.max(0.05, zoom.k * factor));
  zoom = { x: px - ((px - zoom.x) * k) / zoom.k, y: py - ((py - zoom.y) * k) / zoom.k, k };
  apply();
}
export function settle(c) {
  // the window became narrower: fit again, unless names would be too small
  const before = zoom.k;
  fit();
  if (zoom.k < Math.min(0.6, 0.8 * before)) zoomBy(Math.min(0.6, before) / zoom.k);
  if (boxes.has(c)) reveal(boxes.get(c));
}
function reveal(box) {
  // bring a box that is outside the window into it
  const { width, height } = graph.getBoundingClientRect();
  const x = zoom.x + box.x * zoom.k,
    y = zoom.y + box.y * zoom.k,
    mx = (box.w * zoom.k) / 2,
    my = (box.h * zoom.k) / 2;
  if (x - mx < 0 || x + mx > width) zoom.x += width / 2 - x;
  if (y - my < 0 || y + my > height) zoom.y += height / 2 - y;
  graph.scrollTo(0, 0); // the browser must not scroll what is moved here
  apply();
}
export function roam(c) {
  // one monitor at a time can be reached with Tab
  here = c;
  for (const box of boxes.values())
    for (const control of box.node.querySelectorAll("button"))
      control.tabIndex = box.c === c ? 0 : -1;
}
function step(from, key) {
  const [ux, uy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[
    key
  ];
  /** @type {any} */
  let best = null;
  let least = Infinity;
  for (const box of boxes.values()) {
    const ahead = (box.x - from.x) * ux + (box.y - from.y) * uy;
    const aside = Math.abs((box.x - from.x) * uy) + Math.abs((box.y - from.y) * ux);
    if (ahead > 1 && ahead + 2 * aside < least) {
      least = ahead + 2 * aside;
      best = box;
    }
  }
  if (best) {
    roam(best.c);
    best.monitor.name.focus();
  }
}
export function markOpen() {
  for (const box of boxes.values()) box.node.classList.toggle("open", box.c === opened);
  pin(opened !== null && boxes.has(opened) ? [opened] : null);
}
export function follow() {
  // dragging: of a box by its head, or of the whole; two fingers zoom
  /** @type {any} what the pointer holds */
  let held = null;
  let pinched = false;
  const fingers = new Map(),
    middle = () => {
      const [[ax, ay], [bx, by]] = fingers.values(),
        { left, top } = graph.getBoundingClientRect();
      return [(ax + bx) / 2 - left, (ay + by) / 2 - top, Math.hypot(ax - bx, ay - by)];
    };
  graph.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (event.pointerType === "touch") fingers.set(event.pointerId, [event.clientX, event.clientY]);
    pinched = fingers.size > 1;
    if (pinched) {
      held = null;
      return;
    }
    const head = event.target.closest(".monitor-head"),
      edge = event.target.closest(".edge, .hyper");
    const box = head ? boxes.get(Number(head.closest(".monitor").dataset.column)) : null;
    held = {
      edge,
      box,
      still: Boolean(event.target.closest(".monitor")),
      x: event.clientX,
      y: event.clientY,
      far: false,
      id: event.pointerId,
    };
  });
  graph.addEventListener("pointermove", (event) => {
    if (fingers.size === 2 && fingers.has(event.pointerId)) {
      const [x, y, wide] = middle();
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      const [nextX, nextY, nextWide] = middle();
      zoomBy(nextWide / Math.max(wide, 1), x, y);
      zoom.x += nextX - x;
      zoom.y += nextY - y;
      apply();
    }
    if (!held) return;
    const dx = event.clientX - held.x,
      dy = event.clientY - held.y;
    if (!held.far && Math.hypot(dx, dy) < 5) return;
    if (!held.far) {
      held.far = true;
      graph.setPointerCapture(held.id);
      graph.classList.add("dragging");
    }
    held.x = event.clientX;
    held.y = event.clientY;
    if (!held.box) {
      zoom.x += dx;
      zoom.y += dy;
      apply();
      return;
    }
    const box = held.box;
    box.x += dx / zoom.k;
    box.y += dy / zoom.k;
    box.moved = true;
    place(box);
    for (const item of drawn) if (item.link.c.includes(box.c)) redraw(item);
  });
  const release = (event) => {
    fingers.delete(event.pointerId);
    if (held && !held.far) {
      if (held.edge) pin(held.edge.link.link.c, held.edge.link);
      else if (!held.still) pin(opened === null ? null : [opened]);
    }
    held = null;
    graph.classList.remove("dragging");
  };
  graph.addEventListener("pointerup", release);
  graph.addEventListener("pointercancel", release);
  graph.addEventListener(
    "click",
    (event) => {
      if (pinched) {
        pinched = false;
        event.preventDefault();
        event.stopPropagation();
      }
    },
    true,
  );
  graph.addEventListener(
    "wheel",
    (event) => {
      const rows = event.target.closest(".monitor-rows");
      if (rows && rows.scrollHeight > rows.clientHeight + 1 && !event.ctrlKey) return; // its states scroll
      event.preventDefault();
      const { left, top } = graph.getBoundingClientRect();
      zoomBy(Math.exp(-event.deltaY * 0.0015), event.clientX - left, event.clientY - top);
    },
    { passive: false },
  );
  graph.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = {
      "+": () => zoomBy(1.25),
      "=": () => zoomBy(1.25),
      "-": () => zoomBy(0.8),
      0: fit,
    }[event.key];
    if (key) {
      event.preventDefault();
      key();
    }
  });
}
