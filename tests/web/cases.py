"""Questions to the engines of a page with Python's answers, as JSON for `engines.test.js`.

Each case is {name, spec, questions, answers}: a question is a list of [column, weights of its
states, whether it was set from outside]; an answer has the bars of each column, or of the `only`
one that is exact, and ln P(evidence); None where the evidence is impossible.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import counterpane as cp
from counterpane.errors import ParameterError
from counterpane.features import Potential
from counterpane.report.engines import engine_of

Question = list[tuple[int, list[float], bool]]
Case = dict[str, Any]


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


def case(name: str, model: Any, questions: list[Question], answers: list[Any], **more: Any) -> Case:
    spec = engine_of(model)
    return {"name": name, "spec": spec, "questions": questions, "answers": answers, **more}


def exact(name: str, model: Any, questions: list[Question]) -> Case:
    """A case whose answers are Python's marginals; do is a network without the edges cut."""
    answers = []
    for question in questions:
        sets = [v for v, _, is_set in question if is_set]
        found = expected(mutilated(model, question) if sets else model, question)
        if found is not None:
            # A column that is set has no probability of its own: undo the uniform one.
            more = float(np.log(model.schema.cards[sets]).sum())
            found = [p.tolist() for p in found[0]], found[1] + more
        answers.append(found)
    return case(name, model, questions, answers)


def networks() -> Iterator[Case]:
    """Networks with evidence, virtual evidence and do."""
    rng = np.random.default_rng(23)
    for k in range(60):
        network = random_network(rng)
        questions = [random_question(rng, network.schema.cards, 0.4) for _ in range(4)]
        yield exact(f"network {k}", network, questions)


def markov_networks() -> Iterator[Case]:
    rng = np.random.default_rng(24)
    for k in range(20):
        n = int(rng.integers(2, 8))
        cards = rng.integers(2, 4, n)
        potentials = []
        for _ in range(n + 1):
            scope = rng.choice(n, size=min(n, int(rng.integers(1, 4))), replace=False).tolist()
            values = rng.normal(0, 200 if rng.random() < 0.2 else 2, cards[scope])
            values[rng.random(values.shape) < 0.1] = -np.inf
            potentials.append(Potential(scope, values))
        model = cp.MarkovNetwork(cp.Schema.from_cards(cards.tolist()), potentials)
        questions = [random_question(rng, cards, 0.0) for _ in range(4)]
        try:
            model.log_partition  # noqa: B018
        except ParameterError:
            continue  # no row is possible
        yield exact(f"Markov network {k}", model, questions)


def mixtures() -> Iterator[Case]:
    rng = np.random.default_rng(25)
    for k in range(12):
        first = random_network(rng)
        models = [first]
        for _ in range(2):
            tables = [rng.dirichlet(np.ones(t.shape[-1]), t.shape[:-1]) for t in first.tables]
            models.append(cp.BayesianNetwork(first.schema, first.dag, tables))
        model = cp.Mixture(models, rng.random(3) + 0.1, fixed=k % 2 == 0)
        questions = [random_question(rng, first.schema.cards, 0.0) for _ in range(3)]
        yield exact(f"mixture {k}", model, questions)


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
        return cp.InteractionClassifier(parts="trees").fit(
            small("x", 3, 400), "label"
        ).model_, "label"
    if name == "boosted states":  # trees that the page holds as tables
        return cp.InteractionClassifier(parts="trees").fit(
            cp.load_dataset("titanic"), "survived"
        ).model_, "survived"
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


def classifiers() -> Iterator[Case]:
    """P(class | evidence); bars of other columns are shares of rows, without a reference."""
    for name in ("tables", "numbers", "boosted", "boosted states", "average", "tictactoe"):
        model, target = learned(name)
        rng = np.random.default_rng(26)
        last = len(model.schema) - 1
        cards = model.schema.cards[:last]
        questions: list[Question] = [[], *(random_question(rng, cards, 0.0) for _ in range(12))]
        questions.append([(v, np.eye(card)[0].tolist(), False) for v, card in enumerate(cards)])
        answers = []
        for question in questions:
            words = in_words(model, question)
            hard = {k: v for k, v in words.items() if not isinstance(v, dict)}
            soft = {k: v for k, v in words.items() if isinstance(v, dict)}
            if isinstance(model, cp.Mixture):
                found = model.query(target, hard, virtual_evidence=soft)
            else:
                found = model.query(target, words)
            answers.append(([found.probabilities.tolist()], None))
        yield case(f"classifier {name}", model, questions, answers, only=[last] * len(questions))


def conditionals_of(network: cp.BayesianNetwork, hybrid: bool) -> Any:
    """A dependency network, or a hybrid random field, with the conditionals of a network."""
    families = [
        [p for p in network.to_potentials() if v in p.scope] for v in range(len(network.schema))
    ]
    return (cp.HybridRandomField if hybrid else cp.DependencyNetwork)(network.schema, families)


def gibbs() -> Iterator[Case]:
    """Estimates, which come with standard errors."""
    rng = np.random.default_rng(27)
    k = 0
    while k < 12:
        network = random_network(rng)
        tables = [(t + 0.1) / (t + 0.1).sum(axis=-1, keepdims=True) for t in network.tables]
        network = cp.BayesianNetwork(network.schema, network.dag, tables)
        if network.schema.cards.min() < 2:
            continue
        model = conditionals_of(network, hybrid=k % 2 == 0)
        questions = [[], random_question(rng, network.schema.cards, 0.0)]
        answers = [([p.tolist() for p in expected(network, q)[0]], None) for q in questions]  # type: ignore[index]
        yield case(f"Gibbs sampling {k}", model, questions, answers, estimated=True)
        k += 1


def learned_conditionals() -> Iterator[Case]:
    """Trees and rules: a column given all others is exact, without an error."""
    for local in ("tree", "logistic"):
        model = cp.DependencyNetworkLearner(local=local).fit(cp.load_dataset("titanic")).model_
        cards = model.schema.cards
        rng = np.random.default_rng(28)
        questions: list[Question] = []
        answers = []
        for v in range(len(cards)):
            codes = rng.integers(cards)
            others = [u for u in range(len(cards)) if u != v]
            questions.append([(u, np.eye(cards[u])[codes[u]].tolist(), False) for u in others])
            found = model.query(model.schema.names[v], in_words(model, questions[v]))
            answers.append(([found.probabilities.tolist()], None))
        yield case(f"conditionals {local}", model, questions, answers, only=[*range(len(cards))])


if __name__ == "__main__":
    made = (networks, markov_networks, mixtures, classifiers, gibbs, learned_conditionals)
    json.dump([each for make in made for each in make()], sys.stdout)
