"""Boosted trees in a model: parts add up to the trees' scores, are pure, and survive a file."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane._core import boosting as kernels
from counterpane.additive import box_parts
from counterpane.additive.binning import Binning
from counterpane.additive.boosted_member import BoostedMember
from counterpane.learners.boosting.fold_boosting import BinnedRows, TreeShape, boost_once


@pytest.fixture(params=[2, 3])
def member_and_rows(request):
    classes = request.param
    rng = np.random.default_rng(classes)
    n = 600
    codes = np.vstack([np.zeros(n), rng.integers(0, 4, n), np.zeros(n)]).astype(np.uint16)
    numbers = rng.normal(size=(2, n))
    numbers[0, ::17] = np.nan
    score = np.nan_to_num(numbers[0]) * (codes[1] > 1) + numbers[1] + 0.2 * rng.normal(size=n)
    labels = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
    cuts = tuple(
        np.quantile(numbers[k, ~np.isnan(numbers[k])], np.arange(1, 20) / 20) for k in (0, 1)
    )
    binning = Binning(
        np.array([0, 1, 2]),
        np.array([0, -1, 1]),
        np.array([True, False, True]),
        (cuts[0], np.zeros(0), cuts[1]),
        (np.zeros(0, np.int64), np.arange(1, 5), np.zeros(0, np.int64)),
    )
    bins = binning(codes, numbers)
    rows = BinnedRows(bins, binning.n_bins, binning.ordered, labels, classes)
    fit = boost_once(rows, np.ones(n), np.zeros(n), TreeShape(8, 3, 1.0), seed=0, rounds=30)
    shares = np.array([np.bincount(column, minlength=256) / n for column in bins.T])
    constant = np.array([-fit.start[0] / 2, fit.start[0] / 2]) if classes == 2 else fit.start
    return BoostedMember(binning, constant, fit.trees, shares), codes, numbers, fit, bins


def test_predictor_is_that_of_the_trees(member_and_rows):
    member, codes, numbers, fit, bins = member_and_rows
    scores = fit.scores(bins, 30)
    predictor = member.predictor(codes, numbers)
    if scores.shape[1] == 1:
        assert predictor[:, 1] - predictor[:, 0] == pytest.approx(scores[:, 0], abs=1e-6)
    else:
        assert predictor == pytest.approx(scores, abs=1e-6)


def test_parts_add_up_and_have_mean_zero(member_and_rows):
    member, codes, numbers, *_ = member_and_rows
    parts = dict(member.pure_parts(codes, numbers))
    total = member.constant + sum(parts.values())
    assert total == pytest.approx(member.predictor(codes, numbers), abs=1e-6)
    assert set(parts) - {()} == set(member.all_faces)
    everything = np.indices(member.binning.n_bins).reshape(3, -1).T.astype(np.uint8)
    for columns in member.parts.holders:
        part = member.parts.part(columns, everything)
        shape = (*member.binning.n_bins, -1)
        for column in columns:
            shares = member.shares[column][: member.binning.n_bins[column]]
            means = np.tensordot(shares, np.moveaxis(part.reshape(shape), column, 0), 1)
            assert means == pytest.approx(0.0, abs=1e-6)


def test_tables_and_single_boxes_tell_the_same_parts(member_and_rows, monkeypatch):
    member, codes, numbers, *_ = member_and_rows
    monkeypatch.setattr(box_parts, "MOST_ENTRIES", 0)
    by_boxes = dict(member.pure_parts(codes, numbers))
    monkeypatch.setattr(box_parts, "MOST_ENTRIES", 2**40)
    laid_out = 0
    for face, part in member.pure_parts(np.tile(codes, 20), np.tile(numbers, 20)):
        assert part[:600] == pytest.approx(by_boxes[face], abs=1e-9)
        laid_out += 1
    assert laid_out == len(by_boxes) > 6
    for face, part in by_boxes.items():
        few = np.tensordot(*member.fit_parts(face, codes[:, :1], numbers[:, :1]), 1)
        assert few == pytest.approx(part[:1], abs=1e-9)


def test_arrays_and_back(member_and_rows):
    member, codes, numbers, *_ = member_and_rows
    again = BoostedMember.from_arrays(member.to_arrays())
    assert (again.predictor(codes, numbers) == member.predictor(codes, numbers)).all()
    assert isinstance(again.trees, kernels.Trees)
    assert {array.dtype.name for array in member.to_arrays().values()} == {"int64", "float64"}


@pytest.mark.parametrize("name", ["titanic", "wine"])  # states, and numbers of three classes
def test_a_file_answers_as_the_learner(tmp_path, name):
    table = cp.load_dataset(name)
    target = table.schema.names[-1]
    learner = cp.InteractionClassifier(parts="trees").fit(table, target)
    learner.model_.save(tmp_path / "m.cp")
    model = cp.load(tmp_path / "m.cp")
    frame = table.to_pandas().head(40).drop(columns=target)
    assert model.predict_proba(frame) == pytest.approx(learner.predict_proba(frame))
    row = frame.iloc[0].to_dict()
    records = model.explain(row)
    assert [r["columns"] for r in records] == [r["columns"] for r in learner.explain(row)]
    some = {table.schema.names[0]: row[table.schema.names[0]]}
    answer = model.query(target, some)
    assert sum(answer[state] for state in model.target.states) == pytest.approx(1)
    cp.write_report(model, table, tmp_path / "r.html")
    assert "log-odds" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_unknown_states_and_missing_numbers_are_in_bin_zero(member_and_rows):
    member, *_ = member_and_rows
    codes = np.array([[0], [4], [0]], dtype=np.uint16)  # 4 is the card: an unknown state
    bins = member.binning(codes, np.array([[np.nan], [np.inf]]))
    assert bins.tolist() == [[0, 0, 20]]
