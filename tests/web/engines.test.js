// The engines of a page beside Python's answers, which `cases.py` works out.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import test from "node:test";

import { largest, makeEngine, sum } from "../../src/counterpane/report/web/engines/arrays.js";
import "../../src/counterpane/report/web/engines/gibbs.js";
import "../../src/counterpane/report/web/engines/rows.js";
import "../../src/counterpane/report/web/engines/still.js";
import "../../src/counterpane/report/web/engines/tree.js";

const TOLERANCE = 1e-9;
const python = process.env.PYTHON || "python3";
const cases = JSON.parse(
  execFileSync(python, [fileURLToPath(new URL("cases.py", import.meta.url))], {
    encoding: "utf-8",
    maxBuffer: 2 ** 28,
  }),
);

/**
 * @param {[number, number[], boolean][]} question
 * @returns {import("../../src/counterpane/report/web/types").Evidence}
 */
function asked(question) {
  return new Map(
    question.map(([v, weights, cut]) => {
      const likely = weights.flatMap((w, s) => (w > 0 ? [s] : []));
      const state = likely.length === 1 && weights[likely[0]] === 1 ? likely[0] : -1;
      return [v, { weights: Float64Array.from(weights), state, cut }];
    }),
  );
}

function compare(bars, exact, errors) {
  assert.equal(bars.length, exact.length);
  exact.forEach((p, s) => {
    const most = errors ? 4 * errors[s] + 1e-12 : TOLERANCE;
    assert.ok(Math.abs(bars[s] - p) <= most, `${bars[s]} is not ${p}`);
  });
}

for (const { name, spec, questions, answers, only, estimated } of cases) {
  test(name, () => {
    const engine = makeEngine(spec);
    questions.forEach((question, q) => {
      const result = engine.run(asked(question)),
        answer = answers[q];
      assert.equal(result === null, answer === null);
      if (!result) return;
      for (const bars of result.marginals) assert.ok(Math.abs(sum(bars) - 1) < 1e-9);
      const [exact, log] = answer,
        columns = only ? [only[q]] : exact.keys();
      if (log !== null) assert.ok(Math.abs(result.logEvidence - log) <= TOLERANCE);
      [...columns].forEach((v, k) =>
        compare(result.marginals[v], exact[k], estimated && result.errors[v]),
      );
      if (only && result.errors) assert.ok(largest(result.errors[only[q]]) < TOLERANCE);
    });
  });
}

test("all kinds of answers were asked for", () => {
  const kinds = new Set(cases.map(({ spec }) => spec.kind));
  assert.deepEqual([...kinds].sort(), ["gibbs", "mixture", "rows", "tree"]);
  const answers = cases.flatMap((each) => each.answers);
  assert.ok(answers.length > 300 && answers.filter((answer) => answer === null).length > 3);
});
