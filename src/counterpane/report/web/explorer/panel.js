// The panel beside the graph: one column with all that can be said about it, or one of the tools.
import { parentsOf } from "./edges.js";
import {
  $,
  R,
  bdi,
  blanket,
  button,
  count,
  el,
  links,
  linksOf,
  names,
  neighbors,
  table,
  th,
} from "./elements.js";
import {
  canDo,
  canSet,
  engine,
  exclude,
  pieceOf,
  retract,
  setWeights,
  store,
  toggleCut,
  watch,
  weightsOf,
} from "./evidence.js";
import { around, boxes, fit, graph, markOpen, roam, settle } from "./graph.js";
import { chooseView, useView } from "./list.js";
import { dropMonitors, makeMonitor } from "./monitor.js";

/** @type {number | null} the column that is open */
export let opened = null;
/** @type {string | null} the tool that is */
let tool = null;
/** @type {any} where the focus was */
let back = null;
export const panelParts = []; // functions that add to the panel of a column; a report adds its tables
/** @type {Record<string, { title: string, make: () => any[] }>} */
export const TOOLS = {}; // name: { title, make }

function fillPanel(title, children, focus) {
  const panel = $("panel"),
    was = panel.hidden;
  if (was) back = document.activeElement;
  dropMonitors(panel);
  panel.setAttribute("aria-label", title);
  const heading = el("h3", { class: "title" });
  heading.append(bdi(title));
  panel.replaceChildren(
    el("div", { class: "head" }, heading, button("✕", closePanel, { "aria-label": "Close" })),
    ...children.filter((x) => x !== null && x !== undefined && x !== ""),
  );
  panel.hidden = false;
  panel.scrollTop = 0;
  for (const name of Object.keys(TOOLS)) {
    const control = $(`tool-${name}`);
    if (control) control.setAttribute("aria-pressed", String(name === tool));
  }
  if (was && !graph.hidden) settle(opened);
  markOpen();
  if (focus) panel.focus();
}
export function openPanel(c, focus) {
  opened = c;
  tool = null;
  if (boxes.has(c)) roam(c);
  const column = R.columns[c],
    monitor = makeMonitor(c, () => focusColumn(c));
  monitor.node.classList.add("wide");
  fillPanel(
    column.n,
    [
      el(
        "p",
        { class: "note" },
        count(column.s.length + (column.more || 0), "state") +
          (c === R.target ? ", the class" : ""),
      ),
      ...(panelParts.length ? panelParts.flatMap((part) => part(c, "before")) : []),
      monitor.node,
      controls(c),
      ...(panelParts.length ? panelParts.flatMap((part) => part(c, "after")) : [neighborhood(c)]),
      linksOf[c].some((k) => k.c.length > 1)
        ? el(
            "p",
            null,
            button("Draw only what is around it", () => focusColumn(c)),
          )
        : null,
    ],
    focus,
  );
}
export function openTool(name) {
  if (tool === name) {
    closePanel();
    return;
  }
  opened = null;
  tool = name;
  fillPanel(TOOLS[name].title, TOOLS[name].make(), true);
}
export function refreshTool() {
  if (tool === null || $("panel").hidden) return;
  const [head] = $("panel").children,
    at = $("panel").scrollTop;
  $("panel").replaceChildren(head, ...TOOLS[tool].make().filter(Boolean));
  $("panel").scrollTop = at;
}
export function closePanel() {
  if ($("panel").hidden) return;
  const c = opened;
  opened = tool = null;
  dropMonitors($("panel"));
  $("panel").hidden = true;
  for (const name of Object.keys(TOOLS)) {
    const control = $(`tool-${name}`);
    if (control) control.setAttribute("aria-pressed", "false");
  }
  markOpen();
  if (!graph.hidden) fit();
  const node = c !== null && boxes.has(c) ? boxes.get(c).monitor.name : back;
  if (node && node.focus) node.focus();
}
function focusColumn(c) {
  chooseView("graph");
  if (linksOf[c].some((k) => k.c.length > 1)) around(c);
  if (boxes.has(c)) roam(c);
}
export function go(c) {
  // open a column, and draw around it if it is not drawn
  if (graph.hidden) useView("graph");
  if (!boxes.has(c) && linksOf[c].some((k) => k.c.length > 1)) around(c);
  openPanel(c, true);
  $("graph-section").scrollIntoView({ block: "nearest" });
}

