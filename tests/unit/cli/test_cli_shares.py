"""A share belongs to what is printed: an arrow has that of its direction, a line that of a pair."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import counterpane as cp
from counterpane.models.edges import arrow_is_supported, stored_shares
from counterpane.report.content import confidence_of


def open_collider(seed: int, strength: float) -> dict[str, list[int]]:
    """a → c ← b, whose directions fewer samples show the smaller `strength` is."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (2, 300))
    c = rng.random(300) < 0.25 + strength * a + 0.8 * strength * b
    return {"a": a.tolist(), "b": b.tolist(), "c": c.astype(int).tolist()}


def write(path: Path, columns: dict[str, list[int]]) -> None:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def test_an_arrow_needs_samples_that_have_it(run, tmp_path: Path) -> None:
    columns = open_collider(7, 0.3)
    write(tmp_path / "rows.csv", columns)
    assert cp.StructureSearch().fit(columns).strengths_[0].directed
    code, out, err = run("learn", "rows.csv")
    assert code == 0, err
    assert re.search(r"a — c +\d\.\d{4} bits per row, in 100 of 100 samples", out)
    assert "a → c" not in out and "c → a" not in out and "% of" not in out
    model = cp.load(tmp_path / "rows.cp")
    shares = stored_shares(model.record.edge_shares)
    assert shares is not None and not shares.supports("a", "c")
    assert shares.share_as_drawn("a", "c", directed=False) == 1.0
    again = cp.bootstrap(cp.StructureSearch(), tmp_path / "rows.csv", 100, random_state=0)
    assert 0.5 < again.arrows[again.names.index("a"), again.names.index("c")] < 0.75
    assert not any(link.directed for link in cp.tools.model_links(model).links)
    assert not any(edge.directed for edge in model.edge_strengths())


def test_an_arrow_has_its_own_share(run, tmp_path: Path) -> None:
    write(tmp_path / "rows.csv", open_collider(8, 0.42))
    _, out, _ = run("learn", "rows.csv", "-o", "m.cp")
    facts = json.loads(run("learn", "rows.csv", "--json")[1])
    arrows = [edge for edge in facts["edges"] if edge["mark"] == "→"]
    assert arrows and all(0.75 <= edge["share_of_mark"] < 1 for edge in arrows)
    result = cp.bootstrap(cp.StructureSearch(), tmp_path / "rows.csv", 100, random_state=0)
    for edge in arrows:
        a, b = (result.names.index(edge[end]) for end in ("source", "target"))
        assert edge["share_of_mark"] == pytest.approx(result.arrows[a, b])
        words = (
            f"{edge['source']} → {edge['target']} .* in {100 * edge['share_of_mark']:.0f} of 100 "
        )
        assert re.search(words, out)
    model = cp.load(tmp_path / "m.cp")
    for given in (None, result):
        shares = confidence_of(model, given)
        assert shares is not None
        edge = arrows[0]
        share = shares.shares.share_as_drawn(edge["source"], edge["target"], directed=True)
        assert share == pytest.approx(edge["share_of_mark"])
        assert "probab" not in shares.words


def test_a_known_direction_stays_an_arrow(run, tmp_path: Path) -> None:
    write(tmp_path / "rows.csv", open_collider(7, 0.3))
    _, out, _ = run("learn", "rows.csv", "--tier", "a,b", "--tier", "c")
    assert re.search(r"a → c +\d\.\d{4} bits per row, in (99|100) of 100 samples", out)


@pytest.mark.parametrize(
    ("arrow", "joined", "drawn"),
    [(0.51, 1.0, False), (0.76, 1.0, True), (0.75, 1.0, True), (0.5, 0.5, False), (0.6, 0.7, True)],
)
def test_the_rule_for_arrows(arrow: float, joined: float, drawn: bool) -> None:
    assert arrow_is_supported(arrow, joined) is drawn
