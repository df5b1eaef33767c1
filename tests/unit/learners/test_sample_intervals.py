"""Bootstrap samples with cut points of their own."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.data.intervals import find_cut_points, mdl_cuts
from counterpane.learners.sample_intervals import SampleIntervals


def edge_at_a_cut(seed: int = 0, n: int = 400) -> dict[str, list[float]]:
    """The median is just below 4.5; with intervals that begin at 3.5, `x` tells of `y`."""
    rng = np.random.default_rng(seed)
    shares = np.array([0.17, 0.17, 0.15, 0.17, 0.17, 0.17])
    x = np.repeat(np.arange(1.5, 7.5), np.rint(shares * n).astype(int))
    chance = np.where(x < 3.5, 0.2, np.where(x < 4.5, 0.8, 0.384))
    y = rng.random(len(x)) < chance
    z = rng.integers(0, 2, len(x))
    return {"x": x.tolist(), "y": y.astype(int).tolist(), "z": z.tolist()}


def share(columns: dict[str, list[float]], **options: object) -> float:
    table = cp.read(columns, n_bins=2)
    result = cp.bootstrap(cp.HillClimb(), table, 100, random_state=0, **options)  # type: ignore[arg-type]
    return float(result.strengths[0, 1])


def test_an_edge_that_depends_on_where_the_cut_points_fall() -> None:
    assert share(edge_at_a_cut(), fixed_cut_points=True) < 0.15
    assert 0.3 < share(edge_at_a_cut()) < 0.7


@pytest.mark.parametrize("target", [None, "y"])
def test_a_sample_has_the_cut_points_of_its_rows(target: str | None) -> None:
    rng = np.random.default_rng(1)
    x = np.where(rng.random(300) < 0.3, 0.0, np.round(rng.gamma(2.0, 3.0, 300), 1))
    x[:5] = np.nan
    y = (x > 4) ^ (rng.random(300) < 0.1)
    table = cp.read({"x": x, "y": y.astype(int)}, target=target)
    intervals = SampleIntervals.of(table)
    assert intervals is not None
    drawn = rng.multinomial(300, np.full(300, 1 / 300))
    values, classes = (np.repeat(v, drawn) for v in (x, y.astype(int)))
    kept = ~np.isnan(values)
    if target is None:
        cuts = find_cut_points(values[kept], np.ones(kept.sum()), 4, table.schema["x"].step)
    else:
        cuts = mdl_cuts(values[kept], classes[kept], np.ones(kept.sum()))
    found = intervals.discretized(drawn)
    expected = np.where(np.isnan(x), len(cuts) + 1, np.searchsorted(cuts, x, side="right"))
    assert found.schema["x"].card == len(cuts) + 1
    np.testing.assert_array_equal(found.codes[0], expected)
    np.testing.assert_array_equal(found.codes[1], table.codes[1])
    kept_state = SampleIntervals.of(table.resolve_missing("state"))
    assert kept_state is not None
    assert kept_state.discretized(drawn).schema["x"].states[-1] is None


def test_cut_points_of_the_user_stay() -> None:
    rng = np.random.default_rng(2)
    frame = {"a": rng.normal(size=200), "b": rng.normal(size=200)}
    table = cp.read(frame, discretize={"a": [-0.5, 0.5]})
    intervals = SampleIntervals.of(table)
    assert intervals is not None
    sample = intervals.discretized(rng.multinomial(200, np.full(200, 0.005)))
    np.testing.assert_array_equal(sample.codes[0], table.codes[0])
    assert (sample.codes[1] != table.codes[1]).any()
    assert SampleIntervals.of(cp.read(frame, discretize={"a": [0.0], "b": [0.0]})) is None
    assert SampleIntervals.of(cp.load_dataset("titanic")) is None


def test_neither_threads_nor_the_order_of_rows_matter() -> None:
    columns = edge_at_a_cut(n=200)
    table = cp.read(columns)
    expected = cp.bootstrap(cp.HillClimb("aic"), table, 20, random_state=3)
    threads = cp.bootstrap(cp.HillClimb("aic"), table, 20, random_state=3, n_jobs=3)
    turned = {name: values[::-1] for name, values in reversed(columns.items())}
    order = [list(turned).index(name) for name in columns]
    other = cp.bootstrap(cp.HillClimb("aic"), turned, 20, random_state=3)
    np.testing.assert_array_equal(threads.edge_probabilities, expected.edge_probabilities)
    np.testing.assert_array_equal(
        other.edge_probabilities[np.ix_(order, order)], expected.edge_probabilities
    )


def test_models_that_are_kept_have_the_same_states() -> None:
    table = cp.read(edge_at_a_cut(n=200))
    samples = cp.bootstrap(cp.ChowLiu(), table, 5, random_state=0, keep_models=True)
    assert {model.schema for model in samples.models} == {table.schema}
