// Pictures of effects: curves with bands, bars, maps with contour lines.
import { R, classColumn, el, names, number, svg } from "../explorer/elements.js";

const W = 440,
  H = 250,
  LEFT = 52,
  RIGHT = 14,
  TOP = 14,
  BOTTOM = 44,
  MISSING_ROOM = 34; // of a picture; MISSING_ROOM holds missing cells
const MOST_LETTERS = 22;
const SHARE_WIDTH = 62; // of the column of shares of rows beside the names of bars
const short = (text, most = MOST_LETTERS) =>
  text.length <= most ? text : `${text.slice(0, most - 1)}…`;
export const signed = (x) =>
  Math.abs(x) < 0.005 ? "0.00" : (x > 0 ? "+" : "") + x.toFixed(2).replace("-", "−");
const day = (x) => new Date(Math.round(x * 864e5)).toISOString().slice(0, 10);
const states = () => R.columns[classColumn].s;
const ink = (block, i) => `c${states().length === 2 ? 0 : states().length <= 8 ? block.cls[i] : i}`; // of a class, the same everywhere
const shortNumber = (x) => {
  const size = Math.abs(x);
  if (size >= 1e6) return `${Number((x / 1e6).toPrecision(3))} M`.replace("-", "−");
  if (size >= 1e4) return `${Number((x / 1e3).toPrecision(3))} k`.replace("-", "−");
  return String(Number(x.toPrecision(4))).replace("-", "−");
};
const axisText = (axis, x) => (axis.date ? day(x) : shortNumber(x));

function ticks(low, high, most) {
  // round numbers between two ends
  const step0 = (high - low) / most,
    power = 10 ** Math.floor(Math.log10(step0 || 1));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((k) => k >= step0) || power;
  const list = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++)
    list.push(Number((k * step).toPrecision(12)));
  return list;
}
function dates(low, high, most) {
  // first days of years, or of months
  const first = new Date(low * 864e5),
    months = (high - low) / 30.44,
    list = [];
  const step = [1, 3, 6, 12, 24, 60, 120].find((k) => months / k <= most) || 240;
  for (
    let m = Math.ceil((first.getUTCFullYear() * 12 + first.getUTCMonth()) / step) * step;
    ;
    m += step
  ) {
    const x = Date.UTC(Math.floor(m / 12), m % 12, 1) / 864e5;
    if (x > high) return list;
    if (x >= low) list.push(x);
  }
}
const tickText = (axis, x, all) =>
  axis.date
    ? day(x).slice(0, all.every((t) => day(t).slice(5) === "01-01") ? 4 : 7)
    : shortNumber(x);

