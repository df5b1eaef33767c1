"""The additive model: a sum over faces that is saved, loaded, asked and taken apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.additive.classifier import AdditiveClassifier
from counterpane.additive.effects import measure_effects
from counterpane.additive.member import DENSE_CELLS, Coding, Member
from counterpane.additive.purified import purified
from counterpane.data import Schema, Variable
from counterpane.errors import (
    DataError,
    FileFormatError,
    ParameterError,
    ScopeError,
    StateError,
    UnknownNameError,
)
from counterpane.models.arrays import arrays_of
from counterpane.models.record import DataRecord, LearningRecord
from error_checks import raises

RECORD = LearningRecord(data=DataRecord(target="kind"))

SCHEMA = Schema(
    [
        Variable("color", ("red", "blue")),
        Variable("price", ("<1", "≥1"), (1.0,)),
        Variable("kind", ("no", "yes", "well")),
    ]
)


def coding(cut=1.0, cards=(2, 3)):
    return Coding(
        np.array(cards),
        np.array([1]),
        (np.array([cut]),),
        np.array([0.5]),
        np.array([2.0]),
        np.array([0.25]),
        (np.array([0.0, 1.0]),),
        (np.array([-2.0, -1.0, 0.0, 1.0, 2.0]),),
    )


def member(seed, cut=1.0, faces=((0,), (1,), (0, 1)), terms=2):
    rng = np.random.default_rng(seed)
    cards = {0: 2, 1: 3}
    keys = [np.arange(np.prod([cards[c] for c in face]) - 1) for face in faces]
    return Member(
        coding(cut),
        rng.normal(size=3),
        tuple(faces),
        tuple(keys),
        tuple(rng.normal(size=(len(k), 3)) for k in keys),
        rng.normal(size=(terms, 3)),
    )


def model(**options):
    return AdditiveClassifier(SCHEMA, [member(0), member(1, 2.5, ((0,),), 0)], 9.0, **options)


def by_hand(members, color, price, total=9.0):
    """Probabilities from one cell at a time."""
    eta = np.zeros(3)
    for m in members:
        eta = eta + m.constant
        cut = m.coding.cuts[0][0]
        state = {"color": color, "price": 2 if np.isnan(price) else int(price >= cut)}
        for face, keys, table in zip(m.faces, m.keys, m.tables, strict=True):
            key = 0
            for c in face:
                key = key * (2, 3)[c] + state[("color", "price")[c]]
            if (key in keys and color < 2) or (key in keys and face == (1,)):
                eta = eta + table[list(keys).index(key)]
        if len(m.terms):
            x = 0.25 if np.isnan(price) else price
            rank = {-1: 0, 0: 1, 0.25: 2, 0.5: 2, 1: 3, 7: 4}[x]
            eta = eta + np.clip((x - 0.5) / 2, -4, 4) * m.terms[0] + (rank - 2.0) * m.terms[1]
    p = np.exp(eta / len(members))
    return (total * p / p.sum() + 1 / 3) / (total + 1)


@pytest.mark.parametrize("color", [0, 1, 2])
@pytest.mark.parametrize("price", [-1.0, 0.0, 0.5, 1.0, 7.0, np.nan])
def test_probabilities_are_those_worked_out_by_hand(color, price):
    found = model()
    codes = np.array([[color], [0]], dtype=np.uint8)
    log_proba = found.log_proba(codes, np.array([[price]]))
    assert np.exp(log_proba[0]) == pytest.approx(by_hand(found.members, color, price))


def test_terms_alone_make_a_face():
    alone = AdditiveClassifier(SCHEMA, [member(0, faces=((0,),))], 9.0)
    assert alone.faces == ((0,), (1,))
    assert alone.hyperedges == [("color",), ("price",)]


def test_frames_by_name_and_what_is_not_there():
    found = model()
    frame = pd.DataFrame({"more": [1, 2], "price": [0.5, None], "color": ["blue", "green"]})
    proba = found.predict_proba(frame, "kind")
    assert proba[0] == pytest.approx(by_hand(found.members, 1, 0.5))
    assert proba[1] == pytest.approx(by_hand(found.members, 2, np.nan))
    with raises(ParameterError, about="color"):
        found.predict_proba(frame.drop(columns="color"))
    with raises(ParameterError, parameter="target", value="color"):
        found.predict_proba(frame, "color")
    with raises(DataError, about="columns"):
        found.predict_proba({})


def test_queries():
    found = model()
    answer = found.query("kind", {"color": "red", "price": 1.0})
    assert answer.probabilities == pytest.approx(by_hand(found.members, 0, 1.0))
    assert answer.names == ("kind",)
    assert answer.basis is None
    with raises(ParameterError, about="(color, price)"):
        found.query(["kind"])
    with raises(ParameterError, about="price"):
        found.query(["kind"], {"color": "red", "price": "<1"})
    with raises(StateError, parameter="color", value="green"):
        found.query("kind", {"color": "green", "price": 1.0})
    with raises(ParameterError, about="kind"):
        found.query("color", {"kind": "no"})
    with raises(UnknownNameError, parameter="column", value="colour"):
        found.query("kind", {"colour": "red"})


def test_many_rows_in_blocks_are_the_same_rows():
    found = model()
    rng = np.random.default_rng(0)
    codes = np.vstack([rng.integers(0, 3, 20_000), np.zeros(20_000, dtype=int)])
    numbers = rng.choice([0.0, 0.5, 7.0, np.nan], (1, 20_000))
    whole = found.log_proba(codes, numbers)
    some = [0, 8191, 8192, 19_999]
    assert (whole[some] == found.log_proba(codes[:, some], numbers[:, some])).all()


def test_large_tables_are_searched():
    cards = (DENSE_CELLS, 3)
    rng = np.random.default_rng(0)
    keys = np.sort(rng.choice(3 * DENSE_CELLS, 50, replace=False))
    wide = Member(
        coding(cards=cards), np.zeros(3), ((0, 1),), (keys,), (np.eye(50, 3),), np.empty((0, 3))
    )
    part = dict(wide.parts(np.array([keys // 3, keys * 0]), np.array([keys % 3 + 0.0])))
    codes = wide.coding.codes(np.array([keys // 3, keys * 0]), np.array([keys % 3 + 0.0]))
    cells = codes[0].astype(int) * 3 + codes[1]
    expected = [np.eye(50, 3)[keys.tolist().index(c)] if c in keys else np.zeros(3) for c in cells]
    assert (part[0, 1] == expected).all()


def test_saved_and_loaded_bit_for_bit(tmp_path):
    found = model(record=RECORD)
    found.save(tmp_path / "model.cp")
    again = cp.load(tmp_path / "model.cp")
    assert isinstance(again, AdditiveClassifier)
    assert again.schema == SCHEMA
    assert again.record == RECORD
    codes, numbers = np.array([[0, 1, 2], [0, 0, 0]]), np.array([[0.5, 1.0, np.nan]])
    assert (again.log_proba(codes, numbers) == found.log_proba(codes, numbers)).all()
    assert repr(again) == "AdditiveClassifier(3 interactions of 2 columns, class 'kind')"
    with raises(ParameterError, about="'.bif'"):
        found.save(tmp_path / "model.bif")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("0.keys", lambda a: a[::-1]),
        ("0.keys", lambda a: a + 100),
        ("0.faces", lambda a: a + 1),
        ("0.faces", lambda a: a[::-1]),
        ("0.tables", lambda a: a[:, :2]),
        ("0.tables", lambda a: a[1:]),
        ("0.terms", lambda a: a[:1]),
        ("0.constant", lambda a: a[:2]),
        ("1.cards", lambda a: a[:1]),
        ("1.numeric", lambda a: a - 1),
        ("members", lambda a: a + 1),
        ("total", lambda a: -a),
        ("0.moved_to", lambda a: a + 1),
        ("0.moved_from", lambda a: a + 7),
        ("0.moved_cells", lambda a: a[::-1]),
        ("0.moved", lambda a: a[:, :2]),
        ("effects.sizes", lambda a: a[1:]),
    ],
)
def test_nonsense_in_a_file_is_refused(tmp_path, monkeypatch, name, change):
    rng = np.random.default_rng(0)
    codes, numbers = rng.integers(0, 2, (2, 40)), rng.choice([0.5, 1.0, np.nan], (1, 40))
    members = [purified(m, codes, numbers, np.ones(40)) for m in model().members]
    parts = AdditiveClassifier(SCHEMA, members, 9.0).contributions(codes, numbers)[1:]
    effects = measure_effects(parts, np.ones(40), np.full(3, 1 / 3))
    found = AdditiveClassifier(SCHEMA, members, 9.0, effects=effects)
    arrays = arrays_of(found)
    arrays[name] = change(arrays[name])
    monkeypatch.setattr("counterpane.models.base.arrays_of", lambda _: arrays)
    found.save(tmp_path / "bad.cp")
    with raises(FileFormatError, about="bad.cp"):
        cp.load(tmp_path / "bad.cp")


def test_members_must_fit_the_schema():
    with raises(ParameterError, about="model"):
        AdditiveClassifier(SCHEMA, [], 9.0)
    with raises(ScopeError, about="schema"):
        AdditiveClassifier(Schema.from_cards([2, 2]), [member(0)], 9.0)


def test_a_table_is_predicted_as_its_frame_is():
    titanic = cp.load_dataset("titanic")
    model = cp.InteractionClassifier().fit(titanic, "survived").model_
    frame = titanic.to_pandas()
    np.testing.assert_array_equal(model.predict_proba(titanic), model.predict_proba(frame))
    assert len(model.predict_proba(titanic, as_frame=True)) == titanic.n_rows


@pytest.mark.parametrize("share", [-0.1, 1e308, np.inf, np.nan])
def test_shares_that_no_pool_has_are_refused(share):
    with raises(ParameterError, about="1,000,000"):
        model(shares=np.array([0.5, share]))


def test_contributions_sum_to_the_log_odds():
    found = model()
    codes, numbers = np.array([[0, 1, 2], [0, 0, 0]]), np.array([[0.5, 1.0, np.nan]])
    parts = found.contributions(codes, numbers)
    assert parts.shape == (4, 3, 3)
    assert found.faces == ((0,), (1,), (0, 1))
    assert np.abs(parts.sum(axis=2)).max() < 1e-12
    eta = np.mean([m.predictor(codes, numbers) for m in found.members], axis=0)
    assert parts.sum(axis=0) == pytest.approx(eta - eta.mean(axis=1, keepdims=True))
    unknown = parts[[1, 3], 2]
    assert (unknown == 0).all()
