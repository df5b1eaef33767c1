"""What somebody with a table of their own meets first: counts, leaks, wrong files, next steps."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

import counterpane as cp

COUNTS = {("A", "m", "in"): 30, ("A", "m", "out"): 10, ("A", "f", "in"): 5, ("A", "f", "out"): 15,
          ("B", "m", "in"): 0, ("B", "m", "out"): 40, ("B", "f", "in"): 2, ("B", "f", "out"): 50,
          }  # fmt: skip


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    lines = [f"{','.join(cells)},{n}" for cells, n in COUNTS.items()]
    path = tmp_path / "counts.csv"
    path.write_text("\n".join(["dept,sex,admit,Freq", *lines]))
    return path


def test_a_column_of_counts(run, counted: Path) -> None:
    code, out, _ = run("learn", "counts.csv", "-o", "m.cp")
    assert code == 0 and "--weights Freq counts each row that often" in out
    code, out, _ = run("learn", "counts.csv", "--weights", "Freq", "-o", "m.cp")
    assert code == 0 and "152 rows × 3 columns" in out and "--weights" not in out
    rows = [dict(zip(("dept", "sex", "admit"), c, strict=True)) for c, n in COUNTS.items()
            for _ in range(n)]  # fmt: skip
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run("learn", "rows.jsonl", "-o", "r.cp")
    models = [cp.load(path) for path in ("m.cp", "r.cp")]
    assert models[0].edge_strengths() == models[1].edge_strengths()
    assert str(models[0].query("admit", {"sex": "m"})) == str(
        models[1].query("admit", {"sex": "m"})
    )
    scores = [
        json.loads(run("score", "m.cp", data, "--json")[1]) for data in ("counts.csv", "rows.jsonl")
    ]
    assert scores[0] | {"data": ""} == scores[1] | {"data": ""}
    code, out, _ = run("learn", "counts.csv", "--weights", "Freq", "--target", "admit", "-q")
    assert code == 0 and "152 rows held out" in out


@pytest.mark.parametrize(
    ("cells", "words"),
    [("x,y", "must hold an integer"), ("1,-1", "must hold"), ("1.5,2", "must hold"),
     ("0,0", "not all 0"), ("1,", "must hold")],
)  # fmt: skip
def test_counts_that_are_none(run, tmp_path: Path, cells: str, words: str) -> None:
    first, second = cells.split(",")
    (tmp_path / "t.csv").write_text(f"a,b,n\nx,y,{first}\ny,x,{second}\n")
    code, _, errors = run("learn", "t.csv", "--weights", "n")
    assert code == 2 and words in errors


def test_a_column_that_tells_the_class(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    left = rng.random(400) < 0.3
    rows = [
        f"{rng.integers(4)},{rng.choice(['a', 'b'])},{'2024-01-05' if x else ''},{x}" for x in left
    ]
    (tmp_path / "t.csv").write_text("\n".join(["calls,plan,end date,left", *rows]))
    code, out, _ = run("learn", "t.csv", "--target", "left")
    assert code == 0
    assert "end date alone nearly tells left. Is it known when you predict?" in out
    assert "--drop 'end date'" in out
    out = run("learn", "t.csv", "--target", "left", "--drop", "end date")[1]
    assert "alone nearly tells" not in out


def test_rows_of_another_table_are_not_predicted(run, tmp_path: Path) -> None:
    run("learn", "titanic", "--target", "survived", "-o", "m.cp", "-q")
    (tmp_path / "t.csv").write_text("survived,x\nyes,1\nno,2\n")
    code, _, errors = run("predict", "m.cp", "t.csv")
    assert code == 2 and "has no column that the model predicts from" in errors
    code, _, errors = run("effect", "m.cp", "sex", "survived")
    assert code == 2 and "`learn` does without --target" in errors


def test_the_next_step_can_be_taken(run, tmp_path: Path) -> None:
    out = run("learn", "iris", "-o", "m.cp")[1]
    step = shlex.split(out.rstrip().rpartition("; next: counterpane ")[2])
    assert step[0] == "query" and "--given" in step
    code, answer, _ = run(*step)
    assert code == 0 and f"P({step[2]} | {step[4]})" in " ".join(answer.split())


def test_edges_of_a_dependency_network_are_counted_once(run) -> None:
    out = run("learn", "titanic", "--method", "dn-tree", "-o", "m.cp")[1]
    model = cp.load("m.cp")
    assert f"→ {model.graph.to_undirected().number_of_edges()} edges" in out


def test_convert_takes_its_output_as_other_commands(run, tmp_path: Path) -> None:
    run("learn", "titanic", "-o", "m.cp", "-q", "--bootstrap", "0")
    assert run("convert", "m.cp", "-o", "m.bif")[0] == 0 and (tmp_path / "m.bif").exists()


def test_a_ranker_has_no_page(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    links = {(u, 10 * (u % 2) + int(i)) for u in range(40) for i in rng.integers(0, 10, 6)}
    (tmp_path / "l.csv").write_text("\n".join(["u,i", *(f"u{u},m{i}" for u, i in sorted(links))]))
    assert "--user" not in run("learn", "l.csv", "-o", "m.cp")[1]  # 20 items are few
    for method in ("naive-bayes", "item-rank", "blend"):
        run("learn", "l.csv", "--user", "u", "--item", "i", "--method", method, "-o", "m.cp")
        assert all(a != b for a, b in cp.load("m.cp").graph.edges)
        for command in ("explore", "report"):
            code, _, errors = run(command, "m.cp", "-o", "page.html")
            assert code == 2 and "the model ranks items and has no probabilities" in errors


def test_a_list_of_links_is_noticed(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    links = {(u, int(i)) for u in range(60) for i in rng.integers(0, 30, 8)}
    (tmp_path / "l.csv").write_text("\n".join(["who,what", *(f"u{u},m{i}" for u, i in links)]))
    out = run("learn", "l.csv", "-o", "m.cp")[1]
    assert "--user who --item what learns to rank items" in out
