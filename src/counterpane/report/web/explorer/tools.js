// What the page works out on request: what to ask next about a target, the most probable row, cases side by side.
import { R, bdi, button, el, linksOf, names, percent, probability, table, th } from "./elements.js";
import {
  asEvidence,
  blank,
  canRank,
  canSet,
  cards,
  commit,
  dropCase,
  engine,
  evidenceText,
  isGiven,
  keepCase,
  pieceText,
  setState,
  stateText,
  store,
} from "./evidence.js";
import { monitors, updateMonitor } from "./monitor.js";
import { TOOLS, go, refreshTool } from "./panel.js";

const MOST_QUESTIONS = 15,
  MOST_DIFFERENT = 12;
/** @type {any} the column that is asked about, and its state */
let askTarget = R.target;
/** @type {any} */
let askState = null;

// Columns by what they tell about the target given the evidence, and where each state would move it.
function ranked(pairs, target) {
  const now = pairs.now.marginals[target],
    rows = cards[target];
  const questions = [];
  for (let c = 0; c < cards.length; c++) {
    const piece = store.evidence.get(c);
    if (c === target || (piece && piece.state >= 0) || !canSet(c)) continue;
    const joint = pairs.tables[c],
      own = pairs.now.marginals[c];
    let bits = 0;
    for (let t = 0; t < rows; t++)
      for (let s = 0; s < own.length; s++) {
        const p = joint[t * own.length + s];
        if (p > 0 && own[s] > 0 && now[t] > 0) bits += p * Math.log2(p / (own[s] * now[t]));
      }
    const states = Array.from(own.keys())
      .filter((s) => own[s] > 1e-12)
      .map((s) => ({
        s,
        share: own[s],
        then: Array.from(now.keys(), (t) => joint[t * own.length + s] / own[s]),
      }));
    questions.push({ c, bits: Math.max(0, bits), states });
  }
  return questions.sort((a, b) => b.bits - a.bits);
}
function targetPicker() {
  const choices = names.map((_, c) => c).filter((c) => canRank(c));
  const pick = el(
    "select",
    {
      "aria-label": "Target",
      onchange: () => {
        askTarget = Number(pick.value);
        askState = null;
        refreshTool();
      },
    },
    ...choices.map((c) => el("option", { value: c }, names[c])),
  );
  if (askTarget === null || !choices.includes(askTarget)) {
    // one that is open and has many neighbors
    const open = choices.filter((c) => !store.evidence.has(c));
    askTarget = (open.length ? open : choices).reduce((best, c) =>
      linksOf[c].length > linksOf[best].length ? c : best,
    );
  }
  pick.value = String(askTarget);
  return pick;
}
function makeAsk() {
  if (!engine.pairs) return [el("p", { class: "note" }, engine.still)];
  const pick = targetPicker(),
    target = askTarget,
    piece = store.evidence.get(target);
  const head = el("p", null, "Target ", pick);
  if (piece && piece.state >= 0)
    return [
      head,
      el(
        "p",
        { class: "note" },
        `${names[target]} is given; retract it to see what would tell about it.`,
      ),
    ];
  const pairs = engine.pairs(asEvidence(store.evidence), target);
  if (!pairs) return [head, el("p", { class: "note" }, "The evidence is impossible.")];
  const now = pairs.now.marginals[target];
  if (askState === null || askState >= now.length)
    askState = now.reduce((last, p, s) => (p > 1e-6 ? s : last), 0);
  const which = el(
    "select",
    {
      "aria-label": "State of the target",
      onchange: () => {
        askState = Number(which.value);
        refreshTool();
      },
    },
    ...R.columns[target].s.map((text, s) => el("option", { value: s }, text)),
  );
  which.value = String(askState);
  head.append(" state ", which);
  const questions = ranked(pairs, target).slice(0, MOST_QUESTIONS),
    most = Math.max(1e-12, ...questions.map((q) => q.bits));
  const line = (q) => {
    const meter = el("i", { class: "meter" });
    meter.style.width = `${(4 * q.bits) / most}rem`;
    const name = button("", () => go(q.c), { class: "plain" });
    name.append(bdi(names[q.c]));
    return el(
      "tr",
      null,
      el(
        "td",
        { class: "wide" },
        name,
        el("div", { class: "note" }, el("span", { class: "num" }, q.bits.toFixed(4)), " bits"),
        meter,
      ),
      el("td", { class: "fill" }, tornado(q, now[askState])),
    );
  };
  return [
    head,
    el(
      "p",
      { class: "note" },
      `P(${names[target]} = ${stateText(target, askState)}) is ${percent(now[askState])} now. Columns by what they would tell about ${names[target]}, given what is known (mutual information, bits). The dots show where each state would move it; click one to set the state.`,
    ),
    questions.length
      ? table([th("ask"), th(`P(${stateText(target, askState)}) would be`)], questions.map(line))
      : el("p", { class: "note" }, "All other columns are given."),
  ];
}
function tornado(question, now) {
  // a line from the lowest to the highest, a dot for each state
  const thens = question.states.map((s) => s.then[askState]),
    low = Math.min(...thens),
    high = Math.max(...thens);
  const bar = el("i", { class: "span" }),
    here_ = el("i", { class: "now" });
  bar.style.left = `${100 * low}%`;
  bar.style.width = `${100 * (high - low)}%`;
  here_.style.left = `${100 * now}%`;
  const dots = question.states.map(({ s, share, then }) => {
    const words = `${names[question.c]} ${stateText(question.c, s)} (${percent(share)}): ${percent(then[askState])}`;
    const dot = button("", () => setState(question.c, s), {
      class: "dot",
      title: words,
      "aria-label": words,
    });
    dot.style.left = `${100 * then[askState]}%`;
    return dot;
  });
  const ends = `${percent(low)} – ${percent(high)}`;
  return el(
    "div",
    { class: "tornado" },
    el("div", { class: "tornado-line" }, bar, here_, ...dots),
    el("span", { class: "note" }, ends),
  );
}
TOOLS.ask = { title: "What to ask next", make: makeAsk };

