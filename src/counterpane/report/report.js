// The report around the graph: the tables of a column, marginals, fit, search trace, how it was learned.
(() => {
  const MOST_CARDS = 48, MOST_ROWS = 20, MOST_PRINTED = 80;
  const { effectBlock, signed, unit } = effectPictures;

  // Parts of panels.
  function marginal(c, most) {
    const column = R.columns[c], shown = column.s.slice(0, most || column.s.length);
    const grid = el("div", { class: "marginal" });
    shown.forEach((state, i) => {
      const model = column.m && column.m[i], data = column.d && column.d[i];
      const bars = el("span", { class: "bars" });
      if (column.m) bars.append(sized(el("i"), model));
      if (column.d) bars.append(sized(el("i", { class: "data" }), data));
      const told = column.m ? model : data;
      grid.append(el("span", { class: "label", title: state }, state), bars,
        el("span", { class: "value", title: column.m && column.d ? `model ${percent(model)}, data ${percent(data)}` : null },
          told === undefined ? "" : percent(told)));
    });
    const left = column.s.length - shown.length + (column.more || 0);
    if (left > 0) grid.append(el("span", { class: "label" }, `… ${left} more`), el("span"), el("span"));
    return grid;
  }
  function heat(value, unit, largest) {
    const cell = el("td", { class: "heat" }, unit === "p" ? number(value) : signed(value));
    const part = unit === "p" ? value : Math.abs(value) / largest;
    cell.style.background = `rgba(var(${value < 0 ? "--cold" : "--hot"}), ${(0.42 * Math.min(1, part)).toFixed(3)})`;
    return cell;
  }
  function gridBlock(block) {
    const own = block.c[block.c.length - 1], rest = block.c.slice(0, -1), wide = block.card[block.card.length - 1];
    const labels = rest.map((u, i) => (block.labels && block.labels[i]) || R.columns[u].s);
    const lines = block.t.length / wide, total = block.card.slice(0, -1).reduce((a, b) => a * b, 1);
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
      rows.push(el("tr", null, ...told,
        ...block.t.slice(line * wide, line * wide + wide).map((x) => heat(x, block.u, largest)),
        block.n ? el("td", { class: "num" }, block.n[line].toLocaleString("en", { maximumFractionDigits: 0 })) : null));
    }
    const head = [...rest.map((u) => th(names[u])), ...R.columns[own].s.map((s) => th(s, "num")), block.n ? th("rows", "num") : null];
    const drawn = table(head, rows);
    drawn.querySelector("thead").prepend(el("tr", null, rest.length ? el("td", { colspan: rest.length }) : null,
      el("th", { scope: "colgroup", colspan: wide, class: "num" }, names[own]), block.n ? el("td") : null));
    return el("div", null, drawn,
      total > lines ? el("p", { class: "note" }, `The first ${count(lines, "line")} of ${total.toLocaleString("en")}.`) : null);
  }
  const said = (u, code) => `${names[u]} ${R.columns[u].cut ? "" : "= "}${R.columns[u].s[code]}`;
  function treeBlock(block) {
    const own = block.c[0], states = R.columns[own].s;
    const grow = (k) => {
      const node = block.nodes[k];
      if (!node.length) return el("span", { class: "answer" }, "…");
      if (node.length === 1) return el("span", null, node[0].map((p, i) => `${states[i]} ${percent(p)}`).slice(0, 6).join(", "));
      const [u, code, yes, no] = node;
      return el("span", null, `${said(u, code)}?`, el("ul", null,
        el("li", null, el("span", { class: "answer" }, "yes: "), grow(yes)),
        el("li", null, el("span", { class: "answer" }, "no: "), grow(no))));
    };
    return el("ul", { class: "tree" }, el("li", null, grow(0)));
  }
  function rulesBlock(block) {
    const rows = block.rows.map(([told, weight]) => el("tr", null,
      el("td", { class: "wide" }, told.map(([u, code, not]) => `${not ? "not " : ""}${said(u, code)}`).join(" and ")),
      heat(weight, "w", Math.abs(block.rows[0][1]) || 1)));
    return el("div", null, table([th("where"), th("log-odds", "num")], rows),
      block.of > rows.length ? el("p", { class: "note" }, `The heaviest ${rows.length} of ${block.of.toLocaleString("en")}.`) : null);
  }
  function blocks(c) {
    const mine = R.panels.of[c];
    if (!mine) return [el("p", { class: "note" }, "The tables of this column were left out to keep the report small.")];
    return mine.map((i) => R.panels.blocks[i]).map((block) => {
      const about = block.c.map((u) => names[u]);
      const title = R.shape === "faces" ? about.slice(0, -1).join(" × ")
        : block.k === "grid" && block.c.length > 1 && !block.title.startsWith("P(") ? `${block.title} of ${about[about.length - 1]}, given ${about.slice(0, -1).join(", ")}` : block.title;
      const what = R.shape !== "faces" ? null : block.k === "effect" ? unit(block) : `log-odds of ${about[about.length - 1]}`;
      return el("div", null, el("h3", null, title), what ? el("p", { class: "note" }, `adds to the ${what}`) : null,
        block.note ? el("p", { class: "note" }, block.note) : null,
        block.share !== undefined && block.share < 1 ? el("p", { class: "note" }, `${percent(block.share)}: ${R.shares}.`) : null,
        { grid: gridBlock, tree: treeBlock, rules: rulesBlock, effect: effectBlock }[block.k](block));
    });
  }
  function keyOf(column) {
    if (!column.m || !column.d) return "";
    return el("p", { class: "note" }, el("span", { class: "key" }, el("i"), "model"), el("span", { class: "key" }, el("i", { class: "data" }), "data"));
  }

  // Sections below the graph.
  const section = (id, title, ...children) => {
    const part = $(id);
    part.replaceChildren(el("h2", null, title), ...children.filter((x) => x !== null && x !== undefined));
    part.hidden = false;
  };
  function growing(items, most, make, what) { // the first of many, and a button for the rest
    const body = make(items.slice(0, most));
    if (items.length <= most) return [body.node];
    const more = button(`Show all ${items.length.toLocaleString("en")} ${what}`, () => { body.add(items.slice(most)); more.remove(); }, { class: "more" });
    return [body.node, el("p", null, more)];
  }
  function interactions() {
    if (!R.listed.length) return;
    const bits = R.listed.some((k) => k[4] !== null), shares = R.listed.some((k) => k[3] !== null), explains = R.listed.some((k) => k[5] !== null);
    const line = ([columns, directed, strength, share, own, explained]) => {
      const joined = joiner({ c: columns, d: directed });
      const parts = columns.flatMap((c, i) => [i ? joined : "", button(names[c], () => go(c))]);
      const meter = el("i", { class: "meter" });
      meter.style.width = (8 * strength) / strongest + "rem";
      return el("tr", null, el("td", { class: "wide" }, el("div", { class: "links" }, ...parts)), el("td", { class: "num" }, strengthText(strength)), el("td", null, meter),
        explains ? el("td", { class: "num" }, percent(explained)) : null, shares ? el("td", { class: "num" }, share === null ? "" : percent(share)) : null, bits ? el("td", { class: "num" }, own === null ? "–" : own.toFixed(4)) : null);
    };
    const make = (items) => {
      const node = table([th("columns"), th(R.measure, "num"), th(""), explains ? th("share of variance", "num") : null, shares ? th(R.samples ? `share of ${R.samples.toLocaleString("en")} samples` : "share", "num") : null, bits ? th("bits per row in the data", "num") : null], items.map(line));
      return { node, add: (rest) => node.querySelector("tbody").append(...rest.map(line)) };
    };
    const class_ = R.target === null ? "" : names[R.target];
    section("interactions", R.shape === "faces" ? "Strongest interactions" : "Strongest edges",
      el("p", { class: "note" }, R.meaning + (explains ? " Share of variance: its variance over the sum of the variances of all interactions." : "") + (shares && R.shares ? ` Share: ${R.shares}.` : "") + (bits ? ` Bits per row in the data: mutual information of the columns and ${class_}, corrected for chance.` : "")),
      ...growing(R.listed, MOST_ROWS, make, "listed"),
      R.nLinks > R.listed.length ? el("p", { class: "note" }, `The strongest ${R.listed.length} of ${R.nLinks.toLocaleString("en")}.`) : null);
  }
  function effects() { // the largest effects of a classifier, without a click
    if (!R.panels.blocks.some((block) => block.k === "effect")) return;
    const make = (items) => {
      const node = el("div", { class: "effects" }, ...items);
      return { node, add: (rest) => node.append(...rest) };
    };
    section("effects", "Effects", el("p", { class: "note" }, `What an interaction adds to the log-odds of ${names[R.target]}, in nats: 0 is the mean over the training rows, and +0.69 doubles the odds. A band, or a thin line over a bar, is two standard deviations over the fits that the model averages. Ticks at the bottom of a curve and dots in a map are training rows; far from them the model only guesses.`),
      ...growing(blocks(R.target), 6, make, "effects"));
  }
  function columns() {
    const order = R.target === null ? names.map((_, c) => c) : [R.target, ...names.map((_, c) => c).filter((c) => c !== R.target)];
    const some = order.filter((c) => R.columns[c].m || R.columns[c].d);
    if (!some.length) return;
    const card = (c) => el("div", null, el("h3", null, button(names[c], () => go(c))), marginal(c, 8));
    const make = (items) => {
      const node = el("div", { class: "cards" }, ...items.map(card));
      return { node, add: (rest) => node.append(...rest.slice(0, 1000).map(card)) };
    };
    const both = R.columns.find((c) => c.m && c.d);
    const what = R.columns.some((c) => c.m) ? (both ? "The share of each state: under the model, and in the data." : "The share of each state under the model.") : "The share of each state in the data.";
    section("columns", "Marginals", el("p", { class: "note" }, `${what} ${R.marginals}`),
      both ? keyOf(both) : null, ...growing(some, MOST_CARDS, make, "columns"));
  }
  function chart(width, height, left, bottom, ...children) {
    return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img" },
      svg("path", { class: "axis", fill: "none", d: `M${left} 8 V${height - bottom} H${width - 8}` }), ...children);
  }
  function likelyShare(share, n) { // Wilson's 95 % interval
    const z2 = 1.96 ** 2, middle = (share + z2 / (2 * n)) / (1 + z2 / n);
    const half = 1.96 * Math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
    return [Math.max(0, middle - half), Math.min(1, middle + half)];
  }
  function calibration(curves, states) {
    const W = 420, HH = 320, L = 44, B = 40, x = (p) => L + p * (W - L - 16), y = (p) => HH - B - p * (HH - B - 16);
    const holder = el("div"), pick = el("select", { "aria-label": "Class", onchange: () => draw(Number(pick.value)) },
      ...states.map((s, i) => el("option", { value: i }, s)));
    const list = el("div");
    function draw(k) {
      const bins = curves[k], most = Math.max(...bins.map((b) => b[0]));
      const ticks = [0, 0.5, 1].flatMap((p) => [svg("text", { x: x(p), y: HH - B + 16, "text-anchor": "middle" }, `${100 * p} %`),
        svg("text", { x: L - 6, y: y(p) + 4, "text-anchor": "end" }, `${100 * p} %`)]);
      const picture = chart(W, HH, L, B, ...ticks,
        svg("path", { class: "diagonal", d: `M${x(0)} ${y(0)} L${x(1)} ${y(1)}` }),
        svg("path", { class: "curve", d: bins.map((b, i) => `${i ? "L" : "M"}${x(b[1])} ${y(b[2])}`).join(" ") }),
        ...bins.map((b) => {
          const [low, high] = likelyShare(b[2], b[0]);
          return svg("path", { class: "error", d: `M${x(b[1])} ${y(low)} V${y(high)} M${x(b[1]) - 4} ${y(low)} h8 M${x(b[1]) - 4} ${y(high)} h8` });
        }),
        ...bins.map((b) => svg("circle", { cx: x(b[1]), cy: y(b[2]), r: 3 + 6 * Math.sqrt(b[0] / most) },
          svg("title", null, `${b[0]} rows: predicted ${percent(b[1])}, observed ${percent(b[2])} (95 % interval ${likelyShare(b[2], b[0]).map(percent).join(" to ")})`))),
        svg("text", { x: (W + L) / 2, y: HH - 6, "text-anchor": "middle" }, `predicted P(${names[R.target]} = ${states[k]})`),
        svg("text", { x: L + 8, y: 20 }, "observed share"));
      picture.setAttribute("aria-label", `Calibration of ${states[k]}; the table beside it has the same numbers.`);
      holder.replaceChildren(picture);
      list.replaceChildren(table([th("predicted", "num"), th("observed", "num"), th("95 % interval", "num"), th("rows", "num")],
        bins.map((b) => el("tr", null, ...[percent(b[1]), percent(b[2]), likelyShare(b[2], b[0]).map(percent).join(" – "), b[0].toLocaleString("en")].map((t) => el("td", { class: "num" }, t))))));
    }
    const last = states.length - 1;
    pick.value = String(last);
    draw(last);
    return el("div", null, el("h3", null, "Calibration"), el("p", null, "Class ", pick),
      el("p", { class: "note" }, "A dot is a group of rows, larger for more rows. Bars are 95 % intervals of the observed share: where they cross the diagonal, predicted and observed shares agree."), el("div", { class: "two" }, holder, list));
  }
  function confusion(counts, states) {
    const rows = counts.map((row, i) => {
      const total = row.reduce((a, b) => a + b, 0);
      return el("tr", null, el("th", { scope: "row" }, states[i]), ...row.map((n) => {
        const cell = el("td", { class: "num" }, n.toLocaleString("en"));
        cell.style.background = `rgba(var(--hot), ${(0.42 * (total ? n / total : 0)).toFixed(3)})`;
        return cell;
      }), el("td", { class: "num" }, total ? percent(row[i] / total) : "–"));
    });
    return el("div", null, el("h3", null, "Confusion"), el("p", { class: "note" }, "Rows: the true class; columns: the most probable one."),
      table([th("true"), ...states.map((s) => th(s, "num")), th("recall", "num")], rows));
  }
  function measures() {
    const m = R.measures;
    if (!m) return section("fit-section", "Fit", el("p", { class: "note" }, "No data was given, so nothing was measured; pass data to see how well the model tells rows that it has not seen."));
    const rows = m.lines.map(([name, meaning, fresh, itself, base]) => el("tr", null, el("td", null, name),
      ...(m.held ? [el("td", { class: "num" }, el("strong", null, number(fresh, 4)))] : []),
      el("td", { class: "num" }, number(itself, 4)), el("td", { class: "num" }, number(base, 4)), el("td", null, meaning)));
    const head = [th("measure"), ...(m.held ? [th("held out", "num")] : []), th("the model, all rows given", "num"), th(m.base, "num"), th("what it says")];
    const states = R.target === null ? [] : R.columns[R.target].s;
    section("fit-section", "Fit", el("p", { class: "note" }, [m.held, m.note].filter(Boolean).join(" ")), table(head, rows),
      m.confusion ? el("div", { class: "two" }, calibration(m.calibration, states), confusion(m.confusion, states)) : null);
  }
  function trace() {
    if (!R.trace.length) return;
    const keys = unique(R.trace.flatMap((r) => Object.keys(r)));
    const numeric = (key) => R.trace.filter((r) => typeof r[key] === "number").length > 1;
    const best = ["score", "log_posterior", "log_score", "pll", "inner_log_loss", "entropy", "best_gain"].find(numeric);
    const parts = [];
    if (best) {
      const points = R.trace.map((r, i) => [r.step === undefined ? i : r.step, r[best]]).filter((p) => typeof p[1] === "number");
      const W = 460, HH = 220, L = 12, B = 28;
      const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]), [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
      const x = (v) => L + 10 + ((v - x0) / (x1 - x0 || 1)) * (W - L - 30), y = (v) => HH - B - 14 - ((v - y0) / (y1 - y0 || 1)) * (HH - B - 50);
      const picture = chart(W, HH, L, B, svg("path", { class: "curve", d: points.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`).join(" ") }),
        ...points.slice(0, 200).map((p) => svg("circle", { cx: x(p[0]).toFixed(1), cy: y(p[1]).toFixed(1), r: 3.5 }, svg("title", null, `step ${p[0]}: ${number(p[1])}`))),
        svg("text", { x: L + 8, y: 18 }, `${best.replace(/_/g, " ")}, from ${number(y0)} to ${number(y1)}`),
        svg("text", { x: W - 10, y: HH - 8, "text-anchor": "end" }, "step"));
      picture.setAttribute("aria-label", `${best} by step`);
      parts.push(picture);
    }
    const text = (v) => (v === undefined || v === null ? "" : Array.isArray(v) ? v.join(" × ") : typeof v === "number" && !Number.isInteger(v) ? number(v, 4) : String(v));
    const line = (r) => el("tr", null, ...keys.map((k) => el("td", { class: typeof r[k] === "number" ? "num" : null }, text(r[k]))));
    const make = (items) => {
      const node = table(keys.map((k) => th(k.replace(/_/g, " "))), items.map(line));
      return { node, add: (rest) => node.querySelector("tbody").append(...rest.map(line)) };
    };
    section("trace", "Search trace", el("p", { class: "note" }, "What the learner did, step by step; seconds are those since it began."), ...parts, ...growing(R.trace, MOST_ROWS, make, "steps"));
  }
  function learned() {
    section("learned", "How it was learned", el("dl", null, ...R.learned.flatMap(([key, value]) => [el("dt", null, key), el("dd", null, value)])));
  }
  function printed() { // on paper every column's tables follow at the end
    const order = unique([...(R.target === null ? [] : [R.target]), ...R.picture.nodes.map((n) => n[0])]).slice(0, MOST_PRINTED);
    const faces = R.shape === "faces" && R.target !== null;
    section("appendix", "Tables of the columns", ...(faces ? [el("div", null, ...blocks(R.target))]
      : order.map((c) => el("div", null, el("h3", null, names[c]), el("p", { class: "note" }, [["Parents", neighbors(c).parents], ["Children", neighbors(c).children], ["Joined", neighbors(c).beside]]
        .filter(([, list]) => list.length).map(([title, list]) => `${title}: ${list.map((u) => names[u]).join(", ")}.`).join(" ")), ...blocks(c)))),
      order.length < names.length && !faces ? el("p", { class: "note" }, `${order.length} of ${names.length.toLocaleString("en")} columns are printed.`) : null);
  }
  function unprinted() {
    $("appendix").replaceChildren();
    $("appendix").hidden = true;
  }

  panelParts.push((c, where) => (where === "before" ? R.columns[c].m && R.columns[c].d ? [keyOf(R.columns[c]), marginal(c)] : [] : [...blocks(c), neighborhood(c)]));
  $("overview").hidden = false;
  $("overview").append(...R.overview.map((words) => el("p", null, words)));
  interactions();
  effects();
  measures();
  columns();
  trace();
  learned();
  const titles = [...document.querySelectorAll("main > section:not([hidden]) > h2, #graph-title")];
  $("nav").append(...titles.map((h) => el("a", { href: `#${h.closest("section").id}` }, h.textContent)));
  window.addEventListener("beforeprint", printed);
  window.addEventListener("afterprint", unprinted);
})();
