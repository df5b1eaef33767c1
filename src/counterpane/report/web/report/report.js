// The report around the graph: its sections, how it was learned, and what is printed.
import {
  $,
  R,
  button,
  classColumn,
  el,
  joiner,
  linkOf,
  names,
  neighbors,
  percent,
  strengthText,
  strongest,
  table,
  th,
  unique,
} from "../explorer/elements.js";
import { breakable } from "../explorer/monitor.js";
import { go, neighborhood, panelParts } from "../explorer/panel.js";
import { measures } from "./fit.js";
import { growing, section } from "./sections.js";
import { blocks, keyOf, marginal } from "./tables.js";
import { trace } from "./trace.js";

export const MOST_CARDS = 48,
  FIRST_ROWS = 12,
  MOST_ROWS = 20,
  MOST_PRINTED = 80;

function interactions() {
  if (!R.listed.length) return;
  const bits = R.listed.some((k) => k.bits !== undefined),
    shares = R.listed.some((k) => linkOf(k).p !== null),
    explains = R.listed.some((k) => k.explained !== undefined);
  const line = (record) => {
    const link = linkOf(record),
      joined = joiner(link);
    const named = (c) => {
      const one = button("", () => go(c));
      one.append(breakable(names[c]));
      return one;
    };
    const parts = link.c.flatMap((c, i) => [i ? joined : "", named(c)]);
    const meter = el("i", { class: "meter" });
    meter.style.width = `${(100 * link.s) / strongest}%`;
    return el(
      "tr",
      null,
      el("td", { class: "wide" }, el("div", { class: "links" }, ...parts)),
      el("td", { class: "num" }, strengthText(link.s)),
      el("td", { class: "meters" }, meter),
      explains ? el("td", { class: "num" }, percent(record.explained)) : null,
      shares ? el("td", { class: "num" }, link.p === null ? "" : percent(link.p)) : null,
      bits ? el("td", { class: "num" }, record.bits.toFixed(4)) : null,
    );
  };
  const make = (items) => {
    const node = table(
      [
        th("columns"),
        th(R.measure, "num"),
        th("", "meters"),
        explains ? th("share of variance", "num") : null,
        shares
          ? th(R.samples ? `share of ${R.samples.toLocaleString("en")} samples` : "share", "num")
          : null,
        bits ? th("bits in the data", "num") : null,
      ],
      items.map(line),
    );
    return { node, add: (rest) => node.querySelector("tbody").append(...rest.map(line)) };
  };
  const class_ = R.target === null ? "" : names[classColumn];
  const meaning = el(
    "p",
    { class: "note" },
    R.meaning +
      (explains
        ? " Share of variance: its variance over the sum of the variances of all interactions."
        : "") +
      (shares && R.shares ? ` Share: ${R.shares}.` : "") +
      (bits
        ? ` Bits in the data: mutual information of the columns and ${class_}, corrected for chance.`
        : ""),
  );
  section(
    "interactions",
    R.shape === "faces" ? `What moves ${class_}` : "Strongest edges",
    ...growing(R.listed, FIRST_ROWS, make, "listed"),
    R.nLinks > R.listed.length
      ? el(
          "p",
          { class: "note" },
          `The strongest ${R.listed.length} of ${R.nLinks.toLocaleString("en")}.`,
        )
      : null,
    meaning,
  );
}
function effects() {
  // the largest effects of a classifier, without a click
  if (!R.panels.blocks.some((block) => block.k === "effect")) return;
  const make = (items) => {
    const node = el("div", { class: "effects" }, ...items);
    return { node, add: (rest) => node.append(...rest) };
  };
  section(
    "effects",
    "Effects",
    el(
      "p",
      { class: "note" },
      `What an interaction adds to the log-odds of ${names[classColumn]}, in nats: 0 is the mean over the training rows, and +0.69 doubles the odds. A band, or a thin line over a bar, is two standard deviations over the fits that the model averages. Ticks at the bottom of a curve and dots in a map are training rows; far from them the model only guesses.`,
    ),
    ...growing(blocks(R.target), 6, make, "effects"),
  );
}
function columns() {
  const order =
    R.target === null
      ? names.map((_, c) => c)
      : [R.target, ...names.map((_, c) => c).filter((c) => c !== R.target)];
  const some = order.filter((c) => R.columns[c].m || R.columns[c].d);
  if (!some.length) return;
  const card = (c) =>
    el(
      "div",
      null,
      el(
        "h3",
        null,
        button(names[c], () => go(c)),
      ),
      marginal(c, 8),
    );
  const make = (items) => {
    const node = el("div", { class: "cards" }, ...items.map(card));
    return { node, add: (rest) => node.append(...rest.slice(0, 1000).map(card)) };
  };
  const both = R.columns.find((c) => c.m && c.d);
  const what = R.columns.some((c) => c.m)
    ? both
      ? "The share of each state: under the model, and in the data."
      : "The share of each state under the model."
    : "The share of each state in the data.";
  section(
    "columns",
    "Marginals",
    el("p", { class: "note" }, `${what} ${R.marginals}`),
    both ? keyOf(both) : null,
    ...growing(some, MOST_CARDS, make, "columns"),
  );
}

