"""Pictures of effects in a report hold what the model says, and fit on a page."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.additive.effect_tables import effect_table
from counterpane.report.effect_blocks import MOST_BARS, effect_block


@pytest.fixture(scope="module")
def learner():
    rng = np.random.default_rng(0)
    n = 500
    frame = pd.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n)})
    frame["s"], frame["t"] = rng.choice(["a", "b"], n), rng.choice(["c", "d"], n)
    frame["many"] = [f"state {k}" for k in rng.integers(0, MOST_BARS + 10, n)]
    score = np.where(
        (frame["s"] == "a") == (frame["t"] == "c"), frame["x"] * frame["y"], frame["x"]
    )
    frame["class"] = np.where(score + 0.3 * rng.normal(size=n) > 0, "up", "down")
    frame.loc[::9, "y"] = np.nan
    return cp.InteractionClassifier(parts="trees").fit(frame, "class")


def place(learner, *names):
    return [learner.model_.schema.index(name) for name in names]


def test_a_curve_is_the_effect_of_the_second_class(learner):
    block = effect_block(learner.model_, place(learner, "y"))
    table = effect_table(learner.model_, ["y"], most=121)
    assert block["v"][0] == pytest.approx(table.values[:, 1], rel=0.01, abs=1e-9)
    assert block["s"][0] == pytest.approx(2 * table.spread[:, 1], rel=0.01, abs=1e-9)
    axis = block["axes"][0]
    assert axis["gap"] == "(missing)" and len(block["v"][0]) == len(axis["x"]) + 1
    assert len(axis["seen"]) <= 120


def test_a_map_is_its_table_row_by_row(learner):
    scope = place(learner, "s", "x")
    block = effect_block(learner.model_, scope)
    assert block["c"] == [*place(learner, "x", "s"), len(learner.model_.schema) - 1]
    table = effect_table(learner.model_, ["x", "s"], most=24)
    shown = np.array(block["maps"][0]["v"][0]).reshape(table.values.shape[1::-1])
    turned = shown.T
    assert turned == pytest.approx(table.values[..., 1], rel=0.01, abs=1e-9)
    assert len(block["axes"][0]["e"]) == len(block["axes"][0]["x"]) + 1
    points = np.array(block["maps"][0]["p"])
    assert set(points[1]) == {0.0, 1.0}  # codes of states


def test_three_columns_are_maps_at_states_or_values(learner):
    triples = [face for face in learner.model_.faces if len(face) == 3]
    assert triples
    for scope in triples[:4]:
        block = effect_block(learner.model_, scope)
        if block is not None:
            assert 1 < len(block["maps"]) <= 3
            assert all(one["w"] for one in block["maps"])


def test_states_are_bars_or_tables(learner):
    block = effect_block(learner.model_, place(learner, "many"))
    assert len(block["axes"][0]["l"]) == MOST_BARS == len(block["v"][0])
    assert block["axes"][0]["more"] == 10
    assert effect_block(learner.model_, place(learner, "s", "t")) is None


def test_a_report_has_the_largest_effects_and_counts_rows(learner, tmp_path):
    path = cp.write_report(learner, path=tmp_path / "r.html")
    content = json.loads(
        path.read_text(encoding="utf-8").split('type="application/json">')[1].split("</script>")[0]
    )
    target = len(learner.model_.schema) - 1
    blocks = [content["panels"]["blocks"][k] for k in content["panels"]["of"][str(target)]]
    first = [learner.model_.schema.index(n) for n in learner.interactions_[0]["columns"]]
    assert sorted(blocks[0]["c"][:-1]) == sorted(first)
    tables = [b for b in content["panels"]["blocks"] if b["k"] == "grid" and "n" in b]
    whole = [b for b in tables if np.prod(b["card"][:-1]) == len(b["n"])]
    assert whole and all(sum(b["n"]) == 500 for b in whole)