function frame(label, ...children) {
  return svg(
    "svg",
    { class: "chart effect", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label },
    ...children,
  );
}
const text = (x, y, words, anchor = "middle", attributes = {}) =>
  svg("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor, ...attributes }, words);
function swatches(block) {
  if (block.cls.length < 2) return null;
  const many =
    states().length > block.cls.length
      ? ` (${block.cls.length} of ${states().length} classes)`
      : "";
  return el(
    "p",
    { class: "note swatches" },
    ...block.cls.map((c, i) =>
      el("span", { class: "key" }, el("i", { class: ink(block, i) }), states()[c]),
    ),
    many,
  );
}
export const unit = (block) => {
  const target = names[classColumn];
  return states().length === 2
    ? `log-odds of ${short(target, 16)} = ${short(states()[block.cls[0]], 14)}`
    : `log-odds of ${short(target)}`;
};

// Numbers on an axis from one pixel to another; missing cells stand in a strip of their own.
function scaleOf(axis, from, to) {
  const ends = axis.e || axis.x,
    low = ends[0],
    high = ends[ends.length - 1],
    turn = to < from ? -1 : 1;
  const last = axis.gap ? to - turn * MISSING_ROOM : to;
  const at = (x) => from + ((x - low) / (high - low || 1)) * (last - from);
  return { at, low, high, strip: axis.gap ? [last + turn * 8, to] : null };
}
function numberTicks(axis, scale, most) {
  const list = (axis.date ? dates : ticks)(scale.low, scale.high, most);
  return list.map((x) => [scale.at(x), tickText(axis, x, list)]);
}
function bottomAxis(axis, scale) {
  const parts = numberTicks(axis, scale, 5).map(([x, words]) =>
    svg(
      "g",
      null,
      svg("path", { class: "axis", d: `M${x} ${H - BOTTOM} v4` }),
      text(x, H - BOTTOM + 16, words),
    ),
  );
  if (scale.strip)
    parts.push(text((scale.strip[0] + scale.strip[1]) / 2, H - BOTTOM + 28, "missing"));
  return [
    ...parts,
    text((LEFT + W - RIGHT) / 2, H - 4, short(axis.n, 40), "middle", { class: "name" }),
  ];
}

function effectCurve(block) {
  const axis = block.axes[0],
    n = axis.x.length,
    scale = scaleOf(axis, LEFT, W - RIGHT);
  const all = block.v.flatMap((row, i) =>
    row.flatMap((y, j) => [y - block.s[i][j], y + block.s[i][j]]),
  );
  const low = Math.min(0, ...all),
    high = Math.max(0, ...all),
    pad = 0.06 * (high - low || 1);
  const y = (v) => TOP + (1 - (v - low + pad) / (high - low + 2 * pad)) * (H - BOTTOM - TOP);
  const point = (j, v) => `${scale.at(axis.x[j]).toFixed(1)} ${y(v).toFixed(1)}`;
  const parts = ticks(low - pad, high + pad, 5).flatMap((v) => [
    svg("path", { class: v === 0 ? "zero" : "rule", d: `M${LEFT} ${y(v)} H${W - RIGHT}` }),
    text(LEFT - 6, y(v) + 4, shortNumber(v), "end"),
  ]);
  if (scale.strip)
    parts.push(
      svg("rect", {
        class: "strip",
        x: scale.strip[0],
        y: TOP,
        width: scale.strip[1] - scale.strip[0],
        height: H - BOTTOM - TOP,
      }),
    );
  block.v.forEach((row, i) => {
    const up = axis.x.map((_, j) => point(j, row[j] + block.s[i][j])),
      down = axis.x.map((_, j) => point(j, row[j] - block.s[i][j])).reverse();
    parts.push(
      svg("path", { class: `band ${ink(block, i)}`, d: `M${[...up, ...down].join("L")}Z` }),
      svg("path", {
        class: `line ${ink(block, i)}`,
        d: `M${axis.x.map((_, j) => point(j, row[j])).join("L")}`,
      }),
    );
    if (scale.strip) {
      const x =
          scale.strip[0] + ((i + 1) / (block.v.length + 1)) * (scale.strip[1] - scale.strip[0]),
        s = block.s[i][n];
      parts.push(
        svg("path", {
          class: `line ${ink(block, i)}`,
          d: `M${x} ${y(row[n] - s)} V${y(row[n] + s)}`,
        }),
        svg(
          "circle",
          { class: `dot ${ink(block, i)}`, cx: x, cy: y(row[n]), r: 3.5 },
          svg("title", null, `missing: ${signed(row[n])}`),
        ),
      );
    }
  });
  parts.push(
    svg("path", {
      class: "rug",
      d: (axis.seen || []).map((x) => `M${scale.at(x).toFixed(1)} ${H - BOTTOM} v-6`).join(""),
    }),
    svg("path", { class: "axis", d: `M${LEFT} ${H - BOTTOM} H${W - RIGHT}` }),
    ...bottomAxis(axis, scale),
  );
  const cursor = svg("path", { class: "cursor", d: "" }),
    told = el("p", { class: "note told", "aria-hidden": "true" }, "\u00a0");
  const picture = frame(
    `Effect of ${axis.n} on the ${unit(block)}, from ${number(Math.min(...block.v.flat()), 2)} to ${number(Math.max(...block.v.flat()), 2)}.`,
    ...parts,
    cursor,
  );
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect(),
      px = ((event.clientX - box.left) / box.width) * W;
    let best = 0;
    axis.x.forEach((x, j) => {
      if (Math.abs(scale.at(x) - px) < Math.abs(scale.at(axis.x[best]) - px)) best = j;
    });
    cursor.setAttribute("d", `M${scale.at(axis.x[best])} ${TOP} V${H - BOTTOM}`);
    told.textContent = `${axis.n} ≈ ${axisText(axis, axis.x[best])}: ${block.v.map((row, i) => `${block.v.length > 1 ? states()[block.cls[i]] + " " : ""}${signed(row[best])}`).join(", ")}`;
  });
  picture.addEventListener("pointerleave", () => {
    cursor.setAttribute("d", "");
    told.textContent = "\u00a0";
  });
  return el("div", null, swatches(block), picture, told);
}

