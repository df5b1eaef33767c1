"""Questions that a graph is judged by, and its share of right answers."""

from __future__ import annotations

from collections import Counter
from math import comb

import numpy as np
import pytest

import counterpane as cp
from counterpane.counts import MemoryCounts
from counterpane.data import Schema, Table
from counterpane.errors import GraphError, ParameterError
from counterpane.evaluate import independence_accuracy, independence_questions
from counterpane.features import Potential
from counterpane.graphs import Dag, UndirectedGraph
from counterpane.independence import ChiSquare, Oracle
from error_checks import raises


def is_sound(question, n):
    x, y, given = question
    return x < y and list(given) == sorted(set(given)) and {x, y}.isdisjoint(given) and n > max(
        x, y, *given
    )  # fmt: skip


@pytest.mark.parametrize("n", range(3, 9))
def test_small_domains_are_asked_everything(n):
    questions = independence_questions(n)
    assert len(set(questions)) == len(questions) == n * (n - 1) // 2 * (2 ** (n - 2) - 1)
    assert all(is_sound(q, n) and q[2] for q in questions)


@pytest.mark.parametrize("n", [9, 16, 37])
def test_large_domains_are_sampled_evenly(n):
    questions = independence_questions(n, random_state=1)
    assert len(set(questions)) == len(questions) == 2000
    assert all(is_sound(q, n) and q[2] for q in questions)
    sizes = Counter(len(given) for _, _, given in questions)
    assert set(sizes) == set(range(1, n - 1))
    there = {k: comb(n, 2) * comb(n - 2, k) for k in sizes}
    assert all(s in (there[k], max(sizes.values()), max(sizes.values()) - 1)
               for k, s in sizes.items())  # fmt: skip
    assert questions == independence_questions(n, random_state=1)
    assert questions != independence_questions(n, random_state=2)


def test_draws_are_uniform_among_those_of_a_size():
    pairs = Counter()
    for seed in range(200):
        pairs.update(q[:2] for q in independence_questions(6, size=20, random_state=seed))
    assert len(pairs) == 15
    assert max(pairs.values()) < 1.4 * min(pairs.values())


def test_the_size_asked_for_is_what_comes():
    assert len(independence_questions(6, size=31)) == 31
    assert sorted(independence_questions(6, size=225)) == sorted(independence_questions(6))
    with raises(ParameterError, about=("size=226", "225 questions")):
        independence_questions(6, size=226)
    for bad in ({"n": 2}, {"n": 5, "size": 0}):
        with raises(ParameterError, about="size"):
            independence_questions(**bad)


def test_accuracy_by_hand():
    square = UndirectedGraph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    path = UndirectedGraph(4, [(0, 1), (1, 2), (2, 3)])
    questions = [(0, 2, (1,)), (0, 2, (1, 3)), (0, 3, (1,)), (1, 3, (2,)), (0, 1, (2, 3))]
    # the path separates 0 – 2 | 1, 0 – 3 | 1 and 1 – 3 | 2, the square does not
    assert independence_accuracy(path, square, questions) == 2 / 5
    assert independence_accuracy(square, square, questions) == 1.0
    assert independence_accuracy(path, Oracle(square), questions) == 2 / 5
    assert independence_accuracy(path, [False, True, False, False, False], questions) == 2 / 5
    assert independence_accuracy(path, Dag(4, [(0, 1), (1, 2), (2, 3)]), questions) == 1.0


def test_models_and_tests_of_data():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 3000)
    b = np.where(rng.random(3000) < 0.2, 1 - a, a)
    c = np.where(rng.random(3000) < 0.2, 1 - b, b)
    source = MemoryCounts(Table(Schema.from_cards([2, 2, 2]), [a, b, c]))
    questions = independence_questions(3)
    test = ChiSquare(0.001).bind(source)
    chain = UndirectedGraph(3, [(0, 1), (1, 2)])
    for model in (chain, cp.fit_potentials(source, chain), cp.ChowLiu().fit(source).model_):
        assert independence_accuracy(model, test, questions) == 1.0
    lonely = cp.MarkovNetwork(source.schema, [Potential((0,), [0.0, 1.0])])
    assert independence_accuracy(lonely, test, questions) == 1 / 3


def test_refusals():
    chain = UndirectedGraph(3, [(0, 1), (1, 2)])
    with raises(ParameterError, about="questions"):
        independence_accuracy(chain, chain, [])
    with raises(ParameterError, about=("2 answers", "3 questions")):
        independence_accuracy(chain, [True, False], independence_questions(3))
    with raises(GraphError, about="int"):
        independence_accuracy(3, chain, independence_questions(3))
