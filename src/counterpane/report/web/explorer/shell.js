// The frame of the page: the line of evidence, search, keys, theme, print, and the start.
import { MOST_LABELED, scene } from "./edges.js";
import {
  $,
  R,
  bdi,
  button,
  certain,
  count,
  el,
  links,
  linksOf,
  names,
  percent,
} from "./elements.js";
import {
  classOnly,
  clearAll,
  engine,
  evidenceText,
  pieceText,
  readAddress,
  recompute,
  redo,
  retract,
  store,
  undo,
  watch,
} from "./evidence.js";
import {
  around,
  fit,
  fitStage,
  fitted,
  follow,
  graph,
  isNarrow,
  show,
  view,
  zoom,
  zoomBy,
} from "./graph.js";
import { autoView, startList } from "./list.js";
import { TOOLS, closePanel, go, openTool } from "./panel.js";

function showEvidence() {
  const { evidence, result, conflict } = store,
    chips = [...evidence].map(([c, piece]) => {
      const chip = button("", () => retract(c), {
        class: "chip" + (piece.cut ? " set" : ""),
        "aria-label": `Retract ${pieceText(c, piece)}`,
      });
      chip.append(bdi(pieceText(c, piece)), " ✕");
      return chip;
    });
  const cut = [...evidence.values()].some((piece) => piece.cut),
    label = classOnly ? "" : cut ? "P(evidence | do) = " : "P(evidence) = ";
  const parts_ = [el("strong", { id: "chance" }, label + evidenceText(result, evidence)), ...chips];
  if (result && result.errors)
    parts_.push(
      el(
        "span",
        { class: "note" },
        `estimated, ± ${percent(result.worst)} at most${result.done ? "" : " …"}`,
      ),
    );
  if (engine.still) parts_.splice(0, 1, el("span", { class: "note" }, engine.still));
  else if (!evidence.size)
    parts_.push(
      el(
        "span",
        { class: "note hint" },
        "Click a state to set it, again to retract it; shift-click excludes it.",
      ),
    );
  if (conflict)
    parts_.push(
      el(
        "span",
        { class: "alert", role: "alert" },
        conflict.length
          ? "This evidence is impossible. Retract: "
          : "This evidence is impossible. ",
        ...conflict.flatMap((c) => {
          const b = button("", () => retract(c), { class: "chip" });
          b.append(bdi(pieceText(c, evidence.get(c))));
          return [b, " "];
        }),
      ),
    );
  $("evidence").replaceChildren(...parts_);
  $("undo").disabled = !store.past.length;
  $("redo").disabled = !store.future.length;
  $("clear").disabled = !evidence.size;
}
watch(showEvidence);

