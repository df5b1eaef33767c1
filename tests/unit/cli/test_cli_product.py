"""The command as a product: choices, exit codes, Ctrl-C, completion, datasets, doctor, compare."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import counterpane as cp
from counterpane import _core
from counterpane.cli import COMMANDS, datasets, doctor
from counterpane.cli.app import console, run_program
from counterpane.learners.bayesian.structure_search import StagedSearch
from counterpane.workflow import choose, learn


def write_wide(path: Path, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, (rows, columns))
    cells[:, 1:] = np.where(rng.random((rows, columns - 1)) < 0.7, cells[:, :-1], cells[:, 1:])
    names = ",".join(f"v{i}" for i in range(columns))
    np.savetxt(path, cells, fmt="%d", delimiter=",", header=names, comments="")


# ---- the choice of a method ---------------------------------------------------------------


def test_the_choice_by_the_task() -> None:
    def chosen(**task):
        return choose.choose_method(
            "auto", **{"target": None, "links": False, "n_columns": 9} | task
        )

    assert chosen(target="y")[0] == "interaction"
    assert chosen(links=True)[0] == "ranker"
    assert chosen()[0] == "structure-search"
    assert chosen(n_columns=choose.NARROW + 1)[0] == "dn-tree"
    assert all(chosen(**task)[1] for task in ({"target": "y"}, {"links": True}, {}))
    assert choose.choose_method("ges", target=None, links=False, n_columns=9) == ("ges", "")


def test_the_reason_is_said_and_kept(run, tmp_path: Path) -> None:
    _, out, err = run("learn", "titanic")
    assert err.count("\n") == 1
    assert "Method structure-search: 4 columns are few" in err
    assert "in 100 of 100 samples" in out
    record = cp.load(tmp_path / "titanic.cp").record
    assert record.learner.why.startswith("4 columns are few")
    assert record.learner.method == "structure-search"
    found = cp.bootstrap(cp.StructureSearch("bic"), cp.load_dataset("titanic"), 100, random_state=0)
    assert record.edge_shares == tuple(found.edges)
    _, _, err = run("learn", "titanic", "--quiet")
    assert err == ""
    _, _, err = run("learn", "titanic", "--method", "ges")
    assert err == ""
    assert not cp.load(tmp_path / "titanic.cp").record.edge_shares
    facts = json.loads(run("learn", "titanic", "--method", "ges", "--bootstrap", "21", "--json")[1])
    assert all(edge["share_of_mark"] * 21 == pytest.approx(round(edge["share_of_mark"] * 21))
               for edge in facts["edges"])  # fmt: skip
    facts = json.loads(run("learn", "titanic", "--bootstrap", "0", "--json")[1])
    assert facts["edges"][0]["samples"] is None


def test_a_wide_table_is_a_dependency_network(run, tmp_path: Path) -> None:
    write_wide(tmp_path / "wide.csv", 60, choose.NARROW + 1)
    code, out, _ = run("learn", "wide.csv", "--json")
    assert (code, json.loads(out)["method"]) == (0, "dn-tree")
    assert cp.load(tmp_path / "wide.cp").kind == "dependency_network"


# ---- errors and exit codes -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MemoryError(), 1, "memory ran out; try fewer columns"),
        (PermissionError(errno.EACCES, "Permission denied", "m.cp"), 2, "'m.cp': Permission"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "No space left on device; check"),
        (IsADirectoryError(errno.EISDIR, "Is a directory", "d"), 2, "'d': Is a directory"),
        (ValueError("two\nlines"), 1, "(ValueError: two lines); run again with --debug"),
        (RecursionError("deep"), 1, "RecursionError"),
    ],
)  # fmt: skip
def test_any_error_is_one_sentence(run, monkeypatch, error: Exception, code: int, words) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(learn, "fit_learner", fail)
    found, out, err = run("learn", "titanic", "-q")
    assert (found, out) == (code, "")
    assert err.startswith("Error: ")
    assert words in err
    assert err.count("\n") == 1
    monkeypatch.setattr(sys, "argv", ["counterpane", "learn", "titanic", "--debug"])
    with pytest.raises(type(error)):
        run_program()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["learn", "titanic", "-o", "no/such/m.cp"], "there is no folder 'no/such'"),
        (["learn", "titanic", "-o", "folder.cp"], "'folder.cp' is a folder"),
        (["learn", "titanic", "-o", "m.xyz"], "no suffix of a model file; .cp, .bif"),
        (["learn", "titanic", "--checkpoint", "no/such"], "checkpoint"),
        (["predict", "m.cp", "titanic", "--target", "sex", "-o", "no/such.csv"], "no folder 'no'"),
        (["compare", "titanic", "--folds", "1"], "--folds 1"),
        (["compare", "titanic", "--holdout", "2"], "--holdout 2"),
        (["compare", "titanic", "--plot", "c.foo"], "--plot 'c.foo' is no picture; .png"),
        (["compare", "titanic", "--method", "tan"], "--method tan needs --target"),
        (["compare", "titanic", "--target", "survive"], "did you mean 'survived'"),
        (["compare", "titanic", "--markdown", "no/such.md"], "no folder 'no'"),
        (["datasets", "titanik", "-o", "t.csv"], "did you mean 'titanic'"),
        (["datasets", "titanic"], "add -o titanic.csv"),
        (["datasets", "-o", "t.csv"], "name one, such as titanic"),
        (["query", "folder.cp", "sex"], "is a folder"),
    ],
)
def test_mistakes_are_found_before_the_work(run, tmp_path: Path, words, hint: str) -> None:
    cp.ChowLiu().fit(cp.load_dataset("titanic")).model_.save(tmp_path / "m.cp")
    (tmp_path / "folder.cp").mkdir()
    before = sorted(p.name for p in tmp_path.iterdir())
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("Error: ")
    assert hint in err
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_wrong_use_is_2_and_codes_are_documented(run) -> None:
    assert run("learn")[0] == 2
    assert run("learn", "titanic", "--nonsense")[0] == 2
    out = " ".join(run("--help")[1].split())
    assert "Exit codes: 0 success" in out
    assert "130 stopped" in out
    for name in COMMANDS:
        if name != "report":
            assert f" {name} " in out
    assert run("learn", "-h")[0] == 0


# ---- Ctrl-C ---------------------------------------------------------------------------------


SLOW_SEARCH = """
import sys, time
from counterpane.cli.app import run_program
from counterpane.learners.bayesian.structure_search import StagedSearch

