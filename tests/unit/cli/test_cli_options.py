"""Options of `learn` that say what Python can: constraints, columns, intervals, seeds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import counterpane as cp

TOML = """
tiers = [["sex", "age"], ["status"], ["survived"]]
require = ["sex -> survived", ["age", "survived"]]
forbid = ["sex -- age", "status→survived"]
"""


def edges_of(path: Path) -> set[tuple[str, str]]:
    return set(cp.load(path).graph.edges)


def test_a_file_of_constraints(run, tmp_path: Path) -> None:
    (tmp_path / "k.toml").write_text(TOML, encoding="utf-8")
    code, out, _ = run("learn", "titanic", "--knowledge", "k.toml", "--json", "-o", "m.cp")
    assert code == 0
    edges = edges_of(tmp_path / "m.cp")
    assert {("sex", "survived"), ("age", "survived")} <= edges
    assert not edges & {("sex", "age"), ("age", "sex"), ("status", "survived")}
    level = {"sex": 0, "age": 0, "status": 1, "survived": 2}
    assert all(level[parent] <= level[child] for parent, child in edges)
    stored = cp.load(tmp_path / "m.cp").record.constraints
    told = json.loads(out)["constraints"]
    assert told["required_edges"] == [["sex", "survived"], ["age", "survived"]]
    assert stored.required == (("sex", "survived"), ("age", "survived"))
    assert stored.tiers == (("sex", "age"), ("status",), ("survived",))


@pytest.mark.parametrize("method", ["structure-search", "hill-climb", "k2"])
def test_flags_are_the_parameters_of_python(run, tmp_path: Path, method: str) -> None:
    flags = ("--require", "age->sex", "--require", "sex → survived", "--forbid", "status--age",
             "--tier", "age, sex", "--tier", "survived")  # fmt: skip
    assert run("learn", "titanic", "--method", method, "-o", "m.cp", *flags)[0] == 0
    name = {"structure-search": "StructureSearch", "hill-climb": "HillClimb", "k2": "K2Search"}
    learner = getattr(cp, name[method])(
        "k2" if method == "k2" else "bic",
        required_edges=[("age", "sex"), ("sex", "survived")],
        forbidden_edges=[("status", "age"), ("age", "status")],
        tiers=[["age", "sex"], ["survived"]],
    ).fit(cp.load_dataset("titanic"))
    edges = edges_of(tmp_path / "m.cp")
    assert edges == set(learner.graph_.edges)
    assert {("age", "sex"), ("sex", "survived")} <= edges


def test_ges_obeys_what_it_can(run, tmp_path: Path) -> None:
    code, _, _ = run("learn", "titanic", "--method", "ges", "--forbid", "sex--age", "-o", "m.cp")
    assert code == 0
    assert not edges_of(tmp_path / "m.cp") & {("sex", "age"), ("age", "sex")}
    code, _, err = run("learn", "titanic", "--method", "ges", "--forbid", "sex->age")
    assert code == 2
    assert "use --method structure-search or hill-climb." in err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--require", "sex survived"], "--require 'sex survived' is no edge; write 'age->income'"),
        (["--forbid", "sex"], "write 'age->income' or 'age--income'"),
        (["--require", "sex--age"], "--require 'sex--age' is no edge"),
        (["--require", "sex->survive"], "column 'survive' is not known; did you mean 'survived'?"),
        (["--tier", "sex,ag"], "column 'ag' is not known; did you mean 'age'?"),
        (["--tier", "sex", "--tier", "sex"], "'sex' is in two tiers"),
        (["--require", "sex->sex"], "joins a variable with itself"),
        (["--require", "sex->age", "--require", "age->sex"], "form a cycle"),
        (["--require", "sex->age", "--forbid", "sex->age"], "is required and forbidden"),
        (["--require", "sex->age", "--target", "survived"], "--method interaction is chosen for "
         "this task and takes no required or forbidden edges and no tiers; these methods do: "
         "structure-search, hill-climb, k2, ges, pc, fci."),
        (["--require", "sex->age", "--method", "dn-tree"], "--method dn-tree takes no required"),
        (["--knowledge", "no.toml"], "there is no file 'no.toml'"),
        (["--bins", "3", "--target", "survived"], "--method interaction chooses the intervals"),
        (["--bins", "3", "--discretize", "none"], "exclude each other"),
        (["--drop", "sx"], "column 'sx' is not known; did you mean 'sex'?"),
        (["--drop", "survived", "--target", "survived"], "--drop 'survived' is the target"),
        (["--categorical", "sx"], "column 'sx' is not known"),
        (["--drop", "sex", "--categorical", "sex"], "both dropped and categorical"),
    ],
)  # fmt: skip
def test_wrong_options_name_the_way_out(run, words: list[str], hint: str) -> None:
    code, _, err = run("learn", "titanic", *words)
    assert code == 2
    assert hint in err


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("tiers = ", "is no TOML"),
        ("required = []", "the key 'required' is not known; did you mean 'require'?"),
        ("require = 'a->b'", "require is 'a->b'; a list is needed"),
        ("require = [['a', 'b', 'c']]", 'an edge is "parent -> child" or a list of two'),
        ("require = ['sex age']", "is no edge"),
        ("tiers = ['age', 'sex']", "the tier 'age' is no list of column names"),
        ("require = [['sex', 'agee']]", "column 'agee' is not known; did you mean 'age'?"),
    ],
)
def test_wrong_files_of_constraints(run, tmp_path: Path, text: str, hint: str) -> None:
    (tmp_path / "k.toml").write_text(text)
    code, _, err = run("learn", "titanic", "--knowledge", "k.toml")
    assert code == 2
    assert hint in err


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A table with an id, a column of numbers that are codes, and quantities."""
    rng = np.random.default_rng(3)
    rows = [
        f"{i},{rng.integers(10, 40)},{rng.normal():.3f},{rng.normal():.3f},{'ab'[rng.integers(2)]}"
        for i in range(400)
    ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["id,region,a->b,y,kind", *rows]))
    return path


