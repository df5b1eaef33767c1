"""Classifiers, dependency networks and hybrid random fields, beside Python's answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpane as cp
from browser.test_explorer_engines import Question, ask, random_network, random_question


def small(name: str, columns: int, rows: int) -> dict[str, Any]:
    """Some columns and rows of a built-in table, with numbers as numbers."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, columns))
    shape = np.where(rng.random(rows) < 0.5, "round", "square")
    shade = rng.choice(["red", "green", "blue"], rows)
    odds = x[:, 0] * (shape == "round") + 0.8 * x[:, 1] ** 2 - (shade == "red")
    frame: dict[str, Any] = {f"{name}{c}": x[:, c].round(2) for c in range(columns)}
    frame[f"{name}0"][::17] = np.nan
    label = np.where(odds + rng.normal(size=rows) > 0.3, "yes", "no")
    return frame | {"shape": shape, "shade": shade, "label": label}


def learned(name: str) -> tuple[Any, str]:
    if name == "tables":
        learner = cp.InteractionClassifier()
        return learner.fit(cp.load_dataset("titanic"), "survived").model_, "survived"
    if name == "numbers":
        return cp.InteractionClassifier().fit(small("x", 3, 400), "label").model_, "label"
    if name == "boosted":
        return cp.BoostedTables().fit(small("x", 3, 400), "label").model_, "label"
    if name == "boosted states":  # trees that the page holds as tables
        return cp.BoostedTables().fit(cp.load_dataset("titanic"), "survived").model_, "survived"
    if name == "average":
        learner = cp.MarkovClassifier()
        return learner.fit(cp.load_dataset("titanic"), "survived").model_, "survived"
    return cp.MarkovClassifier().fit(cp.load_dataset("tictactoe"), "class").model_, "class"


def in_words(model: Any, question: Question) -> dict[str, Any]:
    """The evidence as a person writes it: a state, or weights of states."""
    evidence: dict[str, Any] = {}
    for v, weights, _ in question:
        variable = model.schema[v]
        likely = [s for s, w in enumerate(weights) if w > 0]
        if len(likely) == 1 and weights[likely[0]] == 1.0:
            evidence[variable.name] = variable.states[likely[0]]
        else:
            evidence[variable.name] = dict(zip(variable.states, weights, strict=True))
    return evidence


@pytest.mark.parametrize(
    "name", ["tables", "numbers", "boosted", "boosted states", "average", "tictactoe"]
)
def test_classifiers(browser: Any, name: str) -> None:
    model, target = learned(name)
    rng = np.random.default_rng(26)
    last = len(model.schema) - 1
    assert model.schema.names[last] == target
    cards = model.schema.cards[:last]
    questions: list[Question] = [[], *(random_question(rng, cards, 0.0) for _ in range(25))]
    questions.append([(v, np.eye(card)[0].tolist(), False) for v, card in enumerate(cards)])
    for question, answer in zip(questions, ask(browser, [(model, questions)]), strict=True):
        words = in_words(model, question)
        hard = {k: v for k, v in words.items() if not isinstance(v, dict)}
        soft = {k: v for k, v in words.items() if isinstance(v, dict)}
        if isinstance(model, cp.Mixture):
            exact = model.query(target, hard, virtual_evidence=soft)
        else:
            exact = model.query(target, words)
        np.testing.assert_allclose(answer["p"][last], exact.probabilities, rtol=0, atol=1e-9)
        assert all(abs(sum(bars) - 1) < 1e-9 for bars in answer["p"])


def conditionals_of(network: cp.BayesianNetwork, hybrid: bool) -> Any:
    """A dependency network, or a hybrid random field, with the conditionals of a network."""
    families = [
        [p for p in network.to_potentials() if v in p.scope] for v in range(len(network.schema))
    ]
    return (cp.HybridRandomField if hybrid else cp.DependencyNetwork)(network.schema, families)


@pytest.mark.parametrize("hybrid", [False, True])
def test_gibbs_agrees_within_its_standard_errors(browser: Any, hybrid: bool) -> None:
    rng = np.random.default_rng(27)
    cases, networks = [], []
    while len(cases) < 10:
        network = random_network(rng)
        tables = [(t + 0.1) / (t + 0.1).sum(axis=-1, keepdims=True) for t in network.tables]
        network = cp.BayesianNetwork(network.schema, network.dag, tables)
        if network.schema.cards.min() < 2:
            continue
        networks.append(network)
        question = random_question(rng, network.schema.cards, 0.0)
        cases.append((conditionals_of(network, hybrid), [[], question]))
    answers = iter(ask(browser, cases))
    seen = 0
    for network, (_, questions) in zip(networks, cases, strict=True):
        for question in questions:
            answer = next(answers)
            weights = {network.schema.names[v]: np.array(w) for v, w, _ in question}
            exact = network.marginals({}, virtual_evidence=weights)
            for v, name in enumerate(network.schema.names):
                off = np.abs(np.array(answer["p"][v]) - exact[name].probabilities)
                assert (off <= 4 * np.array(answer["errors"][v]) + 1e-12).all()
                seen += off.size
    assert seen > 100


@pytest.mark.parametrize("local", ["tree", "logistic"])
def test_learned_conditionals(browser: Any, local: str) -> None:
    """Trees and rules: a column given all others is exact, without an error."""
    titanic = cp.load_dataset("titanic")
    model = cp.DependencyNetworkLearner(local=local).fit(titanic).model_
    cards = model.schema.cards
    rng = np.random.default_rng(28)
    questions: list[Question] = []
    for v in range(len(cards)):
        codes = rng.integers(cards)
        questions.append(
            [(u, np.eye(cards[u])[codes[u]].tolist(), False) for u in range(len(cards)) if u != v]
        )
    for v, answer in enumerate(ask(browser, [(model, questions)])):
        exact = model.query(model.schema.names[v], in_words(model, questions[v]))
        np.testing.assert_allclose(answer["p"][v], exact.probabilities, rtol=0, atol=1e-9)
        assert max(answer["errors"][v]) < 1e-9
