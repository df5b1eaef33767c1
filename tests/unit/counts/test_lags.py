"""Lagged columns beside a loop over the rows, and odd input."""

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.errors import CounterpaneError
from error_checks import raises


def rows_of(table):
    return [tuple(row) for row in table.to_pandas().astype(str).itertuples(index=False)]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_each_row_stands_beside_its_past(k):
    rng = np.random.default_rng(k)
    frame = pd.DataFrame(
        {"who": rng.choice(["u", "v", "w"], 60), "a": rng.choice(list("xyz"), 60),
         "b": rng.choice(["0", "1"], 60)}
    )  # fmt: skip
    expected, past = [], {}
    for who, a, b in frame.itertuples(index=False):
        history = past.setdefault(who, [])
        if len(history) >= k:
            expected.append(sum([(a, b), *history[::-1][:k]], ()))
        history.append((a, b))
    for data in (frame, cp.read(frame), frame.to_dict("list")):
        table, tiers = cp.lagged(data, k, by="who")
        assert rows_of(table) == expected
        assert tiers[-1] == ["a", "b"] and tiers[0] == [f"a[t-{k}]", f"b[t-{k}]"]


def test_ids_tell_series_apart_though_they_are_no_column():
    frame = pd.DataFrame({"id": np.repeat(np.arange(500), 4), "a": list("xyxx") * 500})
    table, _ = cp.lagged(frame, by="id")
    assert table.n_rows == 1500 and table.schema.names == ("a", "a[t-1]")


def test_a_two_slice_network_points_forwards():
    rng = np.random.default_rng(0)
    state = [0]
    for _ in range(3000):
        state.append(state[-1] if rng.random() < 0.9 else 1 - state[-1])
    seen = [s if rng.random() < 0.85 else 1 - s for s in state]
    frame = pd.DataFrame({"state": state, "seen": seen}).astype(str)
    table, tiers = cp.lagged(frame)
    for learner in (cp.StructureSearch(tiers=tiers), cp.PC(tiers=tiers)):
        edges = set(learner.fit(table).graph_.edges)
        assert ("state[t-1]", "state") in edges
        assert not any("[t-1]" not in p and "[t-1]" in x for p, x in edges)


@pytest.mark.parametrize(
    ("k", "by", "message"),
    [(0, None, "k=0"), (9, None, "4 rows"),
     (1, "q", "'q'")],
)  # fmt: skip
def test_odd_input_is_refused_in_a_sentence(k, by, message):
    table = cp.read({"a": list("xyxy"), "b": list("uuvv")})
    with raises(CounterpaneError, about=message):
        cp.lagged(table, k, by=by)
