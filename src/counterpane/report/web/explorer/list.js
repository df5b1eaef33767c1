// The list: all columns as monitors, filtered by name, in the order of the model, of names or of change.
import { scene } from "./edges.js";
import { $, button, el, names } from "./elements.js";
import { fit, fitStage, graph } from "./graph.js";
import { changeOf, dropMonitors, makeMonitor } from "./monitor.js";
import { openPanel } from "./panel.js";

const MOST_LISTED_COLUMNS = 400; // at first; a button shows the rest
let listAll = false,
  viewChosen = false;

export function useView(which) {
  const list = which === "list";
  if ($("list").hidden !== list) return;
  $("list").hidden = !list;
  $("stage").classList.toggle("listing", list);
  graph.hidden = list;
  $("view-list").setAttribute("aria-pressed", String(list));
  $("view-graph").setAttribute("aria-pressed", String(!list));
  $("zoom").hidden = list;
  $("legend").hidden = list;
  if (list) fillList();
  else {
    dropMonitors($("cards"));
    $("cards").replaceChildren();
    if (scene) {
      fitStage();
      fit();
    }
  }
}
export function chooseView(which) {
  // and keep it when the window changes
  viewChosen = true;
  useView(which);
}
export function autoView() {
  // a phone starts with the list
  if (!viewChosen) useView(window.innerWidth < 640 ? "list" : "graph");
}
function fillList() {
  const text = $("filter").value.trim().toLowerCase(),
    order = $("order").value;
  let columns = names.map((_, c) => c).filter((c) => names[c].toLowerCase().includes(text));
  if (order === "name") columns.sort((a, b) => names[a].localeCompare(names[b]));
  if (order === "change") {
    const moved = names.map((_, c) => changeOf(c));
    columns.sort((a, b) => moved[b] - moved[a]);
  }
  const total = columns.length;
  if (!listAll) columns = columns.slice(0, MOST_LISTED_COLUMNS);
  /** @type {HTMLElement | null} */
  const focused = document.activeElement && document.activeElement.closest("#cards .monitor");
  dropMonitors($("cards"));
  $("cards").replaceChildren(...columns.map((c) => makeMonitor(c, () => openPanel(c, true)).node));
  if (focused) {
    const again = $("cards").querySelector(`[data-column="${focused.dataset.column}"] button`);
    if (again) again.focus();
  }
  $("listed").replaceChildren(
    total > columns.length
      ? button(`Show all ${total.toLocaleString("en")} columns`, () => {
          listAll = true;
          fillList();
        })
      : el("span", { class: "note" }, total ? "" : "No such column."),
  );
}
export function startList() {
  for (const which of ["graph", "list"])
    $(`view-${which}`).addEventListener("click", () => chooseView(which));
  $("filter").addEventListener("input", fillList);
  $("order").addEventListener("change", fillList);
}
