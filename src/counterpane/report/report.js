"use strict";
(() => {
  const R = JSON.parse(document.getElementById("content").textContent);
  const $ = (id) => document.getElementById(id);
  const MOST_LABELED = 30; // edges that carry their numbers in the picture
  const MOST_AROUND = 24, MOST_CARDS = 48, MOST_ROWS = 20, MOST_PRINTED = 80;
  const names = R.columns.map((c) => c.n);

  // Elements. Texts go in as text nodes only, so that no name is ever read as markup.
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
  const sized = (node, share) => { node.style.width = 100 * Math.min(1, Math.max(0, share)) + "%"; return node; };
  const button = (text, action, attributes) => el("button", { type: "button", onclick: action, ...attributes }, text);
  const table = (head, rows) => el("div", { class: "scroll" }, el("table", null,
    el("thead", null, el("tr", null, ...head)), el("tbody", null, ...rows)));
  const th = (text, kind) => el("th", { scope: "col", class: kind }, text);

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
  const unique = (list) => [...new Set(list)];

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
  const wideness = (letter) => (letter.codePointAt(0) > 0x2e7f ? 2 : 1); // East Asian scripts
  function shortened(name) { // its middle is left out, since long names often begin alike
    const letters = [...name], most = R.picture.letters, total = (list) => list.reduce((n, l) => n + wideness(l), 0);
    if (total(letters) <= most) return name;
    let head = 0, tail = letters.length;
    while (total(letters.slice(0, head + 1)) <= most / 2 - 1) head++;
    while (total(letters.slice(tail - 1)) <= most / 2) tail--;
    return `${letters.slice(0, head).join("")}…${letters.slice(tail).join("")}`;
  }

  // The graph: boxes in a group that is moved and scaled.
  const graph = $("graph"), view = svg("g", { class: "view" });
  const H = R.picture.height;
  let boxes = new Map(), drawn = [], scene = null, here = null, zoom = { x: 0, y: 0, k: 1 };
  graph.append(view);

  const border = (from, to) => { // where the line between two centers leaves the first box
    const dx = to.x - from.x, dy = to.y - from.y;
    const t = Math.min(Math.abs(from.w / 2 / (dx || 1e-9)), Math.abs(from.h / 2 / (dy || 1e-9)));
    return [from.x + dx * Math.min(t, 1), from.y + dy * Math.min(t, 1)];
  };
  function curve(p, arc) { // an arc through three points, or a line rounded at its corners
    if (arc && p.length === 6)
      return `M${p[0]} ${p[1]} Q${2 * p[2] - (p[0] + p[4]) / 2} ${2 * p[3] - (p[1] + p[5]) / 2} ${p[4]} ${p[5]}`;
    let path = `M${p[0]} ${p[1]}`;
    for (let i = 2; i < p.length - 2; i += 2)
      path += ` Q${p[i]} ${p[i + 1]} ${(p[i] + p[i + 2]) / 2} ${(p[i + 1] + p[i + 3]) / 2}`;
    return `${path} L${p[p.length - 2]} ${p[p.length - 1]}`;
  }
  function drawEdge(item) {
    const [a, b] = item.link.c.map((c) => boxes.get(c));
    let p = item.route && !a.moved && !b.moved ? item.route.slice() : [...border(a, b), ...border(b, a)];
    if (item.link.d) {
      const n = p.length, dx = p[n - 2] - p[n - 4], dy = p[n - 1] - p[n - 3], long = Math.hypot(dx, dy) || 1;
      const size = 7 + item.width, ux = dx / long, uy = dy / long, x = p[n - 2], y = p[n - 1];
      const bx = x - ux * size, by = y - uy * size, half = size * 0.45;
      item.head.setAttribute("points", `${x},${y} ${bx - uy * half},${by + ux * half} ${bx + uy * half},${by - ux * half}`);
      p = [...p.slice(0, n - 2), bx + ux, by + uy];
    }
    item.path.setAttribute("d", curve(p, R.picture.arcs));
    item.points = p;
    if (item.tag && item.at) writeOn(item);
  }
  function writeOn(item) { // the number on an edge: in its middle, or beside another number
    const clear = ([x, y]) => drawn.every((o) => o === item || !o.at || Math.abs(o.at[0] - x) > 42 || Math.abs(o.at[1] - y) > 13);
    const places = [0.5, 0.35, 0.65, 0.25, 0.75].map((share) => along(item.points, share));
    const [x, y] = (item.at = places.find(clear) || places[0]);
    item.tag.setAttribute("x", x.toFixed(1));
    item.tag.setAttribute("y", (y + 4).toFixed(1));
  }
  const rise = ({ points: p }) => Math.abs(p[p.length - 1] - p[1]); // flat edges have least room for their numbers
  function along(p, share) { // the point at a share of the length of the line through points
    const lengths = [];
    for (let i = 2; i < p.length; i += 2) lengths.push(Math.hypot(p[i] - p[i - 2], p[i + 1] - p[i - 1]));
    let left = lengths.reduce((a, b) => a + b, 0) * share, i = 0;
    while (i < lengths.length - 1 && left > lengths[i]) left -= lengths[i++];
    const t = lengths[i] ? left / lengths[i] : 0;
    return [p[2 * i] + t * (p[2 * i + 2] - p[2 * i]), p[2 * i + 1] + t * (p[2 * i + 3] - p[2 * i + 1])];
  }
  function drawHyper(item) {
    const ends = item.link.c.map((c) => boxes.get(c));
    if (ends.some((b) => b.moved)) {
      item.hub.x = ends.reduce((sum, b) => sum + b.x, 0) / ends.length;
      item.hub.y = ends.reduce((sum, b) => sum + b.y, 0) / ends.length;
    }
    const { x, y } = item.hub;
    const spoke = (b, i) => [x, y, ...(ends.some((e) => e.moved) ? border(b, item.hub) : item.route[i].slice(2))];
    item.path.setAttribute("d", ends.map((b, i) => curve(spoke(b, i), true)).join(" "));
    item.mark.setAttribute("transform", `translate(${x} ${y}) rotate(45)`);
  }
  const redraw = (item) => (item.hub ? drawHyper(item) : drawEdge(item));

  function describe(link) {
    const said = link.c.map((c) => names[c]).join(joiner(link));
    const sure = link.p === null || link.p === undefined ? "" : `, ${percent(link.p)} (${R.shares})`;
    return `${said}: ${strengthText(link.s)} ${R.measure}${sure}`;
  }
  function addLink(link, layer, route, hub, labeled) {
    const width = 1 + (hub ? 2.5 : 4) * weightOf(link);
    const opacity = (0.4 + 0.6 * weightOf(link)).toFixed(2); // of the line, not of its number
    const item = { link, route, width, path: svg("path", { "stroke-width": width.toFixed(2), opacity }) };
    item.group = svg("g", { class: hub ? "hyper" : "edge" },
      svg("title", null, describe(link)), item.path);
    if (hub) {
      item.hub = { x: hub[0], y: hub[1], w: 10, h: 10 };
      item.mark = svg("rect", { opacity, x: -5, y: -5, width: 10, height: 10, rx: 2 });
      item.group.append(item.mark);
    } else if (link.d) {
      item.head = svg("polygon", { opacity });
      item.group.append(item.head);
    }
    if (labeled && !hub) {
      item.tag = svg("text", { "aria-hidden": "true" }, strengthText(link.s));
      item.group.append(item.tag);
    }
    item.group.addEventListener("pointerenter", () => highlight(link.c, item));
    item.group.addEventListener("pointerleave", () => highlight(null));
    item.group.link = item;
    layer.append(item.group);
    drawn.push(item);
    redraw(item);
  }
  function addBox(c, x, y, w, layer) {
    const column = R.columns[c], own = linksOf[c].find((k) => k.c.length === 1);
    const group = svg("g", { class: "node" + (c === R.target ? " target" : ""), tabindex: -1, role: "button", "data-column": c,
      "aria-label": `${column.n}, ${count(column.s.length + (column.more || 0), "state")}, ${count(blanket(c).length, "neighbor")}` });
    group.append(svg("title", null, column.n + (own ? `\n${describe(own)}` : "")),
      svg("rect", { class: "box", x: -w / 2, y: -H / 2, width: w, height: H, rx: 8 }));
    if (own) group.append(svg("rect", { class: "tint", x: -w / 2, y: -H / 2, width: w, height: H, rx: 8, opacity: (0.05 + 0.3 * Math.sqrt(own.s / strongest)).toFixed(2) }));
    const shares = column.m || column.d, inner = w - 20;
    group.append(svg("text", { y: shares ? 0 : 4.5 }, shortened(column.n)));
    if (shares) {
      let at = -inner / 2;
      shares.forEach((p, i) => {
        if (p > 0.004) group.append(svg("rect", { class: "state", x: at.toFixed(1), y: 8, width: (inner * p).toFixed(1), height: 5,
          opacity: (1 - 0.75 * (i / Math.max(1, shares.length - 1))).toFixed(2) }));
        at += inner * p;
      });
    }
    const box = { c, x, y, w, h: H, group, moved: false };
    boxes.set(c, box);
    layer.append(group);
    place(box);
    group.addEventListener("pointerenter", () => highlight([c]));
    group.addEventListener("pointerleave", () => highlight(null));
    group.addEventListener("focus", () => { roam(c); highlight([c]); reveal(box); });
    group.addEventListener("blur", () => highlight(null));
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); openPanel(c, true); }
      else if (event.key.startsWith("Arrow")) { event.preventDefault(); step(box, event.key); }
    });
  }
  const place = (box) => box.group.setAttribute("transform", `translate(${box.x} ${box.y})`);

  function show(next) {
    scene = next;
    view.replaceChildren();
    boxes = new Map();
    drawn = [];
    pinned = null;
    const under = svg("g"), over = svg("g");
    view.append(under, over);
    for (const [c, x, y, w] of next.nodes) addBox(c, x, y, w, over);
    for (const h of next.hyperedges) addLink({ ...h, d: h.d === 1 }, under, h.r, h.hub);
    for (const e of next.edges) addLink({ ...e, d: e.d === 1 }, under, e.r, null, next.edges.length <= MOST_LABELED);
    drawn.filter((item) => item.tag).sort((a, b) => rise(a) - rise(b)).forEach(writeOn);
    const first = next.nodes.length ? next.nodes[0][0] : null;
    roam(boxes.has(here) ? here : first);
    $("whole").hidden = next === R.picture;
    const wide = graph.getBoundingClientRect().width, tall = next.size[1] * Math.min(1.4, wide / next.size[0]) + 48;
    $("stage").style.height = Math.max(420, Math.min(tall, 0.8 * window.innerHeight, 900)) + "px";
    fit();
    mark();
  }
  function around(c) { // parents left, the rest right, each in a column of its own
    const known = [...linksOf[c]].filter((k) => k.c.length === 2).sort((a, b) => weightOf(b) - weightOf(a)).slice(0, MOST_AROUND);
    const mates = unique([...known.flatMap((k) => others(k, c)), ...linksOf[c].flatMap((k) => others(k, c))]).slice(0, MOST_AROUND);
    const width = (u) => Math.max(56, R.picture.letter * Math.min(R.picture.letters, [...names[u]].reduce((n, l) => n + wideness(l), 0)) + 26);
    const before = new Set(known.filter((k) => k.d && k.c[1] === c).map((k) => k.c[0]));
    const left = mates.filter((u, i) => (before.size ? before.has(u) : i % 2 === 0));
    const right = mates.filter((u) => !left.includes(u));
    const tall = Math.max(left.length, right.length, 1) * (H + 16);
    const spread = (list, x) => list.map((u, i) => [u, x, tall * ((i + 0.5) / list.length), width(u)]);
    const nodes = [[c, 380, tall / 2, width(c)], ...spread(left, 100), ...spread(right, 660)];
    const at = new Map(nodes.map((node) => [node[0], node]));
    const route = (k) => { // from side to side, so that no line runs behind a box
      const points = k.c.map((u, i) => {
        const [, x, y, w] = at.get(u), aside = at.get(k.c[1 - i])[1] > x ? 1 : -1;
        return [x + (aside * w) / 2, y];
      });
      return points.flat();
    };
    show({
      size: [760, tall],
      nodes,
      edges: known.filter((k) => at.has(k.c[0]) && at.has(k.c[1])).map((k) => ({ c: k.c, s: k.s, p: k.p, d: k.d ? 1 : 0, r: route(k) })),
      hyperedges: [],
    });
    // A column that shares only larger parts is joined to each of the others.
    const missing = mates.filter((u) => !known.some((k) => k.c.includes(u)));
    for (const u of missing) {
      const k = linksOf[c].find((l) => l.c.includes(u));
      addLink({ c: [c, u], s: k.s, p: k.p, d: false }, view.firstChild, null, null);
    }
  }

  function apply() { view.setAttribute("transform", `translate(${zoom.x.toFixed(2)} ${zoom.y.toFixed(2)}) scale(${zoom.k.toFixed(4)})`); }
  function fit() {
    const { width, height } = graph.getBoundingClientRect(), [w, h] = scene.size;
    zoom.k = Math.min(1.4, (width - 32) / Math.max(w, 1), (height - 32) / Math.max(h, 1));
    if (!(zoom.k > 0)) zoom.k = 1;
    zoom.x = (width - w * zoom.k) / 2;
    zoom.y = (height - h * zoom.k) / 2;
    apply();
  }
  function zoomBy(factor, x, y) {
    const { width, height } = graph.getBoundingClientRect();
    const px = x === undefined ? width / 2 : x, py = y === undefined ? height / 2 : y;
    const k = Math.min(6, Math.max(0.05, zoom.k * factor));
    zoom = { x: px - ((px - zoom.x) * k) / zoom.k, y: py - ((py - zoom.y) * k) / zoom.k, k };
    apply();
  }
  function settle(c) { // the window became narrower: fit again, unless names would be too small
    const before = zoom.k;
    fit();
    if (zoom.k < Math.min(0.6, 0.8 * before)) zoomBy(Math.min(0.6, before) / zoom.k);
    if (boxes.has(c)) reveal(boxes.get(c));
  }
  function reveal(box) { // bring a box that is outside the window into it
    const { width, height } = graph.getBoundingClientRect();
    const x = zoom.x + box.x * zoom.k, y = zoom.y + box.y * zoom.k, m = 40;
    if (x < m || x > width - m) zoom.x += width / 2 - x;
    if (y < m || y > height - m) zoom.y += height / 2 - y;
    apply();
  }
  function roam(c) { // one box at a time can be reached with Tab
    if (boxes.has(here)) boxes.get(here).group.setAttribute("tabindex", -1);
    here = c;
    if (boxes.has(c)) boxes.get(c).group.setAttribute("tabindex", 0);
  }
  function step(from, key) {
    const [ux, uy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    let best = null, least = Infinity;
    for (const box of boxes.values()) {
      const along = (box.x - from.x) * ux + (box.y - from.y) * uy;
      const aside = Math.abs((box.x - from.x) * uy) + Math.abs((box.y - from.y) * ux);
      if (along > 1 && along + 2 * aside < least) { least = along + 2 * aside; best = box; }
    }
    if (best) best.group.focus();
  }
  let pinned = null; // what a click keeps highlighted: [columns, one link or none]
  function pin(columns, only) {
    pinned = columns ? [columns, only] : null;
    highlight(null);
  }
  function highlight(columns, only) {
    for (const item of drawn) item.group.classList.remove("dim", "near");
    for (const box of boxes.values()) box.group.classList.remove("dim");
    if (!columns && pinned) [columns, only] = pinned;
    if (!columns) return;
    const near = new Set(columns);
    for (const item of drawn) {
      const mine = only ? item === only : item.link.c.includes(columns[0]);
      item.group.classList.add(mine ? "near" : "dim");
      if (mine) item.link.c.forEach((c) => near.add(c));
    }
    for (const box of boxes.values()) if (!near.has(box.c)) box.group.classList.add("dim");
  }
  function mark() {
    for (const box of boxes.values()) box.group.classList.toggle("open", box.c === opened);
    pin(opened !== null && boxes.has(opened) ? [opened] : null);
  }
  function follow() { // dragging: of a box, or of the whole; a short press opens the box
    let held = null;
    graph.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const node = event.target.closest(".node"), edge = event.target.closest(".edge, .hyper");
      held = { edge, box: node ? boxes.get(Number(node.dataset.column)) : null, x: event.clientX, y: event.clientY, far: false };
      graph.setPointerCapture(event.pointerId);
    });
    graph.addEventListener("pointermove", (event) => {
      if (!held) return;
      const dx = event.clientX - held.x, dy = event.clientY - held.y;
      if (!held.far && Math.hypot(dx, dy) < 4) return;
      held.far = true;
      graph.classList.add("dragging");
      held.x = event.clientX;
      held.y = event.clientY;
      if (!held.box) { zoom.x += dx; zoom.y += dy; apply(); return; }
      const box = held.box;
      box.x += dx / zoom.k;
      box.y += dy / zoom.k;
      box.moved = true;
      place(box);
      for (const item of drawn) if (item.link.c.includes(box.c)) redraw(item);
    });
    const release = () => {
      if (held && !held.far) {
        if (held.box) { roam(held.box.c); openPanel(held.box.c, false); }
        else if (held.edge) pin(held.edge.link.link.c, held.edge.link);
        else pin(opened === null ? null : [opened]);
      }
      held = null;
      graph.classList.remove("dragging");
    };
    graph.addEventListener("pointerup", release);
    graph.addEventListener("pointercancel", () => { held = null; graph.classList.remove("dragging"); });
    graph.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { left, top } = graph.getBoundingClientRect();
      zoomBy(Math.exp(-event.deltaY * 0.0015), event.clientX - left, event.clientY - top);
    }, { passive: false });
    graph.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = { "+": () => zoomBy(1.25), "=": () => zoomBy(1.25), "-": () => zoomBy(0.8), 0: fit }[event.key];
      if (act) { event.preventDefault(); act(); }
    });
  }

  // Parts of panels.
  function marginal(c, most) {
    const column = R.columns[c], shown = column.s.slice(0, most || column.s.length);
    const grid = el("div", { class: "marginal" });
    shown.forEach((state, i) => {
      const model = column.m && column.m[i], data = column.d && column.d[i];
      const bars = el("span", { class: "bars" });
      if (column.m) bars.append(sized(el("i"), model));
      if (column.d) bars.append(sized(el("i", { class: "data" }), data));
      const told = column.m ? model : data;
      grid.append(el("span", { class: "label", title: state }, state), bars,
        el("span", { class: "value", title: column.m && column.d ? `model ${percent(model)}, data ${percent(data)}` : null },
          told === undefined ? "" : percent(told)));
    });
    const left = column.s.length - shown.length + (column.more || 0);
    if (left > 0) grid.append(el("span", { class: "label" }, `… ${left} more`), el("span"), el("span"));
    return grid;
  }
  function heat(value, unit, largest) {
    const cell = el("td", { class: "heat" }, unit === "p" ? number(value) : (value > 0 ? "+" : "") + number(value, 2));
    const part = unit === "p" ? value : Math.abs(value) / largest;
    cell.style.background = `rgba(var(${value < 0 ? "--cold" : "--hot"}), ${(0.42 * Math.min(1, part)).toFixed(3)})`;
    return cell;
  }
  function gridBlock(block) {
    const own = block.c[block.c.length - 1], rest = block.c.slice(0, -1), wide = block.card[block.card.length - 1];
    const labels = rest.map((u, i) => (block.labels && block.labels[i]) || R.columns[u].s);
    const lines = block.t.length / wide, total = block.card.slice(0, -1).reduce((a, b) => a * b, 1);
    const largest = Math.max(1e-9, ...block.t.map(Math.abs));
    const rows = [];
    for (let line = 0; line < lines; line++) {
      let left = line;
      const told = [];
      for (let i = rest.length - 1; i >= 0; i--) {
        const state = labels[i][left % block.card[i]];
        told.unshift(el("td", null, state === undefined ? "…" : state));
        left = Math.floor(left / block.card[i]);
      }
      rows.push(el("tr", null, ...told,
        ...block.t.slice(line * wide, line * wide + wide).map((x) => heat(x, block.u, largest)),
        block.n ? el("td", { class: "num" }, block.n[line].toLocaleString("en", { maximumFractionDigits: 0 })) : null));
    }
    const head = [...rest.map((u) => th(names[u])), ...R.columns[own].s.map((s) => th(s, "num")), block.n ? th("rows", "num") : null];
    const drawn = table(head, rows);
    drawn.querySelector("thead").prepend(el("tr", null, rest.length ? el("td", { colspan: rest.length }) : null,
      el("th", { scope: "colgroup", colspan: wide, class: "num" }, names[own]), block.n ? el("td") : null));
    return el("div", null, drawn,
      total > lines ? el("p", { class: "note" }, `The first ${count(lines, "line")} of ${total.toLocaleString("en")}.`) : null);
  }
  const said = (u, code) => `${names[u]} ${R.columns[u].cut ? "" : "= "}${R.columns[u].s[code]}`;
  function treeBlock(block) {
    const own = block.c[0], states = R.columns[own].s;
    const grow = (k) => {
      const node = block.nodes[k];
      if (!node.length) return el("span", { class: "answer" }, "…");
      if (node.length === 1) return el("span", null, node[0].map((p, i) => `${states[i]} ${percent(p)}`).slice(0, 6).join(", "));
      const [u, code, yes, no] = node;
      return el("span", null, `${said(u, code)}?`, el("ul", null,
        el("li", null, el("span", { class: "answer" }, "yes: "), grow(yes)),
        el("li", null, el("span", { class: "answer" }, "no: "), grow(no))));
    };
    return el("ul", { class: "tree" }, el("li", null, grow(0)));
  }
  function rulesBlock(block) {
    const rows = block.rows.map(([told, weight]) => el("tr", null,
      el("td", { class: "wide" }, told.map(([u, code, not]) => `${not ? "not " : ""}${said(u, code)}`).join(" and ")),
      heat(weight, "w", Math.abs(block.rows[0][1]) || 1)));
    return el("div", null, table([th("where"), th("log-odds", "num")], rows),
      block.of > rows.length ? el("p", { class: "note" }, `The heaviest ${rows.length} of ${block.of.toLocaleString("en")}.`) : null);
  }
  function blocks(c) {
    const mine = R.panels.of[c];
    if (!mine) return [el("p", { class: "note" }, "The tables of this column were left out to keep the report small.")];
    return mine.map((i) => R.panels.blocks[i]).map((block) => {
      const about = block.c.map((u) => names[u]);
      const title = R.shape === "faces" ? `${about.slice(0, -1).join(" × ")} adds to the log-odds of ${about[about.length - 1]}`
        : block.k === "grid" && block.c.length > 1 && !block.title.startsWith("P(") ? `${block.title} of ${about[about.length - 1]}, given ${about.slice(0, -1).join(", ")}` : block.title;
      return el("div", null, el("h3", null, title),
        block.note ? el("p", { class: "note" }, block.note) : null,
        block.share !== undefined && block.share < 1 ? el("p", { class: "note" }, `${percent(block.share)}: ${R.shares}.`) : null,
        { grid: gridBlock, tree: treeBlock, rules: rulesBlock }[block.k](block));
    });
  }
  function listed(title, columns, c) {
    if (!columns.length) return null;
    const buttons = columns.slice(0, 60).map((u) => button(names[u], () => go(u)));
    if (columns.length > 60) buttons.push(el("span", { class: "note" }, `and ${columns.length - 60} more`));
    return el("div", null, el("h3", null, `${title} (${columns.length})`), el("div", { class: "links" }, ...buttons));
  }

  // The panel of one column.
  let opened = null, back = null;
  function openPanel(c, focus) {
    if (opened === null) back = document.activeElement;
    const was = opened;
    opened = c;
    const { parents, children, beside } = neighbors(c), column = R.columns[c];
    const conditional = R.shape === "conditional";
    const panel = $("panel");
    panel.setAttribute("aria-label", `Column ${column.n}`);
    panel.replaceChildren(
      el("div", { class: "head" }, el("h3", { class: "title" }, column.n), button("✕", closePanel, { "aria-label": "Close" })),
      el("p", { class: "note" }, count(column.s.length + (column.more || 0), "state") + (c === R.target ? ", the class" : "")),
      keyOf(column), marginal(c), ...blocks(c),
      ...[listed(conditional ? "Read by its conditional" : "Parents", parents), listed(conditional ? "Read it" : "Children", children),
        listed(R.shape === "faces" ? "Together with" : R.shape === "dag" ? "Joined, direction open" : "Neighbors", beside),
        R.shape === "dag" || conditional ? listed("Markov blanket", blanket(c)) : null].filter(Boolean),
      linksOf[c].length ? el("p", null, button("Draw only what is around it", () => { around(c); })) : "");
    panel.hidden = false;
    panel.scrollTop = 0;
    if (was === null) settle(c);
    mark();
    if (focus) panel.focus();
  }
  function closePanel() {
    if (opened === null) return;
    const c = opened;
    opened = null;
    $("panel").hidden = true;
    mark();
    fit();
    const node = boxes.has(c) ? boxes.get(c).group : back;
    if (node && node.focus) node.focus();
  }
  function go(c) { // open a column, and draw around it if it is not drawn
    if (!boxes.has(c) && linksOf[c].some((k) => k.c.length > 1)) around(c);
    roam(boxes.has(c) ? c : here);
    openPanel(c, true);
    $("graph-section").scrollIntoView({ block: "start" });
  }
  function keyOf(column) {
    if (!column.m || !column.d) return "";
    return el("p", { class: "note" }, el("span", { class: "key" }, el("i"), "model"), el("span", { class: "key" }, el("i", { class: "data" }), "data"));
  }

  // Sections below the graph.
  const section = (id, title, ...children) => {
    const part = $(id);
    part.replaceChildren(el("h2", null, title), ...children.filter((x) => x !== null && x !== undefined));
    part.hidden = false;
  };
  function growing(items, most, make, what) { // the first of many, and a button for the rest
    const body = make(items.slice(0, most));
    if (items.length <= most) return [body.node];
    const more = button(`Show all ${items.length.toLocaleString("en")} ${what}`, () => { body.add(items.slice(most)); more.remove(); }, { class: "more" });
    return [body.node, el("p", null, more)];
  }
  function interactions() {
    if (!R.listed.length) return;
    const bits = R.listed.some((k) => k[4] !== null), shares = R.listed.some((k) => k[3] !== null), explains = R.listed.some((k) => k[5] !== null);
    const line = ([columns, directed, strength, share, own, explained]) => {
      const joined = joiner({ c: columns, d: directed });
      const parts = columns.flatMap((c, i) => [i ? joined : "", button(names[c], () => go(c))]);
      const meter = el("i", { class: "meter" });
      meter.style.width = (8 * strength) / strongest + "rem";
      return el("tr", null, el("td", { class: "wide" }, el("div", { class: "links" }, ...parts)), el("td", { class: "num" }, strengthText(strength)), el("td", null, meter),
        explains ? el("td", { class: "num" }, percent(explained)) : null, shares ? el("td", { class: "num" }, share === null ? "" : percent(share)) : null, bits ? el("td", { class: "num" }, own === null ? "–" : own.toFixed(4)) : null);
    };
    const make = (items) => {
      const node = table([th("columns"), th(R.measure, "num"), th(""), explains ? th("variance explained", "num") : null, shares ? th(R.samples ? `share of ${R.samples.toLocaleString("en")} samples` : "share", "num") : null, bits ? th("bits per row in the data", "num") : null], items.map(line));
      return { node, add: (rest) => node.querySelector("tbody").append(...rest.map(line)) };
    };
    const class_ = R.target === null ? "" : names[R.target];
    section("interactions", R.shape === "faces" ? "Strongest interactions" : "Strongest edges",
      el("p", { class: "note" }, R.meaning + (explains ? " Variance explained: the share of the variance of the whole log-odds." : "") + (shares && R.shares ? ` Share: ${R.shares}.` : "") + (bits ? ` Bits per row in the data: mutual information of the columns and ${class_}, corrected for chance.` : "")),
      ...growing(R.listed, MOST_ROWS, make, "listed"),
      R.nLinks > R.listed.length ? el("p", { class: "note" }, `The strongest ${R.listed.length} of ${R.nLinks.toLocaleString("en")}.`) : null);
  }
  function columns() {
    const order = R.target === null ? names.map((_, c) => c) : [R.target, ...names.map((_, c) => c).filter((c) => c !== R.target)];
    const some = order.filter((c) => R.columns[c].m || R.columns[c].d);
    if (!some.length) return;
    const card = (c) => el("div", null, el("h3", null, button(names[c], () => go(c))), marginal(c, 8));
    const make = (items) => {
      const node = el("div", { class: "cards" }, ...items.map(card));
      return { node, add: (rest) => node.append(...rest.slice(0, 1000).map(card)) };
    };
    const both = R.columns.find((c) => c.m && c.d);
    const what = R.columns.some((c) => c.m) ? (both ? "The share of each state: under the model, and in the data." : "The share of each state under the model.") : "The share of each state in the data.";
    section("columns", "Marginals", el("p", { class: "note" }, `${what} ${R.marginals}`),
      both ? keyOf(both) : null, ...growing(some, MOST_CARDS, make, "columns"));
  }
  function chart(width, height, left, bottom, ...children) {
    return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img" },
      svg("path", { class: "axis", fill: "none", d: `M${left} 8 V${height - bottom} H${width - 8}` }), ...children);
  }
  function likelyShare(share, n) { // Wilson's 95 % interval
    const z2 = 1.96 ** 2, middle = (share + z2 / (2 * n)) / (1 + z2 / n);
    const half = 1.96 * Math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
    return [Math.max(0, middle - half), Math.min(1, middle + half)];
  }
  function calibration(curves, states) {
    const W = 420, HH = 320, L = 44, B = 40, x = (p) => L + p * (W - L - 16), y = (p) => HH - B - p * (HH - B - 16);
    const holder = el("div"), pick = el("select", { "aria-label": "Class", onchange: () => draw(Number(pick.value)) },
      ...states.map((s, i) => el("option", { value: i }, s)));
    const list = el("div");
    function draw(k) {
      const bins = curves[k], most = Math.max(...bins.map((b) => b[0]));
      const ticks = [0, 0.5, 1].flatMap((p) => [svg("text", { x: x(p), y: HH - B + 16, "text-anchor": "middle" }, `${100 * p} %`),
        svg("text", { x: L - 6, y: y(p) + 4, "text-anchor": "end" }, `${100 * p} %`)]);
      const picture = chart(W, HH, L, B, ...ticks,
        svg("path", { class: "diagonal", d: `M${x(0)} ${y(0)} L${x(1)} ${y(1)}` }),
        svg("path", { class: "curve", d: bins.map((b, i) => `${i ? "L" : "M"}${x(b[1])} ${y(b[2])}`).join(" ") }),
        ...bins.map((b) => {
          const [low, high] = likelyShare(b[2], b[0]);
          return svg("path", { class: "error", d: `M${x(b[1])} ${y(low)} V${y(high)} M${x(b[1]) - 4} ${y(low)} h8 M${x(b[1]) - 4} ${y(high)} h8` });
        }),
        ...bins.map((b) => svg("circle", { cx: x(b[1]), cy: y(b[2]), r: 3 + 6 * Math.sqrt(b[0] / most) },
          svg("title", null, `${b[0]} rows: predicted ${percent(b[1])}, observed ${percent(b[2])} (95 % interval ${likelyShare(b[2], b[0]).map(percent).join(" to ")})`))),
        svg("text", { x: (W + L) / 2, y: HH - 6, "text-anchor": "middle" }, `predicted P(${names[R.target]} = ${states[k]})`),
        svg("text", { x: L + 8, y: 20 }, "observed share"));
      picture.setAttribute("aria-label", `Calibration of ${states[k]}; the table beside it has the same numbers.`);
      holder.replaceChildren(picture);
      list.replaceChildren(table([th("predicted", "num"), th("observed", "num"), th("95 % interval", "num"), th("rows", "num")],
        bins.map((b) => el("tr", null, ...[percent(b[1]), percent(b[2]), likelyShare(b[2], b[0]).map(percent).join(" – "), b[0].toLocaleString("en")].map((t) => el("td", { class: "num" }, t))))));
    }
    const last = states.length - 1;
    pick.value = String(last);
    draw(last);
    return el("div", null, el("h3", null, "Calibration"), el("p", null, "Class ", pick),
      el("p", { class: "note" }, "A dot is a group of rows, larger for more rows. Bars are 95 % intervals of the observed share: where they cross the diagonal, predicted and observed shares agree."), el("div", { class: "two" }, holder, list));
  }
  function confusion(counts, states) {
    const rows = counts.map((row, i) => {
      const total = row.reduce((a, b) => a + b, 0);
      return el("tr", null, el("th", { scope: "row" }, states[i]), ...row.map((n) => {
        const cell = el("td", { class: "num" }, n.toLocaleString("en"));
        cell.style.background = `rgba(var(--hot), ${(0.42 * (total ? n / total : 0)).toFixed(3)})`;
        return cell;
      }), el("td", { class: "num" }, total ? percent(row[i] / total) : "–"));
    });
    return el("div", null, el("h3", null, "Confusion"), el("p", { class: "note" }, "Rows: the true class; columns: the most probable one."),
      table([th("true"), ...states.map((s) => th(s, "num")), th("recall", "num")], rows));
  }
  function measures() {
    const m = R.measures;
    if (!m) return section("fit-section", "Fit", el("p", { class: "note" }, "No data was given, so nothing was measured; pass data to see how well the model tells rows that it has not seen."));
    const rows = m.lines.map(([name, meaning, fresh, itself, base]) => el("tr", null, el("td", null, name),
      ...(m.held ? [el("td", { class: "num" }, el("strong", null, number(fresh, 4)))] : []),
      el("td", { class: "num" }, number(itself, 4)), el("td", { class: "num" }, number(base, 4)), el("td", null, meaning)));
    const head = [th("measure"), ...(m.held ? [th("held out", "num")] : []), th("the model, all rows given", "num"), th(m.base, "num"), th("what it says")];
    const states = R.target === null ? [] : R.columns[R.target].s;
    section("fit-section", "Fit", el("p", { class: "note" }, [m.held, m.note].filter(Boolean).join(" ")), table(head, rows),
      m.confusion ? el("div", { class: "two" }, calibration(m.calibration, states), confusion(m.confusion, states)) : null);
  }
  function trace() {
    if (!R.trace.length) return;
    const keys = unique(R.trace.flatMap((r) => Object.keys(r)));
    const numeric = (key) => R.trace.filter((r) => typeof r[key] === "number").length > 1;
    const best = ["score", "log_posterior", "log_score", "pll", "inner_log_loss", "entropy", "best_gain"].find(numeric);
    const parts = [];
    if (best) {
      const points = R.trace.map((r, i) => [r.step === undefined ? i : r.step, r[best]]).filter((p) => typeof p[1] === "number");
      const W = 460, HH = 220, L = 12, B = 28;
      const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]), [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
      const x = (v) => L + 10 + ((v - x0) / (x1 - x0 || 1)) * (W - L - 30), y = (v) => HH - B - 14 - ((v - y0) / (y1 - y0 || 1)) * (HH - B - 50);
      const picture = chart(W, HH, L, B, svg("path", { class: "curve", d: points.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`).join(" ") }),
        ...points.slice(0, 200).map((p) => svg("circle", { cx: x(p[0]).toFixed(1), cy: y(p[1]).toFixed(1), r: 3.5 }, svg("title", null, `step ${p[0]}: ${number(p[1])}`))),
        svg("text", { x: L + 8, y: 18 }, `${best.replace(/_/g, " ")}, from ${number(y0)} to ${number(y1)}`),
        svg("text", { x: W - 10, y: HH - 8, "text-anchor": "end" }, "step"));
      picture.setAttribute("aria-label", `${best} by step`);
      parts.push(picture);
    }
    const text = (v) => (v === undefined || v === null ? "" : Array.isArray(v) ? v.join(" × ") : typeof v === "number" && !Number.isInteger(v) ? number(v, 4) : String(v));
    const line = (r) => el("tr", null, ...keys.map((k) => el("td", { class: typeof r[k] === "number" ? "num" : null }, text(r[k]))));
    const make = (items) => {
      const node = table(keys.map((k) => th(k.replace(/_/g, " "))), items.map(line));
      return { node, add: (rest) => node.querySelector("tbody").append(...rest.map(line)) };
    };
    section("trace", "Search trace", el("p", { class: "note" }, "What the learner did, step by step; seconds are those since it began."), ...parts, ...growing(R.trace, MOST_ROWS, make, "steps"));
  }
  function learned() {
    section("learned", "How it was learned", el("dl", null, ...R.learned.flatMap(([key, value]) => [el("dt", null, key), el("dd", null, value)])));
  }
  function printed() { // on paper every column's tables follow at the end
    const order = unique([...(R.target === null ? [] : [R.target]), ...R.picture.nodes.map((n) => n[0])]).slice(0, MOST_PRINTED);
    const faces = R.shape === "faces" && R.target !== null;
    section("appendix", "Tables of the columns", ...(faces ? [el("div", null, ...blocks(R.target))]
      : order.map((c) => el("div", null, el("h3", null, names[c]), el("p", { class: "note" }, [["Parents", neighbors(c).parents], ["Children", neighbors(c).children], ["Joined", neighbors(c).beside]]
        .filter(([, list]) => list.length).map(([title, list]) => `${title}: ${list.map((u) => names[u]).join(", ")}.`).join(" ")), ...blocks(c)))),
      order.length < names.length && !faces ? el("p", { class: "note" }, `${order.length} of ${names.length.toLocaleString("en")} columns are printed.`) : null);
    graph.setAttribute("viewBox", `-8 -8 ${scene.size[0] + 16} ${scene.size[1] + 16}`); // paper is as wide as it is
    view.removeAttribute("transform");
  }
  function unprinted() {
    $("appendix").replaceChildren();
    $("appendix").hidden = true;
    graph.removeAttribute("viewBox");
    fit();
  }

  // Search, theme, start.
  function search() {
    const input = $("find"), list = $("found");
    let hits = [], at = -1;
    const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); at = -1; };
    const choose = (c) => { close(); input.value = ""; go(c); };
    const pick = (i) => {
      at = i;
      [...list.children].forEach((li, j) => li.setAttribute("aria-selected", String(j === i)));
      if (list.children[i]) { input.setAttribute("aria-activedescendant", list.children[i].id); list.children[i].scrollIntoView({ block: "nearest" }); }
    };
    input.addEventListener("input", () => {
      const text = input.value.trim().toLowerCase();
      const starts = [], holds = [];
      if (text) names.forEach((n, c) => { const i = n.toLowerCase().indexOf(text); if (i === 0) starts.push(c); else if (i > 0) holds.push(c); });
      hits = [...starts, ...holds].slice(0, 30);
      list.replaceChildren(...(hits.length ? hits.map((c, i) => el("li", { role: "option", id: `found-${i}`, "aria-selected": "false", onpointerdown: (e) => { e.preventDefault(); choose(c); } }, names[c]))
        : [el("li", { role: "option", "aria-disabled": "true" }, "No such column")]));
      list.hidden = !text;
      input.setAttribute("aria-expanded", String(Boolean(text)));
      if (hits.length) pick(0);
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); if (hits.length) pick((at + (event.key === "ArrowDown" ? 1 : hits.length - 1)) % hits.length); }
      else if (event.key === "Escape") { input.value = ""; close(); event.stopPropagation(); }
    });
    input.addEventListener("blur", close);
    $("search").addEventListener("submit", (event) => { event.preventDefault(); if (hits.length && input.value.trim()) choose(hits[Math.max(at, 0)]); });
  }
  function theme() {
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    let chosen = null;
    try { chosen = localStorage.getItem("counterpane-theme"); } catch { /* no storage here */ }
    const use = () => {
      const now = chosen || (dark.matches ? "dark" : "light");
      document.documentElement.dataset.theme = now;
      $("theme").textContent = now === "dark" ? "Light" : "Dark";
    };
    dark.addEventListener("change", use);
    $("theme").addEventListener("click", () => {
      chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      try { localStorage.setItem("counterpane-theme", chosen); } catch { /* no storage here */ }
      use();
    });
    use();
  }
  function summary() {
    const rows = R.rows === null ? "" : `, beside ${count(R.rows, "row")} of data`;
    const parts = { faces: "interaction", dag: "edge" }[R.shape] || "link";
    $("summary").textContent = `${R.kind} of ${count(names.length, "column")} and ${count(R.nLinks, parts)}${R.target === null ? "" : `, for the class ${names[R.target]}`}${rows}.`;
    const lines = R.picture.edges.length + R.picture.hyperedges.length;
    const wide = !lines ? "No two columns are joined." : certain ? `Edges are as wide as they are sure: ${R.shares}.` : `Edges are as wide as they are strong (${R.measure}).`;
    const numbers = R.picture.edges.length && R.picture.edges.length <= MOST_LABELED ? ` The number on an edge is its strength (${R.measure}).` : "";
    const hyper = R.picture.hyperedges.length ? " A diamond joins three or more columns that act together." : "";
    const bars = R.columns.some((c) => c.m || c.d) ? " The bar in a box shows the shares of its states." : "";
    const joint = lines ? ` A line joins columns that act on the class ${names[R.target]} together.` : "";
    const faces = R.shape === "faces" ? `${joint} The deeper a box is tinted, the more its column alone moves the class ${names[R.target]}.` : "";
    const open = R.shape === "dag" && links.some((k) => !k.d) ? " A line without an arrow: the data do not tell its direction." : "";
    const told = R.shape === "dag" && links.some((k) => k.d) ? " An arrow: all networks that fit the data equally well have this direction, or it was known beforehand." : "";
    const arrows = R.shape === "conditional" ? " An arrow goes to a column from one that its conditional reads; a plain line goes both ways." : open + told;
    $("legend").replaceChildren(`${wide}${numbers}${hyper}${faces}${arrows}${bars} ${R.picture.note} `,
      el("span", { class: "more" }, "Drag to move, wheel or + and − to zoom, click a column for its tables."));
    if (R.shape === "faces") {
      const chip = $("class");
      chip.hidden = false;
      chip.textContent = `Class: ${names[R.target]}`;
      chip.addEventListener("click", () => openPanel(R.target, true));
    }
    const titles = [...document.querySelectorAll("main > section:not([hidden]) > h2, #graph-title")];
    $("nav").append(...titles.map((h) => el("a", { href: `#${h.closest("section").id}` }, h.textContent)));
  }

  theme();
  $("overview").append(...R.overview.map((words) => el("p", null, words)));
  interactions();
  measures();
  columns();
  trace();
  learned();
  summary();
  search();
  follow();
  show(R.picture);
  $("in").addEventListener("click", () => zoomBy(1.25));
  $("out").addEventListener("click", () => zoomBy(0.8));
  $("fit").addEventListener("click", fit);
  $("whole").addEventListener("click", () => { show(R.picture); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") closePanel(); });
  window.addEventListener("resize", () => { if (!graph.hasAttribute("viewBox")) fit(); });
  window.addEventListener("beforeprint", printed);
  window.addEventListener("afterprint", unprinted);
})();
