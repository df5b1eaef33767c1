"""Questions to random models, compared with brute force over all rows."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import counterpane as cp
from counterpane.errors import CounterpaneError
from counterpane.features import Potential, Rules
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.weights import log_weight
from faults.outcomes import judge

CLOSE = 1e-7  # of an answer, absolute
QUESTIONS = 5  # to one model


def make_model(rng: np.random.Generator) -> Any:
    """A network of a few columns with odd tables: zeros, large constants, tiny probabilities."""
    n = int(rng.integers(2, 6))
    schema = cp.Schema.from_cards(rng.integers(1, 4, n))
    if rng.random() < 0.5:
        return _bayesian(rng, schema)
    parts: list[Potential | Rules] = []
    size = float(rng.choice([0.1, 1.0, 30.0, 800.0]))
    for _ in range(int(rng.integers(1, 6))):
        scope = tuple(rng.permutation(n)[: rng.integers(1, min(n, 3) + 1)].tolist())
        values = np.round(rng.normal(0, size, schema.cards[list(scope)]) * 64) / 64
        values[rng.random(values.shape) < rng.choice([0.0, 0.3])] = -np.inf
        parts.append(Potential(scope, values + rng.choice([0.0, 2.0**20, -(2.0**25)])))
    if rng.random() < 0.5:
        parts.append(_rules(rng, schema, size))
    return MarkovNetwork(schema, parts)


def _bayesian(rng: np.random.Generator, schema: cp.Schema) -> BayesianNetwork:
    parents = [np.flatnonzero(rng.random(v) < 0.5).tolist() for v in range(len(schema))]
    tables = []
    for v, above in enumerate(parents):
        weights = rng.random(schema.cards[[*above, v]]) ** rng.choice([1.0, 20.0, 200.0])
        weights[rng.random(weights.shape) < rng.choice([0.0, 0.3])] = 0.0
        weights[weights.sum(axis=-1) == 0] = 1.0
        tables.append(weights / weights.sum(axis=-1, keepdims=True))
    return BayesianNetwork(schema, cp.Dag.from_parents(parents), tables)


def _rules(rng: np.random.Generator, schema: cp.Schema, size: float) -> Rules:
    listed = []
    for _ in range(int(rng.integers(1, 5))):
        chosen = [v for v in rng.permutation(len(schema))[:2].tolist() if schema.cards[v] > 1]
        terms = [(v, int(rng.integers(schema.cards[v])), bool(rng.random() < 0.3)) for v in chosen]
        listed.append((float(np.round(rng.normal(0, size) * 64) / 64), terms))
    return Rules.from_list(schema.cards, listed)


def log_parts(model: Any) -> list[np.ndarray[Any, Any]]:
    """ln of each part of the weight of every row, of axes (variables…): one for each variable of a
    Bayesian network, and one in all for another model.
    """
    cards = model.schema.cards.tolist()
    if isinstance(model, BayesianNetwork):
        parts = [np.zeros(cards) for _ in cards]
        for row in np.ndindex(*cards):
            for v, part in enumerate(parts):
                part[row] = _log_share(model, v, row)
        return parts
    total = np.zeros(cards)
    for row in np.ndindex(*cards):
        logs = [float(p.log_values[tuple(row[v] for v in p.scope)]) for p in model.potentials]
        logs += [w for r in model.rules for w in _held(r, row)]
        total[row] = -math.inf if -math.inf in logs else math.fsum(logs)
    return [total]


def _log_share(model: BayesianNetwork, v: int, row: tuple[int, ...]) -> float:
    cell = (*(row[p] for p in model.dag.parents(v)), row[v])
    with np.errstate(divide="ignore"):
        return float(np.log(model.tables[v][cell]))


def _held(rules: Rules, row: tuple[int, ...]) -> list[float]:
    weights = []
    for r, weight in enumerate(rules.weights.tolist()):
        terms = range(rules.offsets[r], rules.offsets[r + 1])
        if all((row[rules.variables[k]] == rules.values[k]) != rules.negated[k] for k in terms):
            weights.append(weight)
    return weights


@lru_cache(maxsize=1)
def made_model(number: int) -> tuple[Any, list[np.ndarray[Any, Any]]]:
    """A random model, and ln of the parts of the weight of every row."""
    model = make_model(np.random.default_rng([number, 24]))
    return model, log_parts(model)


class Question(NamedTuple):
    """What is asked, what is known in each of three ways, and ln of the weight of every row."""

    asked: list[int]
    evidence: dict[str, Any]
    likelihoods: dict[str, Any]
    do: dict[str, Any]
    single: frozenset[int]  # variables with one state each, given or set
    prior: np.ndarray[Any, Any]  # under do
    logs: np.ndarray[Any, Any]  # under do and the evidence

    @property
    def log_share(self) -> float:
        """ln P(evidence | do)."""
        return _log_sum(self.logs) - _log_sum(self.prior)


def _log_sum(logs: np.ndarray[Any, Any]) -> float:
    top = float(logs.max())
    return top if top == -np.inf else float(np.log(np.exp(logs - top).sum()) + top)


def _along(weights: Any, v: int, n: int) -> np.ndarray[Any, Any]:
    """ln of the weights of the states of a variable, on its axis of n."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(weights, dtype=float)).reshape(
            [-1 if k == v else 1 for k in range(n)]
        )