function search() {
  const input = $("find"),
    list = $("found");
  let hits = [],
    at = -1;
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    at = -1;
  };
  const choose = (c) => {
    close();
    input.value = "";
    go(c);
  };
  const pick = (i) => {
    at = i;
    [...list.children].forEach((li, j) => li.setAttribute("aria-selected", String(j === i)));
    if (list.children[i]) {
      input.setAttribute("aria-activedescendant", list.children[i].id);
      list.children[i].scrollIntoView({ block: "nearest" });
    }
  };
  input.addEventListener("input", () => {
    const text = input.value.trim().toLowerCase(),
      starts = [],
      holds = [];
    if (text)
      names.forEach((n, c) => {
        const i = n.toLowerCase().indexOf(text);
        if (i === 0) starts.push(c);
        else if (i > 0) holds.push(c);
      });
    hits = [...starts, ...holds].slice(0, 30);
    list.replaceChildren(
      ...(hits.length
        ? hits.map((c, i) =>
            el(
              "li",
              {
                role: "option",
                id: `found-${i}`,
                "aria-selected": "false",
                onpointerdown: (e) => {
                  e.preventDefault();
                  choose(c);
                },
              },
              names[c],
            ),
          )
        : [
            el(
              "li",
              { role: "option", "aria-disabled": "true", "aria-selected": "false" },
              "No such column",
            ),
          ]),
    );
    list.hidden = !text;
    input.setAttribute("aria-expanded", String(Boolean(text)));
    if (hits.length) pick(0);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (hits.length) pick((at + (event.key === "ArrowDown" ? 1 : hits.length - 1)) % hits.length);
    } else if (event.key === "Escape") {
      input.value = "";
      close();
      event.stopPropagation();
    }
  });
  input.addEventListener("blur", close);
  $("search").addEventListener("submit", (event) => {
    event.preventDefault();
    if (hits.length && input.value.trim()) choose(hits[Math.max(at, 0)]);
  });
}
function theme() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  /** @type {string | null} */
  let chosen = null;
  try {
    chosen = localStorage.getItem("counterpane-theme");
  } catch {
    /* no storage here */
  }
  const use = () => {
    const now = chosen || (dark.matches ? "dark" : "light");
    document.documentElement.dataset.theme = now;
    $("theme").textContent = now === "dark" ? "Light" : "Dark";
  };
  dark.addEventListener("change", use);
  $("theme").addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("counterpane-theme", String(chosen));
    } catch {
      /* no storage here */
    }
    use();
  });
  use();
}
function summary() {
  const rows = R.rows === null ? "" : `, beside ${count(R.rows, "row")} of data`;
  const joined = { faces: "interaction", dag: "edge" }[R.shape] || "link",
    class_ = R.target === null ? "" : names[R.target];
  $("summary").textContent =
    `${R.kind} of ${count(names.length, "column")} and ${count(R.nLinks, joined)}${R.target === null ? "" : `, for the class ${class_}`}${rows}.`;
  const lines = R.picture.edges.length + R.picture.hyperedges.length;
  const wide = !lines
    ? "No two columns are joined."
    : certain
      ? `Edges are as wide as they are sure: ${R.shares}.`
      : `Edges are as wide as they are strong (${R.measure}).`;
  const numbers =
    R.picture.edges.length && R.picture.edges.length <= MOST_LABELED
      ? ` The number on an edge is its strength (${R.measure}).`
      : "";
  const hyper = R.picture.hyperedges.length
    ? " A diamond joins three or more columns that act together."
    : "";
  const joint = lines ? ` A line joins columns that act on the class ${class_} together.` : "";
  const faces =
    R.shape === "faces"
      ? `${joint} The deeper a box is tinted, the more its column alone moves the class ${class_}.`
      : "";
  const open =
    R.shape === "dag" && links.some((k) => !k.d)
      ? " A line without an arrow: the data do not tell its direction."
      : "";
  const told =
    R.shape === "dag" && links.some((k) => k.d)
      ? " An arrow: all networks that fit the data equally well have this direction, or it was known beforehand."
      : "";
  const arrows =
    R.shape === "conditional"
      ? " An arrow goes to a column from one that its conditional reads; a plain line goes both ways."
      : open + told;
  const bars = classOnly
    ? ` Bars are shares of the training rows that fit the evidence, and P(${class_}).`
    : " Bars are the probabilities of the states, in percent; the thin line is where a bar stood before any evidence.";
  $("reading").replaceChildren(
    `${wide}${numbers}${hyper}${faces}${arrows}${bars} ${R.picture.note} `,
    el(
      "span",
      { class: "screen" },
      "Drag to move, wheel or + and − to zoom, click a name for its column.",
    ),
  );
}
function keys() {
  document.addEventListener("keydown", (event) => {
    const typing =
      event.target instanceof Element &&
      event.target.closest("input:not([type=checkbox]), select, textarea");
    if (event.key === "Escape") closePanel();
    else if ((event.ctrlKey || event.metaKey) && !typing && event.key.toLowerCase() === "z") {
      event.preventDefault();
      (event.shiftKey ? redo : undo)();
    } else if ((event.ctrlKey || event.metaKey) && !typing && event.key.toLowerCase() === "y") {
      event.preventDefault();
      redo();
    } else if (!typing && !event.ctrlKey && !event.metaKey && event.key === "/") {
      event.preventDefault();
      $("find").focus();
    }
  });
}
function forPrint() {
  window.addEventListener("beforeprint", () => {
    const [w, h] = scene.size,
      across = document.body.classList.contains("explore") && !graph.hidden && w > 1.3 * h;
    document.body.classList.toggle("across", across); // the paper lies on its side
    const k = Math.min(1, (across ? 925 : 670) / w, (across ? 560 : 860) / h);
    view.style.transform = `scale(${k})`;
    graph.style.height = `${scene.size[1] * k}px`;
  });
  window.addEventListener("afterprint", () => {
    graph.style.height = "";
    fit();
  });
}
const PHONE_READABLE = 0.6; // the scale of a picture
function firstView() {
  // all columns where names can be read, else those around the class or the strongest column
  show(R.picture);
  if (R.focus && !isNarrow()) show(R.focus, R.focus.center);
  else if (R.focus || (isNarrow() && zoom.k < PHONE_READABLE)) {
    const joined = (c) => linksOf[c].filter((k) => k.c.length > 1).length;
    const most = names.reduce((best, _, c) => (joined(c) > joined(best) ? c : best), 0);
    const center = R.focus
      ? R.focus.center
      : R.target !== null && joined(R.target)
        ? R.target
        : most;
    if (joined(center)) around(center);
  }
}
export function start() {
  theme();
  summary();
  search();
  follow();
  startList();
  keys();
  forPrint();
  for (const name of Object.keys(TOOLS)) {
    const control = $(`tool-${name}`);
    control.hidden = name === "best" ? !engine.best : !engine.pairs;
    control.addEventListener("click", () => openTool(name));
  }
  for (const [id, action] of Object.entries({
    undo,
    redo,
    clear: clearAll,
    in: () => zoomBy(1.25),
    out: () => zoomBy(0.8),
    fit,
    whole: () => show(R.picture),
  }))
    $(id).addEventListener("click", action);
  const refit = () => {
    autoView();
    if (!graph.hidden) {
      fitStage();
      fit();
    }
  };
  window.addEventListener("resize", refit);
  // The frame of a notebook may get its size after the page was laid out, without a resize event.
  new ResizeObserver(() => {
    if (!fitted) requestAnimationFrame(refit);
  }).observe(graph);
  window.addEventListener("hashchange", () => {
    if (readAddress()) recompute();
  });
  recompute(); // the prior first, so that the ghost lines are there
  if (readAddress() && store.evidence.size) recompute();
  $("legend").open = !document.body.classList.contains("explore");
  firstView();
  autoView();
}
