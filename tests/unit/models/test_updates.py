"""`update`: the same network, to the last bit, as from all rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpane as cp
from error_checks import raises


def same_bits(a: cp.BayesianNetwork, b: cp.BayesianNetwork) -> bool:
    assert a.strengths is not None and b.strengths is not None
    pairs = [*zip(a.tables, b.tables, strict=True), *zip(a.strengths, b.strengths, strict=True)]
    return all(x.tobytes() == y.tobytes() for x, y in pairs)


@pytest.mark.parametrize("seed", range(40))
def test_parts_equal_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, n_rows = int(rng.integers(1, 7)), int(rng.integers(20, 400))
    schema = cp.Schema.from_cards(rng.integers(2, 5, n).tolist())
    codes = np.stack([rng.integers(0, card, n_rows) for card in schema.cards]).astype(np.uint8)
    weights = rng.integers(1, 10**6, n_rows) if seed % 2 else None
    table = cp.Table(schema, codes, weights)
    edges = [(a, b) for b in range(n) for a in range(b) if rng.random() < 0.5]
    dag, size = cp.Dag(n, edges), float(rng.choice([0.1, 1.0, 3.7, 10.0]))
    cuts = np.sort(rng.choice(np.arange(1, n_rows), 2, replace=False))
    parts = [table.take(np.arange(a, b)) for a, b in zip([0, *cuts], [*cuts, n_rows], strict=True)]
    model = cp.fit_parameters(cp.MemoryCounts(parts[0]), dag, equivalent_sample_size=size)
    for part in parts[1:]:
        model = model.update(part)
    whole = cp.fit_parameters(cp.MemoryCounts(table), dag, equivalent_sample_size=size)
    assert same_bits(model, whole)


def test_a_learned_model_updates_after_a_file(tmp_path: Any) -> None:
    table = cp.load_dataset("titanic")
    first, rest = table.take(np.arange(0, 1000)), table.take(np.arange(1000, table.n_rows))
    learner = cp.StructureSearch(equivalent_sample_size=2.5).fit(first)
    learner.model_.save(tmp_path / "first.cp")
    loaded: Any = cp.load(tmp_path / "first.cp")
    updated = loaded.update(rest)
    whole = cp.fit_parameters(cp.MemoryCounts(table), loaded.dag, equivalent_sample_size=2.5)
    assert same_bits(updated, whole)
    assert updated.record.data.rows == 2201
    assert updated.record.data.updates == 1
    assert updated.record.data.fingerprint is None
    frame = {name: table[name] for name in table.schema.names}
    assert same_bits(learner.model_.update(frame), learner.model_.update(table))


def test_fractional_weights_come_near() -> None:
    rng = np.random.default_rng(0)
    table = cp.Table(cp.Schema.from_cards([2, 3]), rng.integers(0, 2, (2, 50)).astype(np.uint8),
                     rng.random(50))  # fmt: skip
    dag = cp.Dag(2, [(0, 1)])
    parts = [table.take(np.arange(0, 20)), table.take(np.arange(20, 50))]
    model = cp.fit_parameters(cp.MemoryCounts(parts[0]), dag).update(parts[1])
    whole = cp.fit_parameters(cp.MemoryCounts(table), dag)
    for a, b in zip(model.tables, whole.tables, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_other_priors_and_refusals() -> None:
    schema, dag = cp.Schema.from_cards([2, 2]), cp.Dag(2, [(0, 1)])
    alpha = [[1.0, 3.0], [[2.0, 0.5], [1.0, 1.0]]]
    counts = [[5, 7], [[3, 2], [4, 3]]]
    model = cp.BayesianNetwork.from_counts(schema, dag, counts, alpha=alpha)
    rows = cp.Table(schema, np.array([[0, 1], [1, 1]], dtype=np.uint8))
    more = [[6, 8], [[3, 3], [4, 4]]]
    whole = cp.BayesianNetwork.from_counts(schema, dag, more, alpha=alpha)
    for a, b in zip(model.update(rows).tables, whole.tables, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    bare = cp.BayesianNetwork(schema, dag, model.tables)
    with raises(cp.CounterpaneError, about="rows"):
        bare.update(rows)
    with raises(cp.CounterpaneError, about="'x1'"):
        model.update({"x0": [0], "x1": [None]})
    dropped = model.update({"x0": [0], "x1": [None]}, missing="drop")
    assert dropped.tables[1] == pytest.approx(model.tables[1])
    with raises(cp.CounterpaneError, parameter="x0", value=5):
        model.update({"x0": [5], "x1": [0]})
    other = cp.MemoryCounts(
        cp.Table(cp.Schema.from_cards([2, 3]), np.zeros((2, 3), dtype=np.uint8))
    )
    with raises(cp.CounterpaneError, about="columns"):
        model.update(other)