function bars(block) {
  const axis = block.axes[0],
    k = block.v.length,
    thick = k > 1 ? 9 : 16,
    row = k * (thick + 2) + 12,
    wide = 175;
  const all = block.v.flatMap((list, i) =>
    list.flatMap((v, j) => [v - block.s[i][j], v + block.s[i][j]]),
  );
  const low = Math.min(0, ...all),
    high = Math.max(0, ...all),
    tall = axis.l.length * row + 30;
  const x = (v) => wide + ((v - low) / (high - low || 1)) * (W - wide - 56);
  const parts = [svg("path", { class: "zero", d: `M${x(0)} 4 V${tall - 26}` })];
  if (axis.r.length) parts.push(text(wide - 8, tall - 8, "of rows", "end", { class: "soft" }));
  axis.l.forEach((label, j) => {
    const top = 6 + j * row,
      share = axis.r.length ? `${(100 * axis.r[j]).toFixed(1)} %` : "";
    parts.push(
      svg(
        "text",
        { x: wide - (share ? SHARE_WIDTH : 8), y: top + row / 2 - 2, "text-anchor": "end" },
        svg("title", null, share ? `${label}: ${share} of the rows` : label),
        short(label, share ? 15 : 20),
      ),
      text(wide - 8, top + row / 2 - 2, share, "end", { class: "soft" }),
    );
    block.v.forEach((list, i) => {
      const v = list[j],
        s = block.s[i][j],
        y = top + i * (thick + 2),
        end = v < 0 ? x(Math.max(v + s, 0)) : x(v + s);
      parts.push(
        svg(
          "rect",
          {
            class: `bar ${ink(block, i)}`,
            x: Math.min(x(0), x(v)),
            y,
            width: Math.abs(x(v) - x(0)),
            height: thick,
            rx: 2,
          },
          svg(
            "title",
            null,
            `${label}${k > 1 ? `, ${states()[block.cls[i]]}` : ""}: ${signed(v)} ± ${number(s, 2)}`,
          ),
        ),
        svg("path", { class: "error", d: `M${x(v - s)} ${y + thick / 2} H${x(v + s)}` }),
      );
      if (k === 1) parts.push(text(end + 6, y + thick - 4, signed(v), "start"));
    });
  });
  parts.push(
    ...ticks(low, high, 4).map((v) =>
      text(x(v), tall - 8, shortNumber(v), "middle", { class: "soft" }),
    ),
  );
  const picture = svg(
    "svg",
    {
      class: "chart effect",
      viewBox: `0 0 ${W} ${tall}`,
      role: "img",
      "aria-label": `Effect of ${axis.n}: ${axis.l
        .slice(0, 8)
        .map((l, j) => `${l} ${signed(block.v[0][j])}`)
        .join(", ")}.`,
    },
    ...parts,
  );
  return el(
    "div",
    null,
    swatches(block),
    picture,
    axis.more
      ? el("p", { class: "note" }, `${axis.more} states of smaller effects are left out.`)
      : null,
  );
}

// Cells of an axis as intervals of pixels: numbers between their edges, then missing ones; or states.
/** @returns {{ spans: any[], scale: any }} */
function cellsOf(axis, from, to) {
  if (axis.l)
    return {
      spans: axis.l.map((_, j) => [
        from + ((to - from) * j) / axis.l.length,
        from + ((to - from) * (j + 1)) / axis.l.length,
      ]),
      scale: null,
    };
  const scale = scaleOf(axis, from, to);
  const spans = axis.x.map((_, j) => [scale.at(axis.e[j]), scale.at(axis.e[j + 1])]);
  return { scale, spans: scale.strip ? [...spans, scale.strip] : spans };
}
function contours(grid, nx, ny, xs, ys, level, stride) {
  // by marching squares through the centers of cells
  let path = "";
  const cross = (a, b, p, q) => {
    const t = (level - a) / (b - a);
    return [p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])];
  };
  for (let j = 0; j + 1 < ny; j++)
    for (let i = 0; i + 1 < nx; i++) {
      const corners = [
          [i, j],
          [i + 1, j],
          [i + 1, j + 1],
          [i, j + 1],
        ],
        v = corners.map(([a, b]) => grid[b * stride + a]),
        ends = [];
      for (let e = 0; e < 4; e++) {
        const f = (e + 1) % 4;
        if (v[e] < level !== v[f] < level)
          ends.push(
            cross(
              v[e],
              v[f],
              [xs[corners[e][0]], ys[corners[e][1]]],
              [xs[corners[f][0]], ys[corners[f][1]]],
            ),
          );
      }
      for (let e = 0; e + 1 < ends.length; e += 2)
        path += `M${ends[e].map((c) => c.toFixed(1)).join(" ")}L${ends[e + 1].map((c) => c.toFixed(1)).join(" ")}`;
    }
  return path;
}
const fillOf = (v, most) =>
  `rgba(var(${v < 0 ? "--cold" : "--hot"}), ${(0.9 * Math.min(1, Math.abs(v) / (most || 1))).toFixed(3)})`;