def make_question(
    rng: np.random.Generator, model: Any, parts: list[np.ndarray[Any, Any]]
) -> Question:
    """A random question; states, sets, ranges and likelihoods are known, and states are set."""
    n, schema = parts[0].ndim, model.schema
    asked = rng.permutation(n)[: rng.integers(1, min(n, 2) + 1)].tolist()
    evidence: dict[str, Any] = {}
    likelihoods: dict[str, Any] = {}
    do: dict[str, Any] = {}
    weights: dict[int, Any] = {}
    single = set()
    sets = rng.random() < 0.3 and isinstance(model, BayesianNetwork)
    for v in range(n):
        name, card = schema.names[v], int(schema.cards[v])
        chosen, how = int(rng.integers(card)), int(rng.integers(10))
        if how == 0:
            vector = rng.random(card) ** rng.choice([1.0, 30.0])
            vector[rng.random(card) < 0.2] = 0.0
            vector[chosen] += 1e-3
            likelihoods[name] = vector.tolist() if rng.random() < 0.5 else dict(enumerate(vector))
            weights[v] = vector
        elif how <= 3:
            value, vector = _partly_known(rng, chosen, card)
            one = np.count_nonzero(vector) == 1
            if not (one and v in asked):  # what is known cannot be asked
                evidence[name], weights[v] = value, vector
                single |= {v} if one else set()
        elif how == 4 and sets and v not in asked:
            do[name] = chosen
            single.add(v)
        elif how <= 6 and v not in asked:
            evidence[name], weights[v] = chosen, np.arange(card) == chosen
            single.add(v)
    prior = sum(part for k, part in enumerate(parts) if schema.names[k] not in do)
    for name, state in do.items():
        v = schema.index(name)
        prior = prior + _along(np.arange(schema.cards[v]) == state, v, n)
    logs = prior
    for v, vector in weights.items():
        logs = logs + _along(vector, v, n)
    return Question(asked, evidence, likelihoods, do, frozenset(single), prior, logs)


def _partly_known(
    rng: np.random.Generator, chosen: int, card: int
) -> tuple[Any, np.ndarray[Any, Any]]:
    """A set or a range of states as evidence, and which states it holds."""
    states, how = np.arange(card), int(rng.integers(3))
    if how == 0:
        listed = {chosen, *rng.integers(card, size=2).tolist()}
        return listed, np.isin(states, list(listed))
    if how == 1:
        return cp.Range(low=chosen - 0.5), states >= chosen
    return cp.Range(high=chosen, include_high=True), states <= chosen