function learned() {
  section(
    "learned",
    "How it was learned",
    el(
      "dl",
      null,
      ...R.learned.flatMap(([key, value]) => [el("dt", null, key), el("dd", null, value)]),
    ),
  );
}
function printed() {
  // on paper every column's tables follow at the end
  const order = unique([
    ...(R.target === null ? [] : [R.target]),
    ...R.picture.nodes.map((n) => n[0]),
  ]).slice(0, MOST_PRINTED);
  const faces = R.shape === "faces" && R.target !== null;
  section(
    "appendix",
    "Tables of the columns",
    ...(faces
      ? [el("div", null, ...blocks(R.target))]
      : order.map((c) =>
          el(
            "div",
            null,
            el("h3", null, names[c]),
            el(
              "p",
              { class: "note" },
              /** @type {[string, number[]][]} */ ([
                ["Parents", neighbors(c).parents],
                ["Children", neighbors(c).children],
                ["Joined", neighbors(c).beside],
              ])
                .filter(([, list]) => list.length)
                .map(([title, list]) => `${title}: ${list.map((u) => names[u]).join(", ")}.`)
                .join(" "),
            ),
            ...blocks(c),
          ),
        )),
    order.length < names.length && !faces
      ? el(
          "p",
          { class: "note" },
          `${order.length} of ${names.length.toLocaleString("en")} columns are printed.`,
        )
      : null,
  );
}
function unprinted() {
  $("appendix").replaceChildren();
  $("appendix").hidden = true;
}

// Two half cards side by side; one alone takes the whole width.
function pairUp() {
  /** @type {Element | null} */
  let open = null;
  for (const card of document.querySelectorAll("main > section:not([hidden])")) {
    const half = card.classList.contains("half");
    if (open && !half) open.classList.remove("half");
    open = half && !open ? card : null;
  }
  if (open) open.classList.remove("half");
}
export function writeReport() {
  panelParts.push((c, where) =>
    where === "before"
      ? R.columns[c].m && R.columns[c].d
        ? [keyOf(R.columns[c]), marginal(c)]
        : []
      : [...blocks(c), neighborhood(c)],
  );
  $("overview").hidden = false;
  $("overview").append(...R.overview.map((words) => el("p", null, words)));
  interactions();
  effects();
  measures();
  columns();
  learned();
  trace();
  if (R.shape === "faces") $("calibration").before($("graph-section")); // the effects lead
  pairUp();
  const titles = [...document.querySelectorAll("main > section:not([hidden]) > h2, #graph-title")];
  $("nav").append(
    ...titles.map((h) =>
      el("a", { href: `#${/** @type {Element} */ (h.closest("section")).id}` }, h.textContent),
    ),
  );
  window.addEventListener("beforeprint", printed);
  window.addEventListener("afterprint", unprinted);
}