def test_columns_are_dropped_or_taken_as_states(run, people: Path, tmp_path: Path) -> None:
    words = ("--drop", "y", "--categorical", "region", "--method", "chow-liu", "-o", "m.cp")
    code, out, _ = run("learn", "people.csv", *words)
    assert code == 0
    model = cp.load(tmp_path / "m.cp")
    assert model.schema.names == ("region", "a->b", "kind")
    assert model.schema["region"].states == tuple(range(10, 40))
    assert model.schema["region"].cuts is None
    assert model.record.preparation.dropped == ("y",)
    assert model.record.preparation.categorical == ("region",)
    assert "Cut into intervals: a->b." in out
    again = cp.read(people, drop=["id", "y"], categorical=["region"], discretize="quantile")
    assert again.schema["region"].states == tuple(range(10, 40))
    assert run("score", "m.cp", "people.csv")[0] == 0


def test_the_number_of_intervals(run, people: Path, tmp_path: Path) -> None:
    run("learn", "people.csv", "--bins", "3", "--method", "chow-liu", "-o", "m.cp")
    schema = cp.load(tmp_path / "m.cp").schema
    assert [v.card for v in schema] == [3, 3, 3, 2]
    code, out, _ = run("learn", "people.csv", "--bins", "2", "--target", "y", "--method",
                       "naive-bayes", "--json", "-o", "c.cp")  # fmt: skip
    assert code == 0
    assert len(json.loads(out)["classes"]) == 2
    assert all(v.card <= 2 for v in cp.load(tmp_path / "c.cp").schema if v.cuts is not None)
    assert run("learn", "people.csv", "--bins", "1")[0] == 2


def test_names_with_arrows(run, people: Path, tmp_path: Path) -> None:
    flags = ("--require", "kind->a->b", "--forbid", "a->b--y")
    assert run("learn", "people.csv", *flags, "-o", "m.cp")[0] == 0
    stored = cp.load(tmp_path / "m.cp").record.constraints
    assert stored.required == (("kind", "a->b"),)
    assert stored.forbidden == (("a->b", "y"), ("y", "a->b"))
    code, _, err = run("learn", "people.csv", "--require", "id->kind")
    assert code == 2
    assert "column 'id' was left out (names the rows" in err
    assert "--use 'id'" in err


def test_seeds(run, tmp_path: Path) -> None:
    for seed in ("1", "1", "2"):
        run("learn", "titanic", "--target", "survived", "--seed", seed, "-o", f"m{seed}.cp")
    assert cp.load(tmp_path / "m1.cp").record.learner.random_state == 1
    first, other = (
        cp.load(tmp_path / f"m{seed}.cp").predict_proba(cp.load_dataset("titanic").labels())
        for seed in (1, 2)
    )
    again = cp.InteractionClassifier(random_state=1, n_jobs=2)
    again.fit(cp.load_dataset("titanic"), "survived")
    assert np.allclose(first, again.predict_proba(cp.load_dataset("titanic")))
    assert not np.allclose(first, other)


def test_losses_say_on_which_rows(run, people: Path, tmp_path: Path) -> None:
    run("learn", "people.csv", "--target", "kind", "--method", "tan", "-o", "m.cp")
    _, out, _ = run("predict", "m.cp", "people.csv", "-o", "p.csv")
    assert (
        "On these rows (the training rows: new rows will be predicted less well): log-loss" in out
    )
    assert json.loads(run("predict", "m.cp", "people.csv", "--json")[1])["training_rows"] is True
    lines = people.read_text().splitlines()
    (tmp_path / "some.csv").write_text("\n".join([lines[0], *lines[:0:-1]]))
    _, out, _ = run("predict", "m.cp", "some.csv", "-o", "p.csv")
    assert "On these rows: log-loss" in out
    assert json.loads(run("predict", "m.cp", "some.csv", "--json")[1])["training_rows"] is False


def test_a_network_remembers_its_target(run, people: Path) -> None:
    run("learn", "people.csv", "--target", "kind", "--method", "hill-climb", "-o", "m.cp")
    assert run("predict", "m.cp", "people.csv", "-o", "p.csv")[0] == 0