function map(block, one, turn, most) {
  const [ax, ay] = block.axes,
    left = ay.l ? 110 : LEFT,
    v = one.v[turn];
  const x = cellsOf(ax, left, W - RIGHT),
    y = cellsOf(ay, H - BOTTOM, TOP + 10),
    nx = x.spans.length;
  const parts = [];
  y.spans.forEach(([y0, y1], j) =>
    x.spans.forEach(([x0, x1], i) => {
      const value = v[j * nx + i],
        cell = svg("rect", {
          x: Math.min(x0, x1).toFixed(1),
          y: Math.min(y0, y1).toFixed(1),
          width: Math.abs(x1 - x0).toFixed(1),
          height: Math.abs(y1 - y0).toFixed(1),
          class: "cell",
        });
      cell.style.fill = fillOf(value, most);
      const where = (axis, k) =>
        axis.l
          ? axis.l[k]
          : k >= axis.x.length
            ? "missing"
            : `${axisText(axis, axis.e[k])} to ${axisText(axis, axis.e[k + 1])}`;
      cell.append(
        svg("title", null, `${ax.n}: ${where(ax, i)}\n${ay.n}: ${where(ay, j)}\n${signed(value)}`),
      );
      parts.push(cell);
    }),
  );
  if (x.scale && y.scale && ax.x.length > 2 && ay.x.length > 2) {
    const xs = ax.x.map(x.scale.at),
      ys = ay.x.map(y.scale.at);
    for (let k = -2; k <= 2; k++)
      parts.push(
        svg("path", {
          class: k ? "contour" : "contour zero",
          d: contours(v, ax.x.length, ay.x.length, xs, ys, (k * most) / 3, nx),
        }),
      );
  }
  const place = (axis, cells, c, shake) =>
    axis.l
      ? cells.spans[c]
        ? cells.spans[c][0] + (cells.spans[c][1] - cells.spans[c][0]) * shake
        : null
      : cells.scale.at(c);
  (one.p[0] || []).forEach((a, i) => {
    // states spread their rows, by golden steps
    const px = place(ax, x, a, 0.15 + 0.7 * ((i * 0.618) % 1)),
      py = place(ay, y, one.p[1][i], 0.15 + 0.7 * ((i * 0.618) % 1));
    if (px !== null && py !== null)
      parts.push(svg("circle", { class: "row", cx: px.toFixed(1), cy: py.toFixed(1), r: 1.3 }));
  });
  const side = ay.l
    ? y.spans.map(([a, b], j) =>
        svg(
          "text",
          { x: left - 6, y: (a + b) / 2 + 4, "text-anchor": "end" },
          svg("title", null, ay.l[j]),
          short(ay.l[j], 15),
        ),
      )
    : [
        ...numberTicks(ay, y.scale, 5).map(([p, words]) => text(left - 5, p + 4, words, "end")),
        ...(y.scale.strip
          ? [text(left - 5, (y.scale.strip[0] + y.scale.strip[1]) / 2 + 4, "missing", "end")]
          : []),
      ];
  parts.push(
    svg("path", {
      class: "axis",
      fill: "none",
      d: `M${left} ${TOP + 10} V${H - BOTTOM} H${W - RIGHT}`,
    }),
    ...side,
  );
  if (ax.l)
    x.spans.forEach(([a, b], j) =>
      parts.push(
        text(
          (a + b) / 2,
          H - BOTTOM + 16,
          short(ax.l[j], Math.max(3, Math.floor(44 / ax.l.length))),
        ),
      ),
    );
  parts.push(
    ...(ax.l
      ? [text((left + W - RIGHT) / 2, H - 4, short(ax.n, 40), "middle", { class: "name" })]
      : bottomAxis(ax, x.scale)),
    text(4, 10, short(ay.n, 40), "start", { class: "name" }),
  );
  return el(
    "figure",
    null,
    one.w ? el("figcaption", null, one.w) : null,
    frame(
      `Effect of ${ax.n} and ${ay.n}${one.w ? `, ${one.w}` : ""} on the ${unit(block)}.`,
      ...parts,
    ),
  );
}
function maps(block) {
  const holder = el("div", { class: "maps" });
  const sizes = block.cls.map((_, i) =>
    Math.max(...block.maps.flatMap((m) => m.v[i].map(Math.abs))),
  );
  const first = sizes.indexOf(Math.max(...sizes));
  const ramp = (most) =>
    el("p", { class: "note ramp" }, signed(-most), el("i", null), signed(most));
  const draw = (turn) =>
    holder.replaceChildren(
      ...block.maps.map((m) => map(block, m, turn, sizes[turn])),
      ramp(sizes[turn]),
    );
  const pick =
    block.cls.length < 2
      ? null
      : el(
          "select",
          { "aria-label": "Class", onchange: () => draw(Number(pick.value)) },
          ...block.cls.map((c, i) => el("option", { value: i }, states()[c])),
        );
  if (pick) pick.value = String(first);
  draw(first);
  return el("div", null, pick ? el("p", null, "Class ", pick) : null, holder);
}
export const effectBlock = (block) =>
  block.maps ? maps(block) : block.axes[0].l ? bars(block) : effectCurve(block);
