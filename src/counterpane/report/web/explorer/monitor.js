// A column with its states, their bars and numbers: in the graph, in the list and in the panel.
import { R, bdi, button, el, percent } from "./elements.js";
import {
  canDo,
  canSet,
  exclude,
  setState,
  stateText,
  store,
  toggleCut,
  watch,
} from "./evidence.js";

export const monitors = new Set(); // those on the page

export function makeMonitor(c, onName) {
  const column = R.columns[c],
    settable = canSet(c);
  const name = button("", onName, {
    class: "monitor-name",
    title: column.n,
    "aria-label": `${column.n}: details`,
  });
  name.append(breakable(column.n));
  const mark = el("span", { class: "monitor-mark" });
  const rows = el("div", { class: "monitor-rows" });
  const states = column.s.map((text, s) => {
    const bar = el("i", { class: "bar" }),
      ghost = el("i", { class: "ghost" }),
      value = el("span", { class: "value" });
    const label = el("span", { class: "label" });
    label.append(bdi(text));
    const row = el(
      "button",
      {
        type: "button",
        class: "state",
        "data-state": s,
        "aria-disabled": settable ? null : "true",
      },
      label,
      el("span", { class: "track" }, bar, ghost),
      value,
    );
    rows.append(row);
    return { row, bar, ghost, value };
  });
  if (column.more) rows.append(el("span", { class: "monitor-more" }, `… ${column.more} more`));
  const node = el(
    "div",
    {
      class: "monitor" + (c === R.target ? " target" : ""),
      role: "group",
      "aria-label": column.n,
      "data-column": c,
    },
    el("div", { class: "monitor-head" }, name, mark),
    rows,
  );
  const longest = column.s.reduce(
    (most, text) =>
      Math.max(
        most,
        [...text].reduce((n, x) => n + wideness(x), 0),
      ),
    1,
  );
  node.style.setProperty("--label", `${(0.58 * Math.min(13, longest) + 0.6).toFixed(2)}em`);
  rows.addEventListener("click", (event) => {
    const row = event.target.closest(".state");
    if (row) act(c, Number(row.dataset.state), event.shiftKey);
  });
  node.addEventListener("keydown", (event) => {
    const row = event.target.closest(".state");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "x" && row) exclude(c, Number(row.dataset.state));
    else if (event.key === "d" && canDo(c)) toggleCut(c);
    else if (row && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const next =
        event.key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling || name;
      if (next && next.focus) next.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const monitor = { c, node, name, mark, states };
  monitors.add(monitor);
  updateMonitor(monitor);
  return monitor;
}
export function breakable(text) {
  // long names may be broken after their joints
  const node = bdi("");
  text
    .split(/(?<=[_.\-/ ])/)
    .forEach((piece, k) => node.append(...(k ? [el("wbr"), piece] : [piece])));
  return node;
}
export const wideness = (letter) =>
  letter.codePointAt(0) > 0x2e7f ? 2 : letter !== letter.toLowerCase() ? 1.25 : 1;
const act = (c, s, shifted) => (shifted ? exclude(c, s) : setState(c, s));

export function updateMonitor({ c, node, mark, states }) {
  const result = store.result,
    piece = store.evidence.get(c),
    told = result && result.marginals[c],
    prior = store.prior && store.prior[c];
  const kind = ["given", "set", "impossible"]
    .filter((_, k) => [piece, piece && piece.cut, !result][k])
    .join(" ");
  if (node.dataset.kind !== kind) {
    node.dataset.kind = kind;
    for (const name of ["given", "set", "impossible"])
      node.classList.toggle(name, kind.split(" ").includes(name));
  }
  put(
    mark,
    "textContent",
    !piece ? "" : piece.cut ? "do" : piece.state >= 0 ? "●" : piece.weights ? "≈" : "≠",
  );
  states.forEach((view_, s) => {
    const p = told ? told[s] : null,
      chosen = Boolean(piece && piece.state === s),
      out = Boolean(piece && piece.out.includes(s));
    const was = prior && store.evidence.size ? prior[s] : null,
      best = Boolean(store.best && store.best.row[c] === s);
    const error = result && result.errors ? result.errors[c][s] : 0;
    if (
      view_.p === p &&
      view_.was === was &&
      view_.error === error &&
      view_.chosen === chosen &&
      view_.out === out &&
      view_.best === best
    )
      return;
    Object.assign(view_, { p, was, error, chosen, out, best });
    const { row, bar, ghost, value } = view_;
    bar.style.transform = `scaleX(${p === null ? 0 : p.toFixed(4)})`; // no layout is needed for a transform
    ghost.hidden = was === null;
    if (was !== null) put(ghost.style, "left", `${(100 * was).toFixed(2)}%`);
    put(value, "textContent", p === null ? "–" : (100 * p).toFixed(1));
    put(
      row,
      "className",
      `state${chosen ? " chosen" : ""}${out ? " out" : ""}${best ? " best" : ""}`,
    );
    row.setAttribute("aria-pressed", String(chosen));
    const words = `${stateText(c, s)}: ${percent(p)}${error > 0.00005 ? ` ± ${percent(error)}` : ""}${was === null ? "" : `, before ${percent(was)}`}`;
    row.title = `${words}${out ? ", excluded" : ""}`; // which screen readers tell after what is in the row
  });
}
const put = (thing, property, value) => {
  if (thing[property] !== value) thing[property] = value;
};
export function dropMonitors(root) {
  // those that left the page
  for (const monitor of monitors)
    if (!root || root.contains(monitor.node)) monitors.delete(monitor);
}
watch(() => monitors.forEach(updateMonitor));

// How far the evidence moves a column: half of the sum of the changes of its states.
export function changeOf(c) {
  const now = store.result && store.result.marginals[c],
    prior = store.prior && store.prior[c];
  if (!now || !prior) return 0;
  return now.reduce((total, p, s) => total + Math.abs(p - prior[s]), 0) / 2;
}
