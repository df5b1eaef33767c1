"""What every learner does about missing cells, in memory and in sources that only count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from contract.test_learners_contract import all_learners, make_frame, same_results, skeleton
from counterpane.counts import MemoryCounts, StreamCounts
from counterpane.errors import DataError, ParameterError
from error_checks import raises


@all_learners
def test_missing_cells_by_each_policy(make):
    frame = make_frame()
    frame.loc[frame.index % 7 == 0, "lung"] = None
    complete = frame.dropna()
    same_results(make(missing="drop").fit(frame), make().fit(complete))
    state = make(missing="state").fit(frame)
    assert state.model_.schema["lung"].states == ("bad", "good", "so-so", None)
    assert state.missing_ == "state"
    assert state.missing_note_.startswith("Missing cells: 58 in 1 column (lung); kept as the state")
    with raises(DataError, about="'lung'"):
        make(missing="error").fit(frame)
    with raises(ParameterError, parameter="missing", value="ignore"):
        make(missing="ignore").fit(frame)


@all_learners
def test_missing_cells_by_default(make):
    """EM where the learner can, else gaps that stay, or a state; the model's file says which."""
    frame = make_frame()
    assert make().missing == "auto"
    whole = make().fit(frame)
    assert (whole.missing_, whole.missing_note_) == ("none", "")
    frame.loc[frame.index % 7 == 0, "lung"] = None
    policy = next((p for p in ("em", "available") if p in make()._leaves_gaps), "state")
    learner = make().fit(frame)
    assert learner.missing_ == policy
    same_results(learner, make(missing=policy).fit(frame))
    told = learner.model_.record.preparation.missing
    assert (told.policy, told.columns, told.cells) == (policy, ("lung",), 58.0)
    assert told.note == learner.missing_note_
    table = cp.read(frame)
    stream = StreamCounts(table.schema, lambda: [table.take(range(99)), table.take(range(99, 400))])
    same_results(make().fit(stream), learner)


@all_learners
def test_missing_cells_are_completed(make):
    """missing="em": the columns keep their states, and nothing depends on how the table lies."""
    frame = make_frame()
    gone = np.random.default_rng(2).random(frame.shape) < 0.15
    frame = frame.mask(gone)
    if "em" not in make()._leaves_gaps:
        with raises(ParameterError, parameter="missing", value="em"):
            make(missing="em").fit(frame)
        return
    learner = make(missing="em").fit(frame)
    assert learner.model_.schema["lung"].states == ("bad", "good", "so-so")
    assert np.isfinite(learner.score_)
    stages = {record["stage"] for record in learner.trace_}
    assert stages - {"prune"} == {"first", "search", "parameters"}  # trees are not pruned
    chain = {frozenset(("smoke", "lung")), frozenset(("lung", "cough"))}
    assert chain <= skeleton(learner)
    same_results(make(missing="em", n_jobs=2).fit(frame), learner)
    same_results(make(missing="em").fit(frame.sample(frac=1, random_state=0)), learner)
    table = cp.read(frame)
    same_results(make(missing="em").fit(MemoryCounts(table)), learner)
    stream = StreamCounts(
        table.schema, lambda: [table.take(range(150)), table.take(range(150, 400))]
    )
    same_results(make(missing="em").fit(stream), learner)
    assert make(missing="em").fit(stream).model_.record.data.rows == 400
    names = ["mood", "cough", "lung", "smoke", "sleep"]
    moved = make(missing="em").fit(frame[names])
    assert moved.model_.schema.names == tuple(names)
    assert skeleton(moved) == skeleton(learner)
    assert moved.score_ == pytest.approx(learner.score_, rel=1e-9)
    twice = make(missing="em").fit(frame, sample_weight=np.full(400, 2))
    same_results(make(missing="em").fit(pd.concat([frame, frame])), twice)
    told = learner.model_.record
    assert (told.learner.text, told.data.rows) == (repr(learner), 400)


@all_learners
def test_missing_cells_of_a_count_source(make):
    frame = make_frame()
    frame.loc[frame.index % 7 == 0, "lung"] = None
    table = cp.read(frame)
    same_results(make().fit(MemoryCounts(table)), make().fit(table))
    same_results(make(missing="drop").fit(MemoryCounts(table)), make(missing="drop").fit(table))
    stream = StreamCounts(table.schema, lambda: [table])
    same_results(make().fit(stream), make().fit(table))
    same_results(make(missing="drop").fit(stream), make(missing="drop").fit(table))
    told = make(missing="drop").fit(stream).model_.record
    assert (told.data.rows, told.data.weight) == (342, 342.0)
    passes = []

    def batches():
        passes.append(1)
        return [table]

    with raises(DataError, about="'lung'"):
        make(missing="error").fit(StreamCounts(table.schema, batches))
    assert len(passes) == 2  # two looks, of which the second finds what is complete, and no work
