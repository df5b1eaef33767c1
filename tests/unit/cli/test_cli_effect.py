"""`effect`, `query --do` and `sample --do` on the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import counterpane as cp


@pytest.fixture
def learned(run) -> str:
    code, _, err = run("learn", "titanic", "-o", "m.cp", "--method", "structure-search")
    assert code == 0, err
    return "m.cp"


def test_effect_of_a_learned_network_is_a_range(run, learned: str) -> None:
    words = ("effect", learned, "sex", "survived", "--draws", "20")
    code, out, _ = run(*words, "--range")
    assert code == 0
    assert out.startswith("The data leave open whether 'sex' acts on 'survived'")
    assert "P(survived | do(sex))" in out
    code, out, _ = run(*words, "--range", "--json")
    facts = json.loads(out)
    assert code == 0 and not facts["determined"]
    result = cp.effect(cp.load(learned), "sex", "survived", draws=20, equivalence=True)
    assert [c["probability_most"] for c in facts["cells"]] == pytest.approx(result.most.reshape(-1))
    code, out, _ = run(
        "effect", learned, "sex", "survived", "--as-drawn", "--baseline", "sex=female", "--json"
    )
    facts = json.loads(out)
    assert facts["determined"] and facts["baseline"] == ["female"]
    code, _, err = run(*words, "--range", "--as-drawn")
    assert code == 2 and "--as-drawn and --range exclude each other" in err


def test_effect_is_averaged_over_networks(run, learned: str) -> None:
    code, out, err = run("effect", learned, "sex", "survived")
    assert code == 0, err
    assert out.startswith("Averaged over 4,000 networks drawn from the exact posterior: a directed")
    by_data = run("effect", learned, "sex", "survived", "--data", "titanic")[1]
    assert by_data == out
    cp.load(learned).save("plain.bif")
    _, out, _ = run("effect", "plain.bif", "sex", "survived")
    assert "seen" not in out.splitlines()[2]


def test_effect_by_a_graph_on_rows(run) -> None:
    words = ("effect", "titanic", "sex", "survived", "--graph", "status -> sex -> survived")
    code, out, err = run(*words, "--draws", "20", "--plot", "effect.png")
    assert code == 0, err
    assert "P(survived | do(sex)) = P(survived | sex)" in out
    assert Path("effect.png").stat().st_size > 1000
    Path("rows.csv").write_text("a,b\n1,2\n2,1\n")
    code, out, err = run("effect", "rows.csv", "a", "b")
    assert code == 2 and "rows alone do not tell causes; pass --graph" in err
    code, out, err = run(*words[:-1], "sex -> survived; sex <-> survived")
    assert code == 2 and not out
    assert "is not identified by this graph" in err


def test_query_with_do(run, learned: str) -> None:
    model = cp.load(learned)
    code, out, _ = run("query", learned, "survived", "--do", "sex=female", "-g", "age=child")
    assert code == 0
    assert "P(survived | do(sex=female), age=child)" in out
    code, out, _ = run("query", learned, "survived", "--do", "sex=female", "--json")
    facts = json.loads(out)
    assert facts["do"] == {"sex": "female"}
    assert "leave open whether sex acts on" in facts["notes"][0]
    truth = model.query("survived", do={"sex": "female"})  # type: ignore[attr-defined]
    assert [c["probability"] for c in facts["cells"]] == pytest.approx(truth.probabilities)


def test_sample_with_do(run, learned: str) -> None:
    code, out, err = run("sample", learned, "-n", "30", "--do", "sex=female", "--seed", "1")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 30 and {row["sex"] for row in rows} == {"female"}
    assert "leave open" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("query", "m.cp", "survived", "--do", "sex=female", "-g", "sex=male"),
            "set by do and given",
        ),
        (("query", "m.cp", "sex", "--do", "sex=female"), "set by do and asked about"),
        (("query", "m.cp", "survived", "--do", "sex"), "--do 'sex' is not of the form"),
        (("query", "m.cp", "survived", "--do", "sex=male|female"), "leaves several states"),
        (("query", "m.cp", "survived", "--do", "cabin=1"), "column 'cabin' is not known"),
        (("effect", "m.cp", "sex", "sex"), "a column has no effect on itself"),
        (("effect", "m.cp", "cabin", "sex"), "column 'cabin' is not known"),
        (("effect", "m.cp", "sex"), "the column that is set and the column asked about"),
        (("effect", "m.cp", "age", "sex", "-g", "age=child"), "set by do and given"),
    ],
)
def test_messages(run, learned: str, words: tuple[str, ...], message: str) -> None:
    code, out, err = run(*words)
    assert code == 2 and not out
    assert message in err and err.strip().count("\n") == 0


def test_models_without_directions(run) -> None:
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(0, 2, 60).tolist() for name in "abc"}
    Path("rows.csv").write_text(
        "a,b,c\n" + "\n".join(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))
    )
    run("learn", "rows.csv", "-o", "field.cp", "--method", "gsmn")
    code, _, err = run("query", "field.cp", "a", "--do", "b=1")
    assert code == 2 and "no directions" in err
    code, _, err = run("effect", "field.cp", "a", "b")
    assert code == 2 and "no directions" in err
