"""The accuracy of a graph's answers to independence questions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from counterpane.checks import INTEGER, NONE, accepts
from counterpane.errors import GraphError, ParameterError, shown_type
from counterpane.graphs import Dag, UndirectedGraph
from counterpane.independence import IndependenceTest, Oracle
from counterpane.independence.base import Question
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.markov_network import MarkovNetwork
from counterpane.seeds import random_generator

ENUMERATED = 8  # variables: 28 · 63 = 1,764 questions, about as many as are drawn above
DRAWN = 2000
TOGETHER = 32  # questions counted at a time: their tables must fit


@accepts(n=INTEGER, size=INTEGER | NONE, random_state=INTEGER)
def independence_questions(
    n: int, *, size: int | None = None, random_state: int = 0
) -> list[Question]:
    """Questions (x, y, given) about n variables with at least one given, each once.

    Random questions are spread evenly over the sizes 1 … n−2 of `given`, as far as there are
    enough, and are uniform within a size (Bromberg & Margaritis 2007 use all for 5 and 6
    variables).

    Parameters
    ----------
    n : int
        The number of variables, at least 3.
    size : int, optional
        The number of questions; by default all for up to 8 variables, and 2,000 for more.
    random_state : int
        The seed of random questions.

    Returns
    -------
    list of (int, int, tuple of int)
        The questions.

    Examples
    --------
    >>> len(independence_questions(5)), len(independence_questions(6))
    (70, 225)
    >>> questions = independence_questions(20)
    >>> len(questions), sorted({len(given) for _, _, given in questions}) == list(range(1, 19))
    (2000, True)
    """
    if n < 3 or (size is not None and size < 1):
        raise ParameterError(
            f"n={n}, size={size}; at least 3 variables and one question are needed."
        )
    if size is None and n <= ENUMERATED:
        return [q for k in range(1, n - 1) for q in _all_of_size(n, k)]
    rng = random_generator(random_state)
    counts = _counts_by_size(n, DRAWN if size is None else size)
    return [q for k, count in counts.items() for q in _draw(rng, n, k, count)]


def independence_accuracy(
    graph: UndirectedGraph | Dag | MarkovNetwork | BayesianNetwork,
    truth: IndependenceTest | UndirectedGraph | Dag | Sequence[bool],
    questions: Iterable[Question],
) -> float:
    """The share of `questions` for which separation in `graph` gives the true answer.

    Parameters
    ----------
    graph : graph or network
        The graph whose separations are the answers.
    truth : graph, test or sequence of bool
        The true graph, a test bound to data, or the answers: True if x and y are independent.
    questions : iterable of (x, y, given)
        See `independence_questions`.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> chain, pair = UndirectedGraph(3, [(0, 1), (1, 2)]), UndirectedGraph(3, [(0, 1)])
    >>> independence_accuracy(pair, chain, independence_questions(3))  # wrong on 1 – 2 given 0
    0.6666666666666666
    """
    listed = list(questions)
    if not listed:
        raise ParameterError("there are no questions; at least one is needed.")
    answers = _answers(_graph_of(graph), listed)
    true = list(truth) if isinstance(truth, Sequence) else _answers(truth, listed)
    if len(true) != len(listed):
        raise ParameterError(f"{len(true)} answers were given to {len(listed)} questions.")
    return sum(a == bool(b) for a, b in zip(answers, true, strict=True)) / len(listed)


def _graph_of(
    model: UndirectedGraph | Dag | MarkovNetwork | BayesianNetwork,
) -> UndirectedGraph | Dag:
    if isinstance(model, MarkovNetwork):
        return model.undirected
    return model.dag if isinstance(model, BayesianNetwork) else model


def _answers(
    judge: IndependenceTest | UndirectedGraph | Dag, questions: list[Question]
) -> list[bool]:
    if isinstance(judge, UndirectedGraph | Dag):
        judge = Oracle(judge)
    if not isinstance(judge, IndependenceTest):
        raise GraphError(
            f"{shown_type(judge)} answers no independence question; pass a graph, a network, "
            "or a test bound to data."
        )
    parts = (questions[i : i + TOGETHER] for i in range(0, len(questions), TOGETHER))
    return [verdict.independent for part in parts for verdict in judge.verdicts(part)]


def _all_of_size(n: int, k: int) -> list[Question]:
    pairs = combinations(range(n), 2)
    return [
        (x, y, given)
        for x, y in pairs
        for given in combinations([v for v in range(n) if v not in (x, y)], k)
    ]


def _counts_by_size(n: int, size: int) -> dict[int, int]:
    """How many questions to draw with k given: equally many, but never more than exist."""
    existing = {k: math.comb(n, 2) * math.comb(n - 2, k) for k in range(1, n - 1)}
    if size > sum(existing.values()):
        raise ParameterError(
            f"size={size}; {n} variables allow {sum(existing.values())} questions with one or more "
            "variables given."
        )
    counts, left = {}, size
    for i, k in enumerate(sorted(existing, key=lambda k: existing[k])):  # the fewest first
        counts[k] = min(existing[k], left // (len(existing) - i))
        left -= counts[k]
    return counts


def _draw(rng: np.random.Generator, n: int, k: int, count: int) -> list[Question]:
    """`count` different questions with k given; all are listed first if most of them are drawn."""
    existing = math.comb(n, 2) * math.comb(n - 2, k)
    if existing < 4 * count:
        every = _all_of_size(n, k)
        return [every[i] for i in sorted(rng.choice(existing, count, replace=False).tolist())]
    drawn: dict[Question, None] = {}
    while len(drawn) < count:
        x, y, *given = rng.permutation(n)[: k + 2].tolist()
        drawn[min(x, y), max(x, y), tuple(sorted(given))] = None
    return list(drawn)