def fault_of(seed: int) -> str | None:
    """What is wrong with the answers of a random model; `QUESTIONS` seeds ask the same one."""
    model, parts = made_model(seed // QUESTIONS)
    rng = np.random.default_rng([seed, 26])
    question = make_question(rng, model, parts)
    possible = question.logs.max() > -np.inf
    checks = rng.permutation(np.array([check_best, check_share, check_rows, check_each]))[:2]
    for check in (check_answer, *checks):
        try:
            fault = check(model, question)
        except CounterpaneError:
            if possible:
                raise
            continue  # impossible evidence, or a model without a possible row
        if not possible and check in (check_answer, check_each):
            return f"{question[:4]} is impossible, and has an answer"
        if fault is not None:
            return f"{fault}; {question[:4]}"
    return None


def _shares(question: Question, variables: list[int]) -> np.ndarray[Any, Any]:
    """P(variables | what is known), by brute force."""
    joint = np.exp(question.logs - question.logs.max())
    summed = joint.sum(axis=tuple(v for v in range(joint.ndim) if v not in variables))
    order = sorted(variables)
    return np.transpose(summed, [order.index(v) for v in variables]) / joint.sum()


def _differs(answer: Any, expected: np.ndarray[Any, Any]) -> bool:
    shares = np.asarray(answer.probabilities, dtype=float).reshape(expected.shape)
    return not (np.abs(shares - expected) <= CLOSE).all()


def _apart(value: float, truth: float) -> bool:
    return value != truth and not abs(value - truth) <= CLOSE * max(1.0, abs(truth))


def check_answer(model: Any, question: Question) -> str | None:
    """`query`, and the probability of the evidence that its answer tells."""
    names = [model.schema.names[v] for v in question.asked]
    answer = model.query(
        names, question.evidence, virtual_evidence=question.likelihoods, do=question.do
    )
    expected = _shares(question, question.asked)
    if _differs(answer, expected):
        return f"P({names}) is {answer.probabilities} and not {expected.tolist()}"
    if _apart(answer.log_evidence, question.log_share):
        return f"ln P(evidence) is {answer.log_evidence} and not {question.log_share}"
    return None


def check_best(model: Any, question: Question) -> str | None:
    """`map_query`, which takes no likelihoods."""
    if question.likelihoods:
        return None
    names = [model.schema.names[v] for v in question.asked]
    best = model.map_query(names, question.evidence, do=question.do)
    expected = _shares(question, question.asked)
    place = tuple(model.schema[v].code(best[model.schema.names[v]]) for v in question.asked)
    if expected[place] < expected.max() - CLOSE:
        return f"{best} has probability {expected[place]}, and {expected.max()} is best"
    return None


def check_share(model: Any, question: Question) -> str | None:
    """`log_evidence`, `log_weight` and its bounds."""
    if question.do or question.prior.max() == -np.inf:
        return None
    share = model.log_evidence(question.evidence, virtual_evidence=question.likelihoods)
    if _apart(share, question.log_share):
        return f"ln P(evidence) is {share} and not {question.log_share}"
    if question.likelihoods:
        return None
    weight, truth = log_weight(model, question.evidence), _log_sum(question.logs)
    if _apart(weight, truth):
        return f"ln of the weight is {weight} and not {truth}"
    lower, upper = cp.log_weight_bounds(model, question.evidence, exact=False)
    slack = CLOSE * max(1.0, abs(truth))
    if truth > -np.inf and not lower - slack <= truth <= upper + slack:
        return f"the weight {truth} is not between {lower} and {upper}"
    return None


def check_rows(model: Any, question: Question) -> str | None:
    """`sample`, which takes no likelihoods."""
    if question.likelihoods:
        return None
    rows = model.sample(20, question.evidence, random_state=0, do=question.do)
    drawn = question.logs[tuple(codes.astype(int) for codes in rows.codes)]
    return None if (drawn > -np.inf).all() else "an impossible row was drawn"


def check_each(model: Any, question: Question) -> str | None:
    """`marginals`."""
    answers = model.marginals(
        question.evidence, virtual_evidence=question.likelihoods, do=question.do
    )
    for v, name in enumerate(model.schema.names):
        if v not in question.single and _differs(answers[name], _shares(question, [v])):
            return f"P({name}) is {answers[name].probabilities} and not {_shares(question, [v])}"
    return None


def try_once(seed: int) -> str | None:
    """What is wrong with the answers of a random model; None if nothing is."""
    return judge(f"question {seed}", lambda: fault_of(seed))