plain = StagedSearch.step

def step(self, state, ctl):
    if state.rounds == 1:
        print("second stage", file=sys.stderr, flush=True)
        while True:
            time.sleep(0.01)
            if %r:
                ctl.check()
    return plain(self, state, ctl)

StagedSearch.step = step
sys.argv = ["counterpane", "learn", "titanic", *sys.argv[1:]]
run_program()
"""


@pytest.mark.parametrize("polite", [True, False], ids=["checks", "deaf"])
def test_ctrl_c_keeps_the_best_so_far(tmp_path: Path, polite: bool) -> None:
    learner = subprocess.Popen(
        [sys.executable, "-c", SLOW_SEARCH % polite, "-o", "m.cp"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert learner.stderr is not None
    while "second stage" not in learner.stderr.readline():
        assert learner.poll() is None
    learner.send_signal(signal.SIGINT)
    if not polite:  # the first one only asks; the second breaks off
        time.sleep(0.5)
        assert learner.poll() is None
        learner.send_signal(signal.SIGINT)
    out, err = learner.communicate(timeout=30)
    assert learner.returncode == 130
    assert "was stopped (Ctrl-C) after 1 step; the result is the best so far" in err
    assert "--checkpoint FILE" in err
    assert "Traceback" not in err
    assert "Saved to m.cp" in out
    model = cp.load(tmp_path / "m.cp")
    assert model.record.learner.stopped == "Ctrl-C"
    assert model.dag.n_edges >= 4  # what the first stage found
    assert not model.record.edge_shares


def test_ctrl_c_before_there_is_anything(run, tmp_path: Path, monkeypatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(learn, "fit_learner", stop)
    code, out, err = run("learn", "titanic", "-q")
    assert (code, out) == (130, "")
    assert err == "Stopped; nothing was written.\n"
    assert not list(tmp_path.iterdir())


def test_ctrl_c_in_the_bootstrap_keeps_the_model(run, tmp_path: Path, monkeypatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cp, "bootstrap", stop, raising=False)
    code, out, _ = run("learn", "titanic", "-o", "m.cp")
    assert code == 130
    assert "Saved to m.cp" in out
    assert cp.load(tmp_path / "m.cp").record.edge_shares == ()


def test_a_time_limit_is_no_interruption(run, tmp_path: Path) -> None:
    code, out, _ = run("learn", "titanic", "--method", "ges", "--time-limit", "1e-9", "-o", "m.cp")
    assert code == 0
    assert "Saved to m.cp" in out
    assert cp.load(tmp_path / "m.cp").record.learner.stopped is None


# ---- shells -----------------------------------------------------------------------------------


def completions(folder: Path, line: str) -> list[str]:
    code = "import sys; sys.argv = ['counterpane']\n"
    code += "from counterpane.cli.app import run_program\nrun_program()"
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    environment = {**os.environ, **words, "_COUNTERPANE_COMPLETE": "complete_bash"}
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    return found.stdout.split()


def test_completion(tmp_path: Path) -> None:
    cp.ChowLiu().fit(cp.load_dataset("titanic")).model_.save(tmp_path / "m.cp")
    assert completions(tmp_path, "counterpane learn x --method st") == ["structure-search"]
    assert completions(tmp_path, "counterpane query m.cp s") == ["status", "sex", "survived"]
    assert completions(tmp_path, "counterpane query absent.cp s") == []
    assert "tictactoe" in completions(tmp_path, "counterpane datasets t")


def test_evidence_completes_columns_and_states(tmp_path: Path) -> None:
    from types import SimpleNamespace

    from counterpane.cli.options import complete_evidence

    cp.ChowLiu().fit(cp.load_dataset("titanic")).model_.save(tmp_path / "m.cp")
    context = SimpleNamespace(params={"model": tmp_path / "m.cp"})
    assert complete_evidence(context, "a") == ["age="]
    assert complete_evidence(context, "sex=f") == ["sex=female"]
    assert complete_evidence(context, "nothing=") == []


@pytest.mark.parametrize(
    ("words", "numpy"),
    [
        (["--help"], False),
        (["leern"], False),
        (["query", "m.cp", "survived", "-g", "sex=male"], True),
    ],
)
def test_commands_load_only_what_they_use(tmp_path: Path, words: list[str], numpy: bool) -> None:
    cp.StructureSearch().fit(cp.load_dataset("titanic")).model_.save(tmp_path / "m.cp")
    code = f"import sys; sys.argv = ['counterpane', *{words!r}]\n"
    code += "from counterpane.cli.app import run_program\n"
    code += "try:\n    run_program()\nexcept SystemExit: pass\n"
    code += (
        "heavy = {'networkx', 'narwhals', 'scipy', 'sklearn', 'pandas', 'matplotlib', 'numpy'}\n"
    )
    code += "print('HEAVY', *sorted(heavy & set(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert found.stdout.splitlines()[-1].split() == ["HEAVY", *(["numpy"] if numpy else [])]


@pytest.mark.parametrize("words", [["leern"], ["--debug", "leern", "x.csv"]])
def test_a_wrong_command_offers_the_nearest(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "counterpane", *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: the command 'leern' is not known; did you mean 'learn'?")
    assert done.stderr.count("\n") == 1


def test_import_loads_nothing_but_the_package() -> None:
    code = "import sys; import counterpane; print('numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


# ---- datasets, doctor, sample, convert --------------------------------------------------------


def test_datasets(run, tmp_path: Path) -> None:
    listed = json.loads(run("datasets", "--json")[1])["datasets"]
    assert [d["name"] for d in listed] == list(cp.dataset_names()) == list(datasets.ABOUT)
    first = {"name": "titanic", "rows": 2201, "columns": 4, "target": "survived"}
    assert first.items() <= listed[0].items()
    assert "breast_cancer" in run("datasets")[1]
    code, out, _ = run("datasets", "titanic", "-o", "t.csv")
    assert (code, out) == (0, "2,201 rows saved to t.csv\n")
    again = cp.read(tmp_path / "t.csv")
    assert sorted(again.column("status")) == sorted(cp.load_dataset("titanic").column("status"))
    facts = json.loads(run("datasets", "iris", "-o", "i.csv.gz", "--json")[1])
    assert (facts["rows"], facts["output"]) == (150, "i.csv.gz")


def test_doctor(run, monkeypatch) -> None:
    code, out, _ = run("doctor", "--json")
    facts = json.loads(out)
    assert (code, facts["ok"]) == (0, True)
    told = {check["check"]: check for check in facts["checks"]}
    assert told["counterpane"]["told"] == cp.__version__
    assert told["numpy"]["told"] == np.__version__
    assert told["self-test"]["ok"]
    assert f"instruction level {_core.level}" in told["kernels"]["told"]
    monkeypatch.setitem(doctor.EXTRAS, "odd", (("no_such_module",), "nothing"))
    code, out, _ = run("doctor")
    flat = " ".join(out.split())
    assert code == 0  # an extra is not needed
    assert "absent (no_such_module); pip install 'counterpane[odd]'" in flat
    assert "All checks passed." in flat


def test_doctor_finds_what_is_broken(run, monkeypatch) -> None:
    monkeypatch.setattr(doctor, "NEEDED", ("no-such-package",))
    code, out, _ = run("doctor")
    assert code == 1
    assert "absent; install counterpane again" in " ".join(out.split())
    monkeypatch.setattr(doctor, "NEEDED", ())

    def broken(*_: object) -> None:
        raise RuntimeError("no\nkernels")

    monkeypatch.setattr(StagedSearch, "step", broken)
    code, out, _ = run("doctor", "--json")
    assert code == 1
    assert "RuntimeError: no kernels" in json.loads(out)["checks"][-1]["told"]
    assert not json.loads(out)["ok"]


def test_sample_and_convert_as_json(run, tmp_path: Path) -> None:
    run("learn", "titanic", "--method", "chow-liu", "-o", "m.cp")
    facts = json.loads(run("sample", "m.cp", "-n", "5", "--seed", "1", "--json")[1])
    assert facts["rows"] == 5
    assert [len(cells) for cells in facts["columns"].values()] == [5] * 4
    facts = json.loads(run("sample", "m.cp", "-n", "5", "-o", "s.csv", "--json")[1])
    assert facts == {"model": "m.cp", "rows": 5, "output": "s.csv"}
    facts = json.loads(run("convert", "m.cp", "m.bif", "--json")[1])
    assert facts == {"model": "m.bif", "kind": "bayesian_network"}


def test_scores_are_of_all_blocks_and_json_has_no_infinity(run, tmp_path) -> None:
    run("learn", "titanic", "--method", "chow-liu", "-o", "m.cp")
    model, table = cp.load(tmp_path / "m.cp"), cp.load_dataset("titanic")
    rows = replace(cp.rows_for(model, "titanic"), block=100)
    for metric, measure in (("pll", "pll"), ("loglik", "log_likelihood")):
        facts = json.loads(run("score", "m.cp", "titanic", "--metric", metric, "--json")[1])
        found = getattr(cp.evaluate, measure)(model, table)
        for own in (rows.score(measure)[:2], (facts["mean"], facts["standard_error"])):
            assert own == pytest.approx(found[:2])
    whole = json.loads(run("predict", "m.cp", "titanic", "--target", "sex", "--json")[1])
    assert whole["rows"] == 2201 and whole["predicted"] == rows.predict("sex").counts()
    tables = [np.array([1.0, 0.0]), np.array([[0.5, 0.5], [0.5, 0.5]])]
    network = cp.BayesianNetwork(cp.Schema.from_cards([2, 2]), cp.Dag(2, [(0, 1)]), tables)
    network.save(tmp_path / "zero.cp")
    (tmp_path / "rows.csv").write_text("x0,x1\n0,1\n1,1\n")
    out = run("score", "zero.cp", "rows.csv", "--metric", "loglik", "--json")[1]
    assert json.loads(out, parse_constant=pytest.fail)["mean"] is None


def test_several_files(run, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in ("one", "two"):
        run("datasets", "titanic", "-o", f"parts/{name}.csv")
    facts = json.loads(run("learn", "parts", "--json")[1])
    assert (facts["rows"], facts["method"]) == (4402, "structure-search")
    assert facts["edges"]
    facts = json.loads(run("learn", "parts", "--target", "sex", "--json")[1])
    assert (facts["rows"], facts["method"]) == (4402, "interaction")
    code, _, err = run("compare", "parts/*.csv")
    assert code == 2
    assert "is several files" in err
    assert "name one file" in err


# ---- compare ----------------------------------------------------------------------------------


def test_compare(run, tmp_path: Path) -> None:
    code, out, _ = run("compare", "titanic", "--folds", "2", "--json")
    found = json.loads(out)
    assert code == 0
    names = {r["method"] for r in found["learners"]}
    assert names == {"chow-liu", "structure-search", "hill-climb", "ges", "dn-tree", "hybrid"}
    assert found["folds"] == 2
    assert found["best"] == max(found["learners"], key=lambda r: r["pll"])["method"]
    assert found["distances"]["ges"]["chow-liu"] > 0
    code, out, _ = run("compare", "titanic", "--method", "ges", "--method", "chow-liu",
                       "--folds", "2", "--markdown", "c.md", "--plot", "c.png")  # fmt: skip
    assert code == 0
    assert out.index("ges") < out.index("chow-liu")  # the best first
    assert "sex — survived" in out
    assert "found less often by" in out
    assert "Saved to c.md" in out
    assert (tmp_path / "c.md").read_text().startswith("# 2 learners on 2,201 rows, 2 folds")
    assert (tmp_path / "c.png").stat().st_size > 5000


def test_compare_with_a_target_and_a_failure(run) -> None:
    code, out, _ = run("compare", "titanic", "--target", "survived", "--method", "naive-bayes",
                       "--method", "k2", "--score", "bick", "--folds", "2")  # fmt: skip
    assert code == 0
    assert "log-loss" in out
    assert "k2 failed: " in out
    assert "did you mean 'bic'" in " ".join(out.split())


def test_a_folder_without_rights_is_found_before_the_work(run, tmp_path: Path, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    code, out, err = run("learn", "titanic", "-o", "m.cp")
    assert (code, out) == (2, "")
    assert "'m.cp' cannot be written: Permission denied" in err


def test_errors_speak_of_options(run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i / 7},{i % 2}\n" for i in range(50)))
    err = run("learn", "t.csv", "--discretize", "none")[2].splitlines()[-1]
    words = "with --discretize 'mdl' and --target COLUMN, or with --discretize 'quantile' (up to"
    assert words in err
    cp.ChowLiu().fit(cp.load_dataset("titanic")).model_.save(tmp_path / "m.cp")
    assert "name the column to predict with --target COLUMN" in run("predict", "m.cp", "titanic")[2]
    run("datasets", "titanic", "-o", "people.csv")
    people = (tmp_path / "people.csv").read_text().replace("female", "woman")
    (tmp_path / "people.csv").write_text(people)
    err = run("score", "m.cp", "people.csv")[2]
    assert "'woman' is not one of 2 states" in err
    assert err.endswith("; leave such rows out.\n")


def test_a_narrow_terminal_loses_no_number(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(console, "width", 40)
    out = run("compare", "titanic", "--method", "chow-liu", "--folds", "2")[1]
    assert re.search("chow-liu +-2.2", out)
    assert "…" not in out.splitlines()[1]


def test_ctrl_c_while_loading_leaves_no_traceback() -> None:
    code = "import builtins, sys\nreal = builtins.__import__\n"
    code += "def stop(name, *rest, **more):\n    if name == 'typer': raise KeyboardInterrupt\n"
    code += "    return real(name, *rest, **more)\nbuiltins.__import__ = stop\n"
    code += "from counterpane.__main__ import main\nmain()\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "Stopped; nothing was written.\n")
