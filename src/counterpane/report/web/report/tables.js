// The tables of a column: its shares, conditional tables, trees, rules and effects.
import { R, count, el, names, number, percent, sized, table, th } from "../explorer/elements.js";
import { effectBlock, signed, unit } from "./effects.js";

export function marginal(c, most) {
  const column = R.columns[c],
    shown = column.s.slice(0, most || column.s.length);
  const grid = el("div", { class: "marginal" });
  shown.forEach((state, i) => {
    const model = column.m && column.m[i],
      data = column.d && column.d[i];
    const bars = el("span", { class: "bars" });
    if (column.m) bars.append(sized(el("i"), model));
    if (column.d) bars.append(sized(el("i", { class: "data" }), data));
    const told = column.m ? model : data;
    grid.append(
      el("span", { class: "label", title: state }, state),
      bars,
      el(
        "span",
        {
          class: "value",
          title: column.m && column.d ? `model ${percent(model)}, data ${percent(data)}` : null,
        },
        told === undefined ? "" : percent(told),
      ),
    );
  });
  const left = column.s.length - shown.length + (column.more || 0);
  if (left > 0)
    grid.append(el("span", { class: "label" }, `… ${left} more`), el("span"), el("span"));
  return grid;
}
function heat(value, unit, largest) {
  const cell = el("td", { class: "heat" }, unit === "p" ? number(value) : signed(value));
  const part = unit === "p" ? value : Math.abs(value) / largest;
  cell.style.background = `rgba(var(${value < 0 ? "--cold" : "--hot"}), ${(0.42 * Math.min(1, part)).toFixed(3)})`;
  return cell;
}
function gridBlock(block) {
  const own = block.c[block.c.length - 1],
    rest = block.c.slice(0, -1),
    wide = block.card[block.card.length - 1];
  const labels = rest.map((u, i) => (block.labels && block.labels[i]) || R.columns[u].s);
  const lines = block.t.length / wide,
    total = block.card.slice(0, -1).reduce((a, b) => a * b, 1);
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
    rows.push(
      el(
        "tr",
        null,
        ...told,
        ...block.t.slice(line * wide, line * wide + wide).map((x) => heat(x, block.u, largest)),
        block.n
          ? el(
              "td",
              { class: "num" },
              block.n[line].toLocaleString("en", { maximumFractionDigits: 0 }),
            )
          : null,
      ),
    );
  }
  const head = [
    ...rest.map((u) => th(names[u])),
    ...R.columns[own].s.map((s) => th(s, "num")),
    block.n ? th("rows", "num") : null,
  ];
  const drawn = table(head, rows);
  drawn
    .querySelector("thead")
    .prepend(
      el(
        "tr",
        null,
        rest.length ? el("td", { colspan: rest.length }) : null,
        el("th", { scope: "colgroup", colspan: wide, class: "num" }, names[own]),
        block.n ? el("td") : null,
      ),
    );
  return el(
    "div",
    null,
    drawn,
    total > lines
      ? el(
          "p",
          { class: "note" },
          `The first ${count(lines, "line")} of ${total.toLocaleString("en")}.`,
        )
      : null,
  );
}
const said = (u, code) => `${names[u]} ${R.columns[u].cut ? "" : "= "}${R.columns[u].s[code]}`;
function treeBlock(block) {
  const own = block.c[0],
    states = R.columns[own].s;
  const grow = (k) => {
    const node = block.nodes[k];
    if (!node.length) return el("span", { class: "answer" }, "…");
    if (node.length === 1)
      return el(
        "span",
        null,
        node[0]
          .map((p, i) => `${states[i]} ${percent(p)}`)
          .slice(0, 6)
          .join(", "),
      );
    const [u, code, yes, no] = node;
    return el(
      "span",
      null,
      `${said(u, code)}?`,
      el(
        "ul",
        null,
        el("li", null, el("span", { class: "answer" }, "yes: "), grow(yes)),
        el("li", null, el("span", { class: "answer" }, "no: "), grow(no)),
      ),
    );
  };
  return el("ul", { class: "tree" }, el("li", null, grow(0)));
}
function rulesBlock(block) {
  const rows = block.rows.map(([told, weight]) =>
    el(
      "tr",
      null,
      el(
        "td",
        { class: "wide" },
        told.map(([u, code, not]) => `${not ? "not " : ""}${said(u, code)}`).join(" and "),
      ),
      heat(weight, "w", Math.abs(block.rows[0][1]) || 1),
    ),
  );
  return el(
    "div",
    null,
    table([th("where"), th("log-odds", "num")], rows),
    block.of > rows.length
      ? el(
          "p",
          { class: "note" },
          `The heaviest ${rows.length} of ${block.of.toLocaleString("en")}.`,
        )
      : null,
  );
}
export function blocks(c) {
  const mine = R.panels.of[c];
  if (!mine)
    return [
      el(
        "p",
        { class: "note" },
        "The tables of this column were left out to keep the report small.",
      ),
    ];
  return mine
    .map((i) => R.panels.blocks[i])
    .map((block) => {
      const about = block.c.map((u) => names[u]);
      const title =
        R.shape === "faces"
          ? about.slice(0, -1).join(" × ")
          : block.k === "grid" && block.c.length > 1 && !block.title.startsWith("P(")
            ? `${block.title} of ${about[about.length - 1]}, given ${about.slice(0, -1).join(", ")}`
            : block.title;
      const what =
        R.shape !== "faces"
          ? null
          : block.k === "effect"
            ? unit(block)
            : `log-odds of ${about[about.length - 1]}`;
      return el(
        "div",
        null,
        el("h3", null, title),
        what ? el("p", { class: "note" }, `adds to the ${what}`) : null,
        block.note ? el("p", { class: "note" }, block.note) : null,
        block.share !== undefined && block.share < 1
          ? el("p", { class: "note" }, `${percent(block.share)}: ${R.shares}.`)
          : null,
        { grid: gridBlock, tree: treeBlock, rules: rulesBlock, effect: effectBlock }[block.k](
          block,
        ),
      );
    });
}
export function keyOf(column) {
  if (!column.m || !column.d) return "";
  return el(
    "p",
    { class: "note" },
    el("span", { class: "key" }, el("i"), "model"),
    el("span", { class: "key" }, el("i", { class: "data" }), "data"),
  );
}