// Evidence by hand: states that are excluded, likelihoods by slider or number, and do.
function controls(c) {
  const column = R.columns[c];
  if (!canSet(c)) {
    const why =
      engine.still ||
      `This classifier tells ${column.n} from the other columns: set their states to see it move.`;
    return el("p", { class: "note" }, why);
  }
  const holder = el("div", { class: "controls" });
  const draw = () => {
    const piece = pieceOf(c),
      weights = weightsOf(c, { ...piece, state: -1, out: [] }),
      most = Math.max(...weights, 1e-12);
    const parts_ = [];
    if (canDo(c))
      parts_.push(
        el(
          "p",
          null,
          el(
            "label",
            null,
            checkbox(piece.cut, () => toggleCut(c), piece.state < 0),
            " do: set from outside, not observed",
          ),
          el(
            "span",
            { class: "note block" },
            piece.state < 0 ? "Choose a state first." : doNote(c),
          ),
        ),
      );
    const rows = column.s.map((text, s) => {
      const share = weights[s] / most,
        name = `${column.n} ${text}`;
      const give = (w) => {
        const next = Array.from(weights, (x) => x / most);
        next[s] = w;
        setWeights(c, next);
      };
      const slider = el("input", {
        type: "range",
        min: 0,
        max: 1,
        step: 0.01,
        "aria-label": `Likelihood of ${name}`,
        onchange: (e) => give(Number(e.target.value)),
      });
      const typed = el("input", {
        type: "number",
        min: 0,
        step: "any",
        "aria-label": `Likelihood of ${name} as a number`,
        onchange: (e) => {
          if (Number(e.target.value) >= 0) give(Number(e.target.value));
        },
      });
      slider.value = share;
      typed.value = Number(share.toFixed(4));
      const label = el("td", { class: "wide" });
      label.append(bdi(text));
      return el(
        "tr",
        null,
        label,
        el(
          "td",
          null,
          checkbox(piece.out.includes(s), () => exclude(c, s), false, `Exclude ${name}`),
        ),
        el("td", null, slider),
        el("td", null, typed),
      );
    });
    parts_.push(
      el(
        "details",
        {
          open: keepOpen || Boolean(piece.weights),
          ontoggle: (e) => {
            keepOpen = e.target.open;
          },
        },
        el("summary", null, "Exclude states, or weigh them"),
        el(
          "p",
          { class: "note" },
          "Likelihoods say how well what you saw fits each state: 1 and 0.5 mean that it is half as likely in the second.",
        ),
        table([th("state"), th("exclude"), th("likelihood"), th("")], rows),
      ),
    );
    if (store.evidence.has(c))
      parts_.push(
        el(
          "p",
          null,
          button("Retract", () => retract(c)),
        ),
      );
    holder.replaceChildren(...parts_);
  };
  draw();
  controlsNow = { holder, draw };
  return holder;
}
let keepOpen = false;
/** @type {any} */
let controlsNow = null;
watch(() => {
  if (controlsNow && controlsNow.holder.isConnected && !$("panel").hidden) redrawControls();
  else refreshTool();
});
function redrawControls() {
  // the focus stays on the same control
  const all = () => [...controlsNow.holder.querySelectorAll("input, button, summary")],
    at = all().indexOf(document.activeElement);
  controlsNow.draw();
  if (at >= 0 && all()[at]) all()[at].focus();
}
const checkbox = (on, action, disabled, label) => {
  const box = el("input", { type: "checkbox", onchange: action, disabled, "aria-label": label });
  box.checked = on;
  return box;
};
function doNote(c) {
  const open = parentsOf[c].filter((u) =>
    links.some((k) => !k.d && k.c.length === 2 && k.c.includes(u) && k.c.includes(c)),
  ).length;
  const cut = parentsOf[c].length
    ? `Cuts ${count(parentsOf[c].length, "arrow")} into ${names[c]}.`
    : `${names[c]} has no arrows into it, so that it makes no difference.`;
  return open
    ? `${cut} The data leave the direction of ${open} of them open: the answer is that of this network, not of all that fit.`
    : cut;
}

function listed(title, columns) {
  if (!columns.length) return null;
  const buttons = columns.slice(0, 60).map((u) => {
    const b = button("", () => go(u));
    b.append(bdi(names[u]));
    return b;
  });
  if (columns.length > 60)
    buttons.push(el("span", { class: "note" }, `and ${columns.length - 60} more`));
  return el(
    "div",
    null,
    el("h3", null, `${title} (${columns.length})`),
    el("div", { class: "links" }, ...buttons),
  );
}
export function neighborhood(c) {
  const { parents, children, beside } = neighbors(c),
    conditional = R.shape === "conditional";
  return el(
    "div",
    null,
    listed(conditional ? "Read by its conditional" : "Parents", parents),
    listed(conditional ? "Read it" : "Children", children),
    listed(
      R.shape === "faces"
        ? "Together with"
        : R.shape === "dag"
          ? "Joined, direction open"
          : "Neighbors",
      beside,
    ),
    R.shape === "dag" || conditional ? listed("Markov blanket", blanket(c)) : null,
  );
}
