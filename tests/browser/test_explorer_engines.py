"""The engines of the explorer in a browser, beside Python's exact answers."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import ParameterError
from counterpane.features import Potential
from counterpane.report.engines import engine_of
from counterpane.report.page import ENGINE_SCRIPTS

ANSWERS = """
const answers = [], [cases] = arguments;
for (const [spec, questions] of cases) {
  const engine = makeEngine(spec);
  for (const question of questions) {
    const evidence = new Map(question.map(([v, weights, cut]) => {
      const states = weights.flatMap((w, s) => (w > 0 ? [s] : []));
      const state = states.length === 1 && weights[states[0]] === 1 ? states[0] : -1;
      return [v, { weights: Float64Array.from(weights), state, cut }];
    }));
    const result = engine.run(evidence);
    answers.push(result && { p: result.marginals.map((m) => [...m]), log: result.logEvidence,
      errors: result.errors && result.errors.map((m) => [...m]) });
  }
}
return answers;
"""
TOLERANCE = 1e-9

Question = list[tuple[int, list[float], bool]]


def ask(browser: Any, cases: list[tuple[Any, list[Question]]]) -> list[Any]:
    """What the page's engines answer: for each model and each question one record, or None."""
    folder = files("counterpane.report") / "explorer"
    scripts = [
        "arrays.js",
        *dict.fromkeys(name for each in ENGINE_SCRIPTS.values() for name in each),
    ]
    source = "".join((folder / name).read_text(encoding="utf-8") for name in scripts)
    browser.get("about:blank")
    specs = [(engine_of(model), questions) for model, questions in cases]
    answers: list[Any] = browser.execute_script(source + ANSWERS, specs)
    return answers


def random_network(rng: np.random.Generator) -> cp.BayesianNetwork:
    n = int(rng.integers(2, 9))
    cards = rng.integers(1 if rng.random() < 0.1 else 2, 5, n)
    order = rng.permutation(n)
    edges = [
        (int(order[a]), int(order[b]))
        for b in range(n)
        for a in range(b)
        if rng.random() < 2.0 / n and b - a < 5
    ]
    dag = cp.Dag(n, edges)
    tables = []
    for v in range(n):
        shape = [*cards[list(dag.parents(v))], cards[v]]
        table = rng.dirichlet(np.full(shape[-1], 0.4), shape[:-1])
        table[rng.random(table.shape) < 0.15] = 0.0  # some states are impossible
        table[..., 0] += 1e-3
        tables.append(table / table.sum(axis=-1, keepdims=True))
    return cp.BayesianNetwork(cp.Schema.from_cards(cards.tolist()), dag, tables)


def random_question(rng: np.random.Generator, cards: Any, do: float) -> Question:
    """States, sets of states and likelihoods on some columns; `do` is the chance of being set."""
    question: Question = []
    for v, card in enumerate(cards.tolist()):
        weights = np.zeros(card)
        kind = rng.random()
        if kind < 0.25:
            weights[rng.integers(card)] = 1.0
            question.append((v, weights.tolist(), bool(rng.random() < do)))
        elif kind < 0.4:
            question.append((v, rng.random(card).tolist(), False))
        elif kind < 0.5 and card > 2:
            weights[:] = 1.0
            weights[rng.integers(card)] = 0.0
            question.append((v, weights.tolist(), False))
    return question


def mutilated(network: cp.BayesianNetwork, question: Question) -> cp.BayesianNetwork:
    """The network without the edges into the columns that are set from outside, uniform there."""
    cut = {v for v, _, is_set in question if is_set}
    edges = [(a, b) for a, b in network.dag.edges if b not in cut]
    cards = network.schema.cards
    tables = [
        np.full(cards[v], 1 / cards[v]) if v in cut else network.tables[v]
        for v in range(len(cards))
    ]
    return cp.BayesianNetwork(network.schema, cp.Dag(len(cards), edges), tables)


def expected(model: Any, question: Question) -> tuple[list[Any], float] | None:
    """Python's marginals and ln P(evidence); None where the evidence is impossible."""
    names = model.schema.names
    weights = {names[v]: np.array(w) for v, w, _ in question}
    log = model.log_evidence({}, virtual_evidence=weights)
    if log == -np.inf:
        return None
    answers = model.marginals({}, virtual_evidence=weights)
    return [answers[name].probabilities for name in names], log


def compare(answer: Any, python: tuple[list[Any], float] | None, more: float = 0.0) -> int:
    """The number of bars compared."""
    if python is None:
        assert answer is None
        return 0
    assert answer is not None
    np.testing.assert_allclose(answer["log"], python[1] + more, rtol=0, atol=TOLERANCE)
    for bars, exact in zip(answer["p"], python[0], strict=True):
        np.testing.assert_allclose(bars, exact, rtol=0, atol=TOLERANCE)
    return len(answer["p"])


def test_random_networks(browser: Any) -> None:
    """200 networks × 4 questions with evidence, virtual evidence and do."""
    rng = np.random.default_rng(23)
    networks = [random_network(rng) for _ in range(200)]
    cases = [
        (network, [random_question(rng, network.schema.cards, 0.4) for _ in range(4)])
        for network in networks
    ]
    answers = iter(ask(browser, cases))
    bars = impossible = 0
    for network, questions in cases:
        for question in questions:
            answer = next(answers)
            python = expected(mutilated(network, question), question)
            # A column that is set has no probability of its own: undo the uniform one.
            sets = [np.log(network.schema.cards[v]) for v, _, is_set in question if is_set]
            bars += compare(answer, python, float(sum(sets)))
            impossible += answer is None
    assert bars > 2000 and impossible > 10


def test_random_markov_networks(browser: Any) -> None:
    rng = np.random.default_rng(24)
    cases = []
    for _ in range(40):
        n = int(rng.integers(2, 8))
        cards = rng.integers(2, 4, n)
        potentials = []
        for _ in range(n + 1):
            scope = rng.choice(n, size=min(n, int(rng.integers(1, 4))), replace=False).tolist()
            values = rng.normal(0, 200 if rng.random() < 0.2 else 2, cards[scope])
            values[rng.random(values.shape) < 0.1] = -np.inf
            potentials.append(Potential(scope, values))
        model = cp.MarkovNetwork(cp.Schema.from_cards(cards.tolist()), potentials)
        try:
            model.log_partition  # noqa: B018
        except ParameterError:
            continue  # no row is possible
        cases.append((model, [random_question(rng, cards, 0.0) for _ in range(4)]))
    assert len(cases) > 30
    answers = iter(ask(browser, cases))
    for model, questions in cases:
        for question in questions:
            compare(next(answers), expected(model, question))


@pytest.mark.parametrize("fixed", [False, True])
def test_mixtures(browser: Any, fixed: bool) -> None:
    rng = np.random.default_rng(25)
    cases = []
    for _ in range(20):
        first = random_network(rng)
        others = [
            cp.BayesianNetwork(
                first.schema,
                first.dag,
                [rng.dirichlet(np.ones(t.shape[-1]), t.shape[:-1]) for t in first.tables],
            )
            for _ in range(2)
        ]
        model = cp.Mixture([first, *others], rng.random(3) + 0.1, fixed=fixed)
        cases.append((model, [random_question(rng, first.schema.cards, 0.0) for _ in range(3)]))
    answers = iter(ask(browser, cases))
    for model, questions in cases:
        for question in questions:
            compare(next(answers), expected(model, question))
