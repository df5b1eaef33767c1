"""Engines of answers in codes: what can be written as potentials and a question has an answer."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane.errors import ParameterError, TableSizeError, UntrustedError
from counterpane.features import Potential
from counterpane.inference import Gibbs, limited
from counterpane.inference.answering import ProductEngine
from counterpane.inference.certainty import InexactAnswer
from counterpane.inference.question import NO_EVIDENCE, CodedEvidence

CARDS = np.array([2, 3, 2, 2])
NAMES = ("a", "b", "c", "d")
PARENTS = [(), (0,), (0, 1), (2,)]


def tables(rng):
    shapes = [[CARDS[p] for p in above] + [CARDS[v]] for v, above in enumerate(PARENTS)]
    return [rng.dirichlet(np.ones(shape[-1]), size=shape[:-1]) for shape in shapes]


@pytest.fixture(name="given")
def parts():
    """(an engine of a network, P of all rows)."""
    own = tables(np.random.default_rng(0))
    potentials = [Potential((*PARENTS[v], v), np.log(t)) for v, t in enumerate(own)]
    joint = np.einsum("a,ab,abc,cd->abcd", *own)
    return ProductEngine(CARDS, NAMES, potentials, parents=PARENTS), joint


def test_questions_in_codes_are_sums_of_the_joint_table(given):
    engine, joint = given
    coded = CodedEvidence({3: 1}, {1: np.array([1.0, 0.5, 0.0])})
    weighed = (joint * np.array([1.0, 0.5, 0.0])[None, :, None, None])[..., 1]
    found, log_weight, certainty = engine.answer([2, 0], coded, "auto")
    expected = weighed.sum(axis=1).T
    np.testing.assert_allclose(found, expected / expected.sum())
    assert certainty is None
    assert engine.log_evidence(log_weight, coded) == pytest.approx(np.log(weighed.sum()))
    each, _, sure = engine.answer_each([0, 2], coded, "exact")
    np.testing.assert_allclose(each[0], weighed.sum(axis=(1, 2)) / weighed.sum())
    assert sure == [None, None]
    best = engine.answer_best([0, 1, 2], CodedEvidence({3: 1}, {}), "exact")
    assert tuple(best[v] for v in range(3)) == np.unravel_index(joint[..., 1].argmax(), (2, 3, 2))


def test_rows_of_evidence_are_answered_like_questions(given):
    engine, joint = given
    codes = np.array([[0, 1, 2], [1, 3, 0]])  # of a and b; b is missing in the second row
    found, log_weights, _ = engine.answer_rows([2], [0, 1], codes[:, :2], "auto")
    alone = joint.sum(axis=(1, 3))
    np.testing.assert_allclose(found[1], alone[1] / alone[1].sum())
    pair = joint.sum(axis=3)[0, 1]
    np.testing.assert_allclose(found[0], pair / pair.sum())
    np.testing.assert_allclose(np.exp(log_weights), [pair.sum(), alone[1].sum()])


def test_only_ancestors_take_part_in_a_question(given):
    engine, _ = given
    assert [p.scope for p in engine.relevant({1})] == [(0,), (0, 1)]
    undirected = ProductEngine(CARDS, NAMES, engine.potentials)
    assert len(undirected.relevant({1})) == 4


def test_an_estimate_says_how_sure_it_is(given):
    engine, joint = given
    exact = joint[..., 1].sum(axis=(1, 2)) / joint[..., 1].sum()
    coded = CodedEvidence({3: 1}, {})
    with limited(exact=False):
        found, log_weight, certainty = engine.answer([0], coded, "auto")
    assert log_weight is None
    assert certainty.trusted
    np.testing.assert_allclose(found, exact, atol=0.01)
    few = Gibbs(n_chains=2, n_samples=3, burn_in=1)
    with pytest.raises(UntrustedError):
        engine.answer([0], coded, few, strict=True)
    rows = engine.answer_draws(2000, coded, coded, Gibbs(), np.random.default_rng(0))
    assert (rows[3] == 1).all()
    assert abs((rows[0] == 1).mean() - exact[1]) < 0.05


def test_what_does_not_fit_is_estimated_or_refused():
    rng = np.random.default_rng(1)
    pairs = [(a, b) for a in range(30) for b in range(a)]
    parts = [Potential(pair, 0.05 * rng.normal(size=(2, 2))) for pair in pairs]
    engine = ProductEngine(np.full(30, 2), [f"x{v}" for v in range(30)], parts)
    with limited(1.0, 1e6):
        with pytest.raises(TableSizeError, match="an exact answer needs"):
            engine.answer([0], NO_EVIDENCE, "exact")
        with pytest.warns(InexactAnswer, match="this is an estimate instead"):
            _, log_weight, certainty = engine.answer([0], NO_EVIDENCE, "auto")
        assert log_weight is None and certainty is not None
        lower, upper = engine.bounds(NO_EVIDENCE)
        assert lower < upper


def test_a_conflict_is_as_small_as_can_be():
    copy = Potential((0, 1), [[0.0, -np.inf], [-np.inf, 0.0]])
    engine = ProductEngine(np.array([2, 2, 2]), ["a", "b", "c"], [copy])
    found = engine.conflict(CodedEvidence({0: 0, 1: 1, 2: 0}, {}))
    assert found.codes == {0: 0, 1: 1}
    assert engine.answer_best([2], CodedEvidence({0: 0, 1: 1}, {}), "exact") is None


def test_a_method_for_best_rows_asks_for_all_columns(given):
    engine, _ = given
    from_climbs = engine.answer_best([0, 1, 2, 3], NO_EVIDENCE, "auto")
    assert set(from_climbs) == {0, 1, 2, 3}
    with pytest.raises(ParameterError, match="ask for all"):
        engine.answer_best([0], NO_EVIDENCE, Gibbs())
