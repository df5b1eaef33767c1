// The search trace: what the learner did, step by step.
import { R, count, el, number, svg, table, th, unique } from "../explorer/elements.js";
import { chart } from "./fit.js";
import { MOST_ROWS } from "./report.js";
import { growing, section } from "./sections.js";

// What the records of the learners are called in plain words.
const WORDS = {
  best_gain: "largest gain",
  df: "parameters",
  gains: "edges changed",
  held_out_log_loss: "held-out log-loss",
  inner_log_loss: "log-loss within the training rows",
  hyperedge: "interaction",
  log_posterior: "log-posterior",
  log_score: "log-score",
  moves: "edges changed",
  n_tests: "tests",
  pll: "pseudo-log-likelihood",
  rounds: "trees",
  trees: "size of the trees",
};
const STAGES = {
  ges: "greedy equivalence search",
  reinsert: "each column taken out and put back",
  "knock-out": "each edge taken out and the rest searched again",
  "class knock-out": "each edge of the class taken out",
  place: "columns moved in the order",
};
const inWords = (key) => WORDS[key] || key.replace(/_/g, " ");
const FALLING = ["inner_log_loss", "entropy"]; // less is better

// One sentence on the whole search.
function summaryOf(best, points) {
  const last = R.trace[R.trace.length - 1].seconds,
    took = last === undefined ? "" : ` in ${last < 0.1 ? "less than 0.1" : last.toFixed(1)} s`;
  const steps = `The search took ${count(R.trace.length, "step")}${took}.`;
  if (!best) return steps;
  const values = points.map((p) => p[1]),
    top = FALLING.includes(best) ? Math.min(...values) : Math.max(...values);
  const how =
    values[0] === top
      ? `was ${number(top)} from the first step on`
      : `went from ${number(values[0])} to ${number(top)} (${FALLING.includes(best) ? "lower" : "higher"} is better)`;
  return `${steps} The ${inWords(best)} ${how}.`;
}

export function trace() {
  if (!R.trace.length) return;
  const keys = unique(R.trace.flatMap((r) => Object.keys(r)));
  const numeric = (key) => R.trace.filter((r) => typeof r[key] === "number").length > 1;
  const best = [
    "score",
    "log_posterior",
    "log_score",
    "pll",
    "inner_log_loss",
    "entropy",
    "best_gain",
  ].find(numeric);
  const parts = [];
  const points = R.trace
    .map((r, i) => [r.step === undefined ? i : r.step, best ? r[best] : null])
    .filter((p) => typeof p[1] === "number");
  if (best && points.some((p) => p[1] !== points[0][1])) {
    const W = 460,
      HH = 220,
      L = 12,
      B = 28;
    const xs = points.map((p) => p[0]),
      ys = points.map((p) => p[1]),
      [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const x = (v) => L + 10 + ((v - x0) / (x1 - x0 || 1)) * (W - L - 30),
      y = (v) => HH - B - 14 - ((v - y0) / (y1 - y0 || 1)) * (HH - B - 50);
    const picture = chart(
      W,
      HH,
      L,
      B,
      svg("path", {
        class: "curve",
        d: points
          .map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`)
          .join(" "),
      }),
      ...points
        .slice(0, 200)
        .map((p) =>
          svg(
            "circle",
            { cx: x(p[0]).toFixed(1), cy: y(p[1]).toFixed(1), r: 3.5 },
            svg("title", null, `step ${p[0]}: ${number(p[1])}`),
          ),
        ),
      svg("text", { x: L + 8, y: 18 }, `${inWords(best)}, from ${number(y0)} to ${number(y1)}`),
      svg("text", { x: W - 10, y: HH - 8, "text-anchor": "end" }, "step"),
    );
    picture.setAttribute("aria-label", `${inWords(best)} by step`);
    parts.push(picture);
  }
  const text = (v) =>
    v === undefined || v === null
      ? ""
      : Array.isArray(v)
        ? v.join(" × ")
        : typeof v === "number" && !Number.isInteger(v)
          ? number(v, 4)
          : STAGES[v] || String(v);
  const line = (r) =>
    el(
      "tr",
      null,
      ...keys.map((k) => el("td", { class: typeof r[k] === "number" ? "num" : null }, text(r[k]))),
    );
  const make = (items) => {
    const node = table(
      keys.map((k) =>
        th(inWords(k), R.trace.some((r) => typeof r[k] === "number") ? "num" : undefined),
      ),
      items.map(line),
    );
    return { node, add: (rest) => node.querySelector("tbody").append(...rest.map(line)) };
  };
  section(
    "trace",
    "How the search went",
    el("p", null, summaryOf(best, points)),
    ...parts,
    el(
      "details",
      { class: "screen" },
      el("summary", null, "All steps"),
      el("p", { class: "note" }, "Seconds are those since the search began."),
      ...growing(R.trace, MOST_ROWS, make, "steps"),
    ),
  );
}
