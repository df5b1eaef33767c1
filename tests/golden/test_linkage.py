"""Genetic linkage (Rao 1973): the example of Dempster, Laird & Rubin (1977), as a network.

197 animals fall into four cells with probabilities 1/2 + t/4, (1 − t)/4, (1 − t)/4 and t/4. The
first cell has two sources that nobody saw apart: a coin H that sends half of the animals there, and
the rest by a trait T, which is there with probability t, and a second coin C. Only T's table is
unknown: t is P(T | H = 1), and what T would be where it does not matter is left open.
"""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.data import Schema, Table
from counterpane.errors import EvidenceError, ParameterError
from error_checks import raises

COUNTS = (125, 18, 20, 34)
SCHEMA = Schema(
    [cp.Variable(name, (0, 1)) for name in ("H", "C", "T")] + [cp.Variable("cell", (1, 2, 3, 4))]
)
DAG = cp.Dag(4, [(0, 2), (0, 3), (1, 3), (2, 3)])


def linkage(t=0.5):
    cell = np.zeros((2, 2, 2, 4))
    cell[0, :, :, 0] = 1.0
    cell[1, 0, 1, 0] = cell[1, 1, 1, 3] = cell[1, 0, 0, 1] = cell[1, 1, 0, 2] = 1.0
    half = [0.5, 0.5]
    return cp.BayesianNetwork(SCHEMA, DAG, [half, half, [[1 - t, t]] * 2, cell])


def table():
    codes = np.full((4, 4), 2)
    codes[3] = range(4)
    return Table(SCHEMA, codes, COUNTS)


def test_the_cells_have_the_probabilities_of_the_model():
    t = 0.3
    assert linkage(t).query("cell").probabilities == pytest.approx(
        [1 / 2 + t / 4, (1 - t) / 4, (1 - t) / 4, t / 4]
    )


def test_the_estimate():
    found = cp.fit_parameters_em(
        table(), DAG, start=linkage(), fixed=("H", "C", "cell"), equivalent_sample_size=0,
        tolerance=0.0, max_steps=60,
    )  # fmt: skip
    assert found.tables[2][1, 1] == pytest.approx(0.6268215, abs=5e-8)
    exact = (15 + np.sqrt(53809)) / 394  # the root of 197 t² − 15 t − 68
    assert found.tables[2][1, 1] == pytest.approx(exact, abs=1e-9)
    for i in (0, 1, 3):
        assert (found.tables[i] == linkage().tables[i]).all()


def test_the_published_iterations():
    """Table 1 of the paper, from t = 0.5."""
    path = [0.5, 0.608247423, 0.624321051, 0.626488879, 0.626777323, 0.626815632]
    for steps, t in enumerate(path[1:], 1):
        found = cp.fit_parameters_em(
            table(), DAG, start=linkage(0.5), fixed=("H", "C", "cell"), equivalent_sample_size=0,
            tolerance=0.0, max_steps=steps,
        )  # fmt: skip
        assert found.tables[2][1, 1] == pytest.approx(t, abs=1e-9)


def test_what_is_fixed_needs_a_start_that_fits():
    with raises(ParameterError, about="fixed=['H']"):
        cp.fit_parameters_em(table(), DAG, fixed=["H"])
    with raises(ParameterError, about="edges"):
        cp.fit_parameters_em(table(), cp.Dag(4, [(0, 3)]), start=linkage())
    with raises(EvidenceError, about="impossible"):
        cp.fit_parameters_em(table(), DAG, start=linkage(0.0), fixed=["H", "C", "T", "cell"])
