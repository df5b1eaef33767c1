"""Large log-values: answers are right, or the values are refused in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import CounterpaneError, FileFormatError, ParameterError
from counterpane.features import Potential, Rules
from counterpane.formats.native import Content, write_native
from counterpane.models.arrays import arrays_of
from counterpane.models.markov_network import MarkovNetwork
from error_checks import raises

CARDS = [2, 3, 2, 2]
SCOPES = [(0, 1), (1, 2), (2, 3), (0, 3), (1,)]
MN = """2,2
MN {{
{0} +v0_0
{1} +v0_1
}}
"""


def dyadic(constant: float) -> MarkovNetwork:
    """A network whose log-values are multiples of 2⁻¹⁰, so that a constant rounds none of them."""
    rng = np.random.default_rng(0)
    tables = []
    for scope in SCOPES:
        values = np.round(rng.normal(0, 1, [CARDS[v] for v in scope]) * 1024) / 1024
        tables.append(Potential(scope, values + constant))
    return MarkovNetwork(cp.Schema.from_cards(CARDS), tables)


@pytest.mark.parametrize("constant", [2.0**20, -(2.0**30), 2.0**30])
def test_a_constant_in_each_potential_moves_no_answer(constant):
    plain, moved = dyadic(0.0), dyadic(constant)
    rows = np.array([[0, 1], [2, 0], [1, 0], [0, 1]], dtype=np.uint8)
    table = cp.Table(plain.schema, rows)
    for ask in (
        lambda m: np.array(m.query("x0", {"x2": 1}).probabilities),
        lambda m: np.array(m.query(["x0", "x3"]).probabilities),
        lambda m: np.concatenate(list(m.marginals({"x1": 2}).values())),
        lambda m: m.query_many("x1", table).probabilities,
        lambda m: m.score_samples(table),
        lambda m: m.full_conditionals(table),
        lambda m: m.pseudo_log_likelihood(table),
        lambda m: np.array([m.log_evidence({"x0": 1, "x2": 0})]),
    ):
        np.testing.assert_allclose(ask(moved), ask(plain), rtol=0, atol=1e-11)
    assert moved.map_query() == plain.map_query()
    difference = moved.log_partition - plain.log_partition
    assert difference == pytest.approx(len(SCOPES) * constant, rel=1e-12)


@pytest.mark.parametrize("value", [1e17, -1e17, 1e308, np.inf, np.nan])
def test_values_whose_sums_would_round_are_refused(value):
    with raises(ParameterError, about="allowed"):
        Potential((0,), [value, 0.0])
    with raises(ParameterError, about="allowed"):
        Rules.from_list([2], [(value, [(0, 1, False)])])
    assert Potential((0,), [-np.inf, 2.0**32]).log_values[0] == -np.inf


@pytest.mark.parametrize("weights", [(1e17, 1e17), (1e308, 1e308), (2.0**31, 2.0**31), (-5e9, 0)])
def test_a_file_of_large_weights_answers_or_is_refused(tmp_path, weights):
    path = tmp_path / "net.mn"
    path.write_text(MN.format(*weights))
    try:
        shares = np.array(cp.load(path).query("v0").probabilities)
    except CounterpaneError as error:
        assert "\n" not in str(error)
        assert "logs from -4.3e+09 to 4.3e+09" in str(error)
        assert max(map(abs, weights)) > 2.0**32
    else:
        np.testing.assert_allclose(shares, 0.5)


@pytest.mark.parametrize(
    "learner", [cp.InteractionClassifier(), cp.InteractionClassifier(parts="trees")]
)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_classifier_that_holds_infinity_is_refused(tmp_path, learner, value):
    model = learner.fit(cp.load_dataset("titanic"), "survived").model_
    arrays = {name: array.copy() for name, array in arrays_of(model).items()}
    arrays["0.constant"][:1] = value
    content = Content(model.kind, model.schema, arrays, {})
    write_native(tmp_path / "bad.cp", content)
    with raises(FileFormatError, about="bad.cp"):
        cp.load(tmp_path / "bad.cp")
