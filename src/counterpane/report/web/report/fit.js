// How well the model fits: measures, calibration, confusion.
import {
  R,
  classColumn,
  el,
  names,
  number,
  percent,
  svg,
  table,
  th,
} from "../explorer/elements.js";
import { section } from "./sections.js";

export function chart(width, height, left, bottom, ...children) {
  return svg(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img" },
    svg("path", { class: "axis", fill: "none", d: `M${left} 8 V${height - bottom} H${width - 8}` }),
    ...children,
  );
}
function likelyShare(share, n) {
  // Wilson's 95 % interval
  const z2 = 1.96 ** 2,
    middle = (share + z2 / (2 * n)) / (1 + z2 / n);
  const half = (1.96 * Math.sqrt((share * (1 - share)) / n + z2 / (4 * n * n))) / (1 + z2 / n);
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}
function calibration(curves, states) {
  const W = 420,
    HH = 320,
    L = 44,
    B = 40,
    x = (p) => L + p * (W - L - 16),
    y = (p) => HH - B - p * (HH - B - 16);
  const holder = el("div"),
    pick = el(
      "select",
      { "aria-label": "Class", onchange: () => draw(Number(pick.value)) },
      ...states.map((s, i) => el("option", { value: i }, s)),
    );
  const list = el("div");
  function draw(k) {
    const bins = curves[k],
      most = Math.max(...bins.map((b) => b[0]));
    const ticks = [0, 0.5, 1].flatMap((p) => [
      svg("text", { x: x(p), y: HH - B + 16, "text-anchor": "middle" }, `${100 * p} %`),
      svg("text", { x: L - 6, y: y(p) + 4, "text-anchor": "end" }, `${100 * p} %`),
    ]);
    const picture = chart(
      W,
      HH,
      L,
      B,
      ...ticks,
      svg("path", { class: "diagonal", d: `M${x(0)} ${y(0)} L${x(1)} ${y(1)}` }),
      svg("path", {
        class: "curve",
        d: bins.map((b, i) => `${i ? "L" : "M"}${x(b[1])} ${y(b[2])}`).join(" "),
      }),
      ...bins.map((b) => {
        const [low, high] = likelyShare(b[2], b[0]);
        return svg("path", {
          class: "error",
          d: `M${x(b[1])} ${y(low)} V${y(high)} M${x(b[1]) - 4} ${y(low)} h8 M${x(b[1]) - 4} ${y(high)} h8`,
        });
      }),
      ...bins.map((b) =>
        svg(
          "circle",
          { cx: x(b[1]), cy: y(b[2]), r: 3 + 6 * Math.sqrt(b[0] / most) },
          svg(
            "title",
            null,
            `${b[0]} rows: predicted ${percent(b[1])}, observed ${percent(b[2])} (95 % interval ${likelyShare(b[2], b[0]).map(percent).join(" to ")})`,
          ),
        ),
      ),
      svg(
        "text",
        { x: (W + L) / 2, y: HH - 6, "text-anchor": "middle" },
        `predicted P(${names[classColumn]} = ${states[k]})`,
      ),
      svg("text", { x: L + 8, y: 20 }, "observed share"),
    );
    picture.setAttribute(
      "aria-label",
      `Calibration of ${states[k]}; the table beside it has the same numbers.`,
    );
    holder.replaceChildren(picture);
    list.replaceChildren(
      table(
        [
          th("predicted", "num"),
          th("observed", "num"),
          th("95 % interval", "num"),
          th("rows", "num"),
        ],
        bins.map((b) =>
          el(
            "tr",
            null,
            ...[
              percent(b[1]),
              percent(b[2]),
              likelyShare(b[2], b[0]).map(percent).join(" – "),
              b[0].toLocaleString("en"),
            ].map((t) => el("td", { class: "num" }, t)),
          ),
        ),
      ),
    );
  }
  const last = states.length - 1;
  pick.value = String(last);
  draw(last);
  section(
    "calibration",
    "Calibration",
    el(
      "p",
      { class: "note" },
      "A dot is a group of rows, larger for more rows. Bars are 95 % intervals of the observed share: where they cross the diagonal, predicted and observed shares agree.",
    ),
    el("div", { class: "two" }, holder, el("div", null, el("p", null, "Class ", pick), list)),
  );
}
function confusion(counts, states) {
  const rows = counts.map((row, i) => {
    const total = row.reduce((a, b) => a + b, 0);
    return el(
      "tr",
      null,
      el("th", { scope: "row" }, states[i]),
      ...row.map((n) => {
        const cell = el("td", { class: "num" }, n.toLocaleString("en"));
        cell.style.background = `rgba(var(--hot), ${(0.42 * (total ? n / total : 0)).toFixed(3)})`;
        return cell;
      }),
      el("td", { class: "num" }, total ? percent(row[i] / total) : "–"),
    );
  });
  return el(
    "div",
    null,
    el("h3", null, "Confusion"),
    el("p", { class: "note" }, "Rows: the true class; columns: the most probable one."),
    table([th("true"), ...states.map((s) => th(s, "num")), th("recall", "num")], rows),
  );
}
export function measures() {
  const m = R.measures;
  if (!m) return; // the overview says so
  const itself = m.lines.some((line) => line[3] !== null);
  const rows = m.lines.map(([name, meaning, fresh, own, base]) =>
    el(
      "tr",
      null,
      el("td", null, name, el("div", { class: "note" }, meaning)),
      m.held ? el("td", { class: "num" }, el("strong", null, number(fresh, 4))) : null,
      itself ? el("td", { class: "num" }, number(own, 4)) : null,
      el("td", { class: "num" }, number(base, 4)),
    ),
  );
  const head = [
    th("measure"),
    m.held ? th("held out", "num") : null,
    itself ? th("all rows given", "num") : null,
    th(m.base, "num"),
  ];
  const states = R.target === null ? [] : R.columns[classColumn].s;
  section(
    "fit-section",
    "Fit",
    el("p", { class: "note" }, [m.held, m.note].filter(Boolean).join(" ")),
    table(head, rows),
    m.confusion ? confusion(m.confusion, states) : null,
  );
  if (m.calibration) calibration(m.calibration, states);
}