// The most probable row: marked in the monitors and listed.
function makeBest() {
  if (!store.best) store.best = engine.best(asEvidence(store.evidence));
  monitors.forEach(updateMonitor);
  const { best, result } = store;
  if (!best || !result) return [el("p", { class: "note" }, "The evidence is impossible.")];
  const { row, logProbability } = best,
    given = result.logEvidence;
  const open = names.map((_, c) => c).filter((c) => !isGiven(store.evidence, c));
  const take = () => {
    const evidence = new Map(store.evidence);
    for (const c of open) evidence.set(c, { ...blank(), state: row[c] });
    commit(evidence);
  };
  return [
    el(
      "p",
      null,
      `Of all rows that agree with the evidence this one is the most probable. Its probability given the evidence is ${probability(logProbability - given)}.`,
    ),
    table(
      [th("column"), th("state"), th("alone", "num")],
      open.slice(0, 500).map((c) => {
        const name = el("td", { class: "wide" }),
          state = el("td", { class: "wide" });
        name.append(bdi(names[c]));
        state.append(bdi(stateText(c, row[c])));
        return el(
          "tr",
          null,
          name,
          state,
          el("td", { class: "num" }, percent(result.marginals[c][row[c]])),
        );
      }),
    ),
    open.length ? el("p", null, button("Take it as evidence", take)) : null,
  ];
}
TOOLS.best = { title: "Most probable row", make: makeBest };

// Cases by name, side by side.
function makeCases() {
  const field = el("input", {
    type: "text",
    maxlength: 60,
    placeholder: `Case ${store.cases.length + 1}`,
    "aria-label": "Name of the case",
  });
  const form = el(
    "form",
    {
      onsubmit: (e) => {
        e.preventDefault();
        keepCase(field.value.trim() || field.placeholder);
      },
    },
    field,
    " ",
    el("button", { type: "submit" }, "Keep what is given now"),
  );
  const parts_ = [
    form,
    el(
      "p",
      { class: "note" },
      "Cases are kept in the page's address: copy the address to send them.",
    ),
  ];
  if (!store.cases.length) return parts_;
  const columns = [{ name: "now", evidence: store.evidence }, ...store.cases].map((k) => ({
    ...k,
    result: engine.run(asEvidence(k.evidence)),
  }));
  engine.run(asEvidence(store.evidence));
  const heads = columns.map((k, i) => {
    const cell = th("", "num");
    cell.append(bdi(k.name));
    if (i)
      cell.append(
        el(
          "div",
          { class: "links" },
          button("open", () => commit(k.evidence), { "aria-label": `Open ${k.name}` }),
          button("✕", () => dropCase(k.name), { "aria-label": `Drop ${k.name}` }),
        ),
      );
    return cell;
  });
  const given = el(
    "tr",
    null,
    el("th", { scope: "row" }, "given"),
    ...columns.map((k) =>
      el(
        "td",
        null,
        ...[...k.evidence]
          .slice(0, 8)
          .map(([c, piece]) => el("div", null, bdi(pieceText(c, piece)))),
      ),
    ),
  );
  const chance = el(
    "tr",
    null,
    el("th", { scope: "row" }, "P(evidence)"),
    ...columns.map((k) => el("td", { class: "num" }, evidenceText(k.result, k.evidence))),
  );
  const shown = names.map((_, c) => c).filter((c) => !columns.every((k) => isGiven(k.evidence, c)));
  const now = columns[0].result;
  const apart = (c) =>
    columns.reduce(
      (most, k) =>
        Math.max(
          most,
          ...(k.result && now
            ? Array.from(k.result.marginals[c], (p, s) => Math.abs(p - now.marginals[c][s]))
            : [0]),
        ),
      0,
    );
  const first = R.target !== null && shown.includes(R.target) ? [R.target] : [];
  const different = [
    ...first,
    ...shown.filter((c) => c !== first[0]).sort((a, b) => apart(b) - apart(a)),
  ].slice(0, MOST_DIFFERENT);
  const rows = different.flatMap((c) =>
    R.columns[c].s.map((text, s) => {
      const label = el("th", { scope: "row" });
      label.append(bdi(s ? text : `${names[c]}: ${text}`));
      return el(
        "tr",
        { class: s ? null : "first" },
        label,
        ...columns.map((k) => {
          const p = k.result ? k.result.marginals[c][s] : null,
            cell = el("td", { class: "num" }, percent(p));
          if (p !== null) cell.style.background = `rgba(var(--hot), ${(0.35 * p).toFixed(3)})`;
          return cell;
        }),
      );
    }),
  );
  return [
    ...parts_,
    el(
      "p",
      { class: "note" },
      different.length < shown.length ? `The ${different.length} columns that differ most.` : "",
    ),
    table([th(""), ...heads], [given, chance, ...rows]),
  ];
}
TOOLS.cases = { title: "Cases", make: makeCases };
