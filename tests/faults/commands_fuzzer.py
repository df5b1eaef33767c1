"""Command lines with one hostile word: each ends in a result or in one sentence."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path

import numpy as np

import counterpane as cp
from counterpane.cli.app import run_program
from faults.files_fuzzer import scratch
from faults.outcomes import judge

# {} stands for a file of the folder.
COMMANDS = (
    "learn {t.csv} -o {n.cp} --method chow-liu --seed 1 --jobs 1",
    "learn {t.csv} -o {n.cp} --method hill-climb --score bic --set max_parents=2 --time-limit 1",
    "learn {t.csv} -o {n.cp} --target survived --method naive-bayes --bins 3 --missing auto",
    "learn {t.csv} -o {n.cp} --method chow-liu --use sex --drop age --categorical status",
    "learn {t.csv} -o {n.cp} --require sex->age --forbid age--sex --tier sex,age --bootstrap 0",
    "learn {t.csv} -o {n.cp} --method pc --knowledge {k.toml} --checkpoint {c.ck}",
    "learn {t.csv} -o {n.cp} --encoding utf-8 --delimiter , --decimal . --discretize quantile",
    "learn {t.csv} -o {n.lr} --user sex --item age",
    "query {m.cp} survived --given sex=female --method exact --max-memory 2GB --exact 1",
    "query {m.cp} survived age --do sex=female --strict --json",
    "query {m.cp} x --given x>0.5 --given sex=male|female",
    "uai {m.cp} PR --evidence {e.evid} --output {o.pr}",
    "predict {a.cp} {t.csv} -o {p.csv} --target survived --keep",
    "explain {a.cp} sex=female age=adult --class yes --target survived --top 3",
    "explain {a.cp} --data {t.csv} --row 2",
    "impute {m.cp} {t.csv} -o {p.csv} --draws 2 --probabilities {q.csv} --seed 1",
    "sample {m.cp} -n 3 --given sex=male --do age=adult --seed 1 -o {p.csv} --as-intervals",
    "score {m.cp} {t.csv} --metric pll --seed 1",
    "score {m.cp} {t.csv} --rows -n 2 -o {p.csv}",
    "explore {m.cp} --data {t.csv} -o {r.html} --target survived --title page --no-open",
    "effect {m.cp} sex survived --given age=adult --graph sex->survived --level 0.9 --draws 20",
    "effect {m.cp} sex survived --as-drawn --baseline sex=male --seed 1",
    "compare {t.csv} --method chow-liu --folds 2 --no-baselines --seed 1 --markdown {c.md}",
    "compare {t.csv} --target survived --method naive-bayes --holdout 0.5 --no-baselines",
    "report {m.cp} --data {t.csv} -o {r.html} --target survived --title page --folds 3",
    "convert {m.cp} {n.bif} --plain-names",
    "convert {d.cp} {n.mn} --to mn --orders all --data {t.csv}",
    "convert {m.cp} {n.svg}",
    "plan {t.csv} --target survived --method hill-climb --score bic",
    "datasets titanic -o {p.csv}",
    "rank {m.cp} --chosen a,b --top 3",
)
WORDS = (
    "", " ", "-", "--", "-1", "0", "1e400", "nan", "inf", "99999999999999999999", "1.5", "x" * 4000,
    "\x1b[2J", "é", "\ud800", "a=b", "=", "sex=", "=male", "sex=female|", "sex>", "x>nan",
    "x<1e999", "sex->age", "->", "age->age", "sex -> age; age -> sex", "[]", "{", "a,b", ",",
    "|", "/", ".",
    "/dev/null", "/dev/full", "/no/such/file.csv", "titanic", "m.cp", "t.csv", "a\tb", "\n",
    "'", '"', "None", "true", "0x10", "１", "*", "*.csv", "~", "$HOME", "http://", "s3://x/y",
    "file:///etc/passwd", "https://127.0.0.1:1/x.csv", "a\x00b", "-0", "1_000", "2**31", "1e-320",
)  # fmt: skip


@cache
def folder() -> Path:
    """A folder with the files that the commands name."""
    place = scratch() / "commands"
    place.mkdir(exist_ok=True)
    frame = cp.load_dataset("titanic").to_pandas().iloc[::20].reset_index(drop=True)
    frame["x"] = np.linspace(0, 1, len(frame)).round(2)
    frame.to_csv(place / "t.csv", index=False)
    table = cp.read(place / "t.csv")
    cp.ChowLiu().fit(table).model_.save(place / "m.cp")
    cp.NaiveBayes().fit(table, "survived").model_.save(place / "a.cp")
    cp.DependencyNetworkLearner("tree").fit(table).model_.save(place / "d.cp")
    (place / "k.toml").write_text('forbid = ["age->sex"]\n')
    (place / "e.evid").write_text("1 1 0\n")
    return place


def command(rng: np.random.Generator) -> list[str]:
    """The words of a command, one or two of them hostile."""
    words = COMMANDS[int(rng.integers(len(COMMANDS)))].split()
    words = [str(folder() / word[1:-1]) if word[0] == "{" else word for word in words]
    for _ in range(int(rng.integers(1, 3))):
        at, how = int(rng.integers(1, len(words))), int(rng.integers(6))
        hostile = WORDS[int(rng.integers(len(WORDS)))]
        if how == 0:
            del words[at]
        elif how == 1:
            words.insert(at, hostile)
        elif how == 2 and "=" in words[at]:
            words[at] = words[at].partition("=")[0] + "=" + hostile
        else:
            words[at] = hostile
        if len(words) < 2:
            break
    return words


def fault_of(words: list[str]) -> str | None:
    """What is wrong with how a command ends."""
    out, err = io.StringIO(), io.StringIO()
    argv, cwd, code = sys.argv, os.getcwd(), 0
    sys.argv = ["counterpane", *words]
    os.chdir(folder())
    try:
        with redirect_stdout(out), redirect_stderr(err):
            run_program()
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        sys.argv = argv
        os.chdir(cwd)
    said = err.getvalue()
    if code not in (0, 2) or "should not happen" in said or "Traceback" in said:
        return f"code {code}: {said[-300:]}"
    if any(mark in said + out.getvalue() for mark in ("\x1b", "\x9b")):
        return "an escape sequence came through"
    if code == 2 and not said.strip():
        return "code 2 without a word"
    sentence = said[said.find("Error:") :] if "Error:" in said else ""
    return f"{len(sentence)} characters of an error" if len(sentence) > 1200 else None


def try_once(seed: int) -> str | None:
    """What is wrong with a random command line; None if nothing is."""
    words = command(np.random.default_rng([seed, 27]))
    shown = [word if len(word) < 80 else f"{word[:20]}…" for word in words]
    fault = judge(f"command {seed}, {shown}", lambda: fault_of(words))
    for path in folder().iterdir():
        if path.name not in ("t.csv", "m.cp", "a.cp", "d.cp", "k.toml", "e.evid"):
            with suppress(OSError):
                path.unlink()
    return fault
