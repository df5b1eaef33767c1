"""Reports: no name can do harm, what fits and what does not, held-out rows, large models."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import DataError, ParameterError, UnknownNameError
from counterpane.evaluate.splits import rebuilt_learner
from counterpane.features import Potential
from counterpane.graphs import Dag
from counterpane.models.mixture import Mixture
from counterpane.models.record import LearnerRecord, LearningRecord
from counterpane.report.picture import FRAME, HEAD, ROW, box_size, pictures_of
from counterpane.report.rows import measured_links, report_rows
from counterpane.tools.links import Link, ModelLinks
from error_checks import raises
from report_page import columns_of, content, report

HOSTILE = "</script><img src=x onerror=\"document.title='broken'\">"


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 200)
    frame = {
        HOSTILE: np.where(a, "<b>&amp;", "\u2028</script>"),
        "%%SCRIPT%%": np.where(a ^ (rng.random(200) < 0.1), "x", "y"),
        "列の名前": rng.choice(["ä", "ß"], 200),
    }
    model = cp.ChowLiu().fit(frame).model_
    path = cp.write_report(model, frame, tmp_path / "report.html", title=HOSTILE)
    page = path.read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page and "\u2028" not in page
    found = content(path)
    assert [c["n"] for c in found["columns"]] == list(frame)
    assert found["title"] == HOSTILE
    assert "&lt;/script&gt;" in page


def test_nothing_may_load_from_elsewhere(titanic: cp.Table, tmp_path: Path) -> None:
    page = cp.write_report(cp.ChowLiu().fit(titanic), path=tmp_path / "r.html").read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None and policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]
    addresses = set(re.findall(r"https?://[^\"'\s)]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<link|@import|url\(|\bfetch\(|XMLHttpRequest|\ssrc=", page)


def test_same_model_and_data_give_the_same_bytes(titanic: cp.Table, tmp_path: Path) -> None:
    model = cp.MarkovClassifier().fit(titanic, "survived").model_
    first = cp.write_report(model, titanic, tmp_path / "a.html").read_bytes()
    assert cp.write_report(model, titanic, tmp_path / "b.html").read_bytes() == first
    other = cp.write_report(model, titanic, tmp_path / "c.html", random_state=1).read_bytes()
    assert other != first


def test_data_that_does_not_fit(titanic: cp.Table, tmp_path: Path) -> None:
    model = cp.ChowLiu().fit(titanic).model_
    for lacking, words in ((["age", "sex"], "'status' and 1 more"), (["age", "sex", "status"], "")):
        with raises(DataError, about="column") as error:
            cp.write_report(model, titanic.select(lacking), tmp_path / "r.html")
        assert words in str(error.value)
    with raises(UnknownNameError, parameter="column", value="survive"):
        cp.write_report(model, titanic, tmp_path / "r.html", target="survive")
    with raises(ParameterError, parameter="folds", value=1):
        cp.write_report(model, titanic, tmp_path / "r.html", folds=1)
    with raises(ParameterError, about="Table"):
        cp.write_report(titanic, path=tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_missing_cells_and_unknown_states(titanic: cp.Table, tmp_path: Path) -> None:
    model = cp.ChowLiu().fit(titanic).model_
    frame = {c.name: np.array(c.states, object)[c.codes] for c in titanic.labels()}
    frame["sex"][:100] = None
    frame["age"][:50] = "unborn"
    rows = report_rows(frame, model.schema)
    assert (~rows.complete).sum() == 100
    assert rows.shares[model.schema.index("sex")].sum() == pytest.approx(1)
    found = report(tmp_path, model, frame)
    assert "100 rows have a missing cell" in found["measures"]["note"]


def test_what_was_held_out_is_told(titanic: cp.Table, tmp_path: Path) -> None:
    model = cp.StructureSearch().fit(titanic).model_
    assert (
        "learned structure and parameters" in report(tmp_path, model, titanic)["measures"]["held"]
    )
    model.record = LearningRecord()
    told = report(tmp_path, model, titanic)["measures"]
    assert "The structure was kept" in told["held"] and "parameters" in told["held"]
    markov = cp.PairwiseMarkovLearner().fit(titanic).model_
    markov.record = LearningRecord(learner=LearnerRecord(text="fit_weights(prior_sd=1)"))
    told = report(tmp_path, markov, titanic)["measures"]
    assert told["held"] == "" and told["note"].startswith("Nothing was held out")
    assert all(line[2] is None for line in told["lines"])
    told = report(tmp_path, model, titanic, folds=0)["measures"]
    assert told["held"] == "" and "as asked" in told["note"]


def test_held_out_measures_are_of_the_rows_held_out(titanic: cp.Table, tmp_path: Path) -> None:
    model = cp.ChowLiu().fit(titanic).model_
    line = report(tmp_path, model, titanic, folds=2, random_state=5)["measures"]["lines"][0]
    order = np.random.default_rng(5).permutation(2201)
    halves = [np.sort(order[0::2]), np.sort(order[1::2])]
    scores = [
        cp.ChowLiu().fit(titanic.take(train)).model_.score_samples(titanic.take(test))
        for test, train in (halves, halves[::-1])
    ]
    assert line[0] == "log-likelihood"
    assert line[2] == pytest.approx(np.concatenate(scores).mean())
    assert line[3] == pytest.approx(model.score_samples(titanic).mean())


def test_learners_are_rebuilt_from_their_configuration_only() -> None:
    learner = cp.StructureSearch("bdeu", max_parents=3, required_edges=[("a", "b")], n_jobs=2)
    told = LearnerRecord(text=repr(learner), config=learner.to_config(), seconds=1.0)
    again = rebuilt_learner(LearningRecord(learner=told))
    assert repr(again) == repr(learner.set_params(random_state=0))
    assert rebuilt_learner(LearningRecord(learner=replace(told, seconds=1e4))) is None
    for config in (None, {"class": "open", "parameters": {}},
                   {"class": "TAN", "parameters": {"no": 1}}):  # fmt: skip
        strange = LearnerRecord(text="TAN(1)", config=config)
        assert rebuilt_learner(LearningRecord(learner=strange)) is None


@pytest.mark.slow
def test_large_models_show_a_part(tmp_path: Path) -> None:
    n = 10_000
    rng = np.random.default_rng(0)
    schema = cp.Schema.from_cards([2] * n, prefix="some_long_column_name_")
    edges = [(max(0, v - 1 - int(rng.integers(0, 9))), v) for v in range(1, n)]
    tables: list[Any] = [np.array([0.5, 0.5])]
    for _ in edges:
        p = rng.uniform(0.05, 0.95, 2)
        tables.append(np.column_stack([p, 1 - p]))
    model = cp.BayesianNetwork(schema, Dag(n, edges), tables)
    path = cp.write_report(model, model.sample(200, random_state=0), tmp_path / "r.html")
    assert path.stat().st_size < 5_000_000
    found = content(path)
    assert len(found["columns"]) == n and len(found["links"]) == n - 1
    assert 10 < len(found["picture"]["nodes"]) <= 60
    assert "of 10,000 columns are drawn: those of the strongest" in found["picture"]["note"]
    strongest = max(found["links"], key=lambda k: k["strength"])
    assert {*columns_of(strongest)} <= {node[0] for node in found["picture"]["nodes"]}


def test_tables_are_kept_up_to_a_size(
    titanic: cp.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = cp.StructureSearch().fit(titanic).model_
    monkeypatch.setattr("counterpane.report.content.PANEL_BYTES", 300)
    found = report(tmp_path, model)
    assert 1 <= len(found["panels"]["of"]) < 4
    first = found["links"][0]
    assert set(found["panels"]["of"]) <= {str(c) for k in found["links"] for c in columns_of(k)}
    assert str(first["source"]) in found["panels"]["of"]


def test_dense_graphs_are_thinned_but_do_not_fall_apart() -> None:
    n = 30
    rng = np.random.default_rng(0)
    potentials = [
        Potential((a, b), rng.normal() * np.eye(2)) for a in range(n) for b in range(a + 1, n)
    ]
    model = cp.MarkovNetwork(cp.Schema.from_cards([2] * n), potentials)
    links = measured_links(model, None, None, [None] * n)
    picture = pictures_of(model.schema.names, [(120.0, 64.0)] * n, links, None)["picture"]
    assert len(picture["edges"]) == 45
    assert {c for e in picture["edges"] for c in columns_of(e)} == set(range(n))
    assert "The strongest 45 of 435 links are drawn." in picture["note"]
    boxes = np.array(
        [[x - w / 2, y - h / 2, x + w / 2, y + h / 2] for _, x, y, w, h in picture["nodes"]]
    )
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert (a[2:] < b[:2]).any() or (b[2:] < a[:2]).any()


def skipping(n: int) -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(n - 1)] + [(i, i + 3) for i in range(0, n - 3, 2)]


@pytest.mark.parametrize("n", [14, 20])
@pytest.mark.parametrize("shape", ["chain", "skipping", 0, 1, 2])
def test_names_of_up_to_twenty_columns_can_be_read(n: int, shape: str | int) -> None:
    """In a window of 1,300 × 800 a name of 16 pixels, as large as names get, has 11 or more."""
    if isinstance(shape, int):
        rng = np.random.default_rng(shape)
        ends = np.sort(rng.integers(n, size=(3 * n // 2, 2)), axis=1).tolist()
        edges = sorted({(a, b) for a, b in ends if a != b})
    else:
        edges = skipping(n) if shape == "skipping" else skipping(n)[: n - 1]
    names = [f"column_name{i}" for i in range(n)]
    boxes = [box_size(name, [f"[{k}.25, {k}.75)" for k in range(6)]) for name in names]
    links = tuple(Link(edge, 0.5, None, True) for edge in edges)
    found = pictures_of(names, boxes, ModelLinks(links, "dag", "bits per row", ""), None)
    size = found["picture"]["size"]
    scale = min(room / one for room, one in zip(FRAME, size, strict=True))
    assert len(found["picture"]["nodes"]) == n and 16 * scale >= 11
    states = [(h - HEAD) / ROW for *_, h in found["picture"]["nodes"]]
    assert all(rows == int(rows) for rows in states)  # none is cut in half


def test_a_mixture_tells_the_weight_of_its_edges(tmp_path: Path) -> None:
    two = cp.Schema.from_cards([2, 2])
    apart = cp.BayesianNetwork(two, Dag(2), [[0.5, 0.5], [0.5, 0.5]])
    joined = cp.BayesianNetwork(two, Dag(2, [(0, 1)]), [[0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]]])
    found = report(tmp_path, Mixture([apart, joined], [1, 3]))
    (told,) = found["links"]
    assert told["mark"] == "→" and columns_of(told) == [0, 1] and told["share_of_mark"] == 0.75
    turned = cp.BayesianNetwork(two, Dag(2, [(1, 0)]), [[[0.9, 0.1], [0.1, 0.9]], [0.5, 0.5]])
    for weights, expected in (([2, 1, 1], [0, 1, "—", 0.5]), ([4, 1, 11], [1, 0, "→", 0.75])):
        mixed = report(tmp_path, Mixture([apart, joined, turned], weights))["links"]
        assert [[*columns_of(k), k["mark"], k["share_of_mark"]] for k in mixed] == [expected]


def test_alarm_is_small_and_drawn_whole(shared_data: Path, tmp_path: Path) -> None:
    table = cp.read(shared_data / "bnlearn" / "alarm.csv.gz")
    path = cp.write_report(cp.ChowLiu().fit(table), table, tmp_path / "alarm.html")
    assert path.stat().st_size < 2_000_000
    assert len(content(path)["picture"]["nodes"]) == 37


def test_trace_and_seed_are_kept_in_the_model(titanic: cp.Table, tmp_path: Path) -> None:
    model = cp.OrderMCMC(random_state=3, n_samples=700).fit(titanic).model_
    model.save(tmp_path / "m.cp")
    told = cp.load(tmp_path / "m.cp").record
    assert told.learner.random_state == 3
    assert 1 < len(told.learner.trace) <= 200
    assert told.learner.trace[0]["step"] == 0 and "log_score" in told.learner.trace[-1]
    assert model.record == told


def test_command(run: Any, titanic: cp.Table, tmp_path: Path) -> None:
    assert run("learn", "titanic", "--target", "survived", "-o", "t.cp")[0] == 0
    code, out, _ = run("report", "t.cp", "--data", "titanic", "-o", "out.html")
    assert code == 0 and "out.html" in out
    found = content(tmp_path / "out.html")
    assert found["title"] == "titanic" and found["measures"]["confusion"]
    code, out, _ = run("report", "t.cp", "--json")
    told = json.loads(out)
    assert code == 0 and told["report"] == "t.html"
    assert told["bytes"] == (tmp_path / "t.html").stat().st_size
    (tmp_path / "few.csv").write_text("sex,age\nmale,adult\n")
    code, _, said = run("report", "t.cp", "--data", "few.csv")
    assert code == 2 and "the data lacks the column 'status'" in " ".join(said.split())


def test_ctrl_c_while_learning_again_writes_nothing(tmp_path, monkeypatch):
    def stopped(self, X, y=None):
        warnings.warn("searching was stopped (Ctrl-C)", cp.StoppedEarly, 2)

    table = cp.load_dataset("titanic")
    model = cp.ChowLiu().fit(table).model_
    monkeypatch.setattr(cp.ChowLiu, "fit", stopped)
    with pytest.raises(KeyboardInterrupt):
        cp.write_report(model, table, tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()
