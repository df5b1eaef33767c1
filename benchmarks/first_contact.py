"""Answers of models learned with the command's defaults, compared with the rows themselves.

    python benchmarks/first_contact.py FOLDER … [--questions 20] [--only NAME …] [--quick]

Every CSV, TSV and TAB file of the folders is learned by `counterpane learn`, once as a network and
once with a target (the last column of 2 to 30 values with ten rows for each). Each model is asked
random questions: P(column = state) given one or two columns. The column, the columns of evidence
and the state are drawn uniformly; the evidence is what a random row has, a state or, of a column of
numbers, as often a range between random values of the column. So every question has a row, and
nothing else selects it. A question is not asked twice.

The rows are read and counted without Counterpane, which gives the names of states and cut points
only. A row counts if the column asked for is known in it. With k of n rows an answer agrees if it
is within 3 standard errors of k / n; the standard error is that of (k + 2) / (n + 4) (Agresti &
Coull 1998), which is not zero for k = 0.

Each miss has the limit that explains it:

- `interval`: the model agrees with the rows if every value of an interval is taken to be like the
  others, with the share of them that is in the range as its weight;
- `missing`: cells of the question are missing, which a network estimates, and could be such that
  the answer is right;
- `independence`: the network has no edges for what the rows show;
- `classifier`: a classifier's answer differs from the rows that match.

A miss is "with a caution" if the notes of the answer tell it: that the training rows differ beyond
sampling error, or that a range ends within an interval.

`--quick` adds `--bootstrap 0`, which leaves the model as it is and saves the shares of its edges.
A file that takes longer than SECONDS is listed with those that fail.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import math
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import counterpane as cp
from harness import RESULTS, circumstances, commit, publish

ERRORS, SUPPORT = 3, 30  # standard errors of an agreement; rows of a question that counts
ENDINGS = (".csv", ".tsv", ".tab")
MOST_CLASSES, LEAST_ROWS, LEAST_READ = 30, 10, 0.5
GAPS = {"", "na", "n/a", "nan", "null", "none", "?", "."}
SECONDS = 300  # of learning a model, and of asking it
TRIES = 20  # rows drawn for a question


class Question(NamedTuple):
    """P(column = state | evidence), and what the rows say.

    `rows` match, and `hits` of them have the state; `doubtful` rows would match if missing cells
    were filled in. `alike` is the frequency if all values of an interval were alike.
    """

    column: str
    state: Any
    evidence: dict[str, Any]
    rows: int
    hits: int
    doubtful: int
    alike: float

    @property
    def frequency(self) -> float:
        return self.hits / self.rows

    @property
    def standard_error(self) -> float:
        n = self.rows + 4
        share = (self.hits + 2) / n
        return math.sqrt(share * (1 - share) / n)

    @property
    def text(self) -> str:
        return f"P({self.column}={self.state} | {self.evidence})"

    def errors(self, p: float, frequency: float | None = None) -> float:
        """How many standard errors an answer is away from the frequency."""
        gap = p - (self.frequency if frequency is None else frequency)
        return abs(gap) / self.standard_error


class RawRows:
    """The cells of a file as texts and as numbers, by the columns of a model."""

    def __init__(self, frame: pd.DataFrame, model: Any) -> None:
        self.size = len(frame)
        self.variables, self.unread = [], []
        self.texts: dict[str, np.ndarray] = {}
        self.numbers: dict[str, np.ndarray] = {}
        for variable in model.schema:
            constant = variable.card < 2 and variable.cuts is None
            if constant or variable.dated or variable.name not in frame:
                continue
            texts = frame[variable.name].to_numpy(dtype=object)
            self.texts[variable.name] = texts
            self.numbers[variable.name] = pd.to_numeric(texts, errors="coerce").astype(float)
            cells = [text.lower() not in GAPS for text in texts]
            readable = (~self.has(variable, None)).sum() >= LEAST_READ * sum(cells)
            (self.variables if readable else self.unread).append(variable)

    def has(self, variable: Any, state: Any) -> np.ndarray:
        """Which rows have a state: an interval, a number, a text, or none of the others."""
        texts, numbers = self.texts[variable.name], self.numbers[variable.name]
        if state is None:
            others = [self.has(variable, s) for s in variable.states if s is not None]
            return ~np.any(others, axis=0)
        if variable.cuts is not None:
            code = variable.states.index(state)
            low = variable.cuts[code - 1] if code else -np.inf
            high = variable.cuts[code] if code < len(variable.cuts) else np.inf
            return (numbers >= low) & (numbers < high)
        if isinstance(state, bool):
            return np.char.lower(texts.astype(str)) == str(state).lower()
        return (numbers == state) if isinstance(state, int | float) else (texts == state)

    def known(self, variable: Any) -> np.ndarray:
        """Which rows have one of the states of a column."""
        return np.any([self.has(variable, state) for state in variable.states], axis=0)

    def evidence(
        self, variable: Any, row: int, rng: np.random.Generator
    ) -> tuple[Any, np.ndarray, np.ndarray] | None:
        """Evidence that a row satisfies, all rows that do, and their weights by intervals alone."""
        numbers = self.numbers[variable.name]
        numeric = variable.cuts is not None or all(
            isinstance(s, int | float) and not isinstance(s, bool)
            for s in variable.states
            if s is not None
        )
        if numeric and rng.random() < 0.5:
            return self.range(variable, numbers, row, rng)
        for state in variable.states:
            rows = self.has(variable, state)
            if rows[row]:
                return state, rows, rows.astype(float)
        return None

    def range(
        self, variable: Any, numbers: np.ndarray, row: int, rng: np.random.Generator
    ) -> tuple[Any, np.ndarray, np.ndarray] | None:
        """A range around a row's number, with one end or with two."""
        known = np.unique(numbers[self.known(variable) & ~np.isnan(numbers)])
        if np.isnan(numbers[row]) or len(known) < 2:
            return None
        first, second = np.sort(rng.choice(known, 2, replace=False))
        low, high = [(first, None), (None, second), (first, second)][rng.integers(3)]
        closed = [bool(end) for end in rng.integers(0, 2, 2)]
        rows = self.known(variable) & ~np.isnan(numbers)
        if low is not None:
            rows &= (numbers >= low) if closed[0] else (numbers > low)
        if high is not None:
            rows &= (numbers <= high) if closed[1] else (numbers < high)
        if not rows[row]:
            return None
        ends = [None if end is None else float(end) for end in (low, high)]
        weights = np.zeros(self.size)
        for state in variable.states:
            inside = self.has(variable, state)
            weights[inside] = rows[inside].mean() if inside.any() else 0.0
        return cp.Range(*ends, *closed), rows, weights

    def question(self, rng: np.random.Generator, target: str | None) -> Question | None:
        """A random question; None if the row drawn has no evidence on the columns drawn."""
        several = [v for v in self.variables if v.card > 1 and target in (None, v.name)]
        asked = several[rng.integers(len(several))]
        others = [v for v in self.variables if v is not asked]
        size = min(int(rng.integers(1, 3)), len(others))
        row = int(rng.integers(self.size))
        rows, evidence = self.known(asked), {}
        possible, alike = np.ones(self.size, dtype=bool), rows.astype(float)
        for place in rng.choice(len(others), size, replace=False):
            given = self.evidence(others[place], row, rng)
            if given is None:
                return None
            evidence[others[place].name] = given[0]
            rows, alike = rows & given[1], alike * given[2]
            possible &= given[1] | ~self.known(others[place])
        state = asked.states[rng.integers(asked.card)]
        if not rows.any():
            return None
        hits = self.has(asked, state)
        n, k = int(rows.sum()), int((rows & hits).sum())
        share = float(alike[hits].sum() / alike.sum())
        return Question(asked.name, state, evidence, n, k, int(possible.sum()) - n, share)

    def questions(self, rng: np.random.Generator, target: str | None, n: int) -> Iterator[Question]:
        """At most `n` different questions."""
        seen: set[str] = set()
        for _ in range(n * TRIES):
            question = self.question(rng, target)
            if question is not None and question.text not in seen:
                seen.add(question.text)
                yield question
            if len(seen) == n:
                return

    def limit(self, question: Question, p: float, target: str | None) -> str:
        """The limit that explains a miss."""
        if (
            question.errors(question.frequency, question.alike) > 0
            and question.errors(p, question.alike) <= ERRORS
        ):
            return "interval"
        if target:
            return "classifier"
        most = question.rows + question.doubtful
        low, high = question.hits / most, (question.hits + question.doubtful) / most
        nearest = min(max(p, low), high)
        possible = question.doubtful and question.errors(p, nearest) <= ERRORS
        return "missing" if possible else "independence"


def read_rows(path: Path, names: list[str] | None = None) -> pd.DataFrame:
    """The cells of a file as stripped texts; the first row has the names unless `names` differ.

    Columns without a name are called "column 1", …, by their place, and names that repeat are
    numbered, as Counterpane does.
    """
    opened: Any = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rb") as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    tabs = path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    line = text.split("\n", 1)[0]
    mark = "\t" if tabs and "\t" in line else max(",;\t|", key=line.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    rows = [row for line in lines if any(row := [cell.strip() for cell in line])]
    if not rows:
        return pd.DataFrame()
    width = len(rows[0])
    header: list[str] = []
    for place, name in enumerate(rows[0], start=1):
        name, times = name or f"column {place}", 2
        while name in header:
            name, times = f"{rows[0][place - 1]} ({times})", times + 1
        header.append(name)
    numbered = [f"column {place}" for place in range(1, width + 1)]
    if names is not None and not set(names) <= set(header) and set(names) <= set(numbered):
        header, first = numbered, 0
    else:
        first = 1
    cells = [(row + [""] * width)[:width] for row in rows[first:]]
    return pd.DataFrame(cells, columns=header, dtype=object)


def target_of(frame: pd.DataFrame) -> str | None:
    """The last column of 2 to 30 different values, with ten rows for each."""
    for name in reversed(frame.columns):
        values = frame[name][~frame[name].str.lower().isin(GAPS)].nunique()
        if 2 <= values <= MOST_CLASSES and len(frame) >= LEAST_ROWS * values:
            return str(name)
    return None


def learn(path: Path, model: Path, target: str | None, quick: bool) -> str:
    """What `counterpane learn` said, if it failed; otherwise nothing."""
    words = [sys.executable, "-m", "counterpane", "learn", str(path), "-o", str(model), "--quiet"]
    words += [*(["--target", target] if target else []), *(["--bootstrap", "0"] if quick else [])]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"not done in {SECONDS} s"
    return "" if done.returncode == 0 else done.stderr.strip()[-300:] or "no message"


def ask(path: Path, model: Any, rows: RawRows, target: str | None, options: Any) -> list[dict]:
    """A record for each question to one model."""
    rng = np.random.default_rng([options.seed, len(path.name), *path.name.encode()])
    end, records = time.monotonic() + SECONDS, []
    for question in rows.questions(rng, target, options.questions):
        if time.monotonic() > end:
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = model.query(question.column, question.evidence)
            p, cautions = float(answer[question.state]), " ".join(answer.notes)
        agrees = question.errors(p) <= ERRORS
        chosen = {question.column, *question.evidence}
        records.append({
            "file": path.name, "model": "classifier" if target else "network",
            "numbers": any(v.cuts is not None for v in rows.variables if v.name in chosen),
            "asked": question.text, "rows": question.rows, "frequency": question.frequency,
            "answer": p, "alike": question.alike, "errors": question.errors(p), "agrees": agrees,
            "limit": "" if agrees else rows.limit(question, p, target),
            "warned": "sampling error" in cautions or "ends within the interval" in cautions,
        })  # fmt: skip
    return records


def examine(path: Path, options: Any, failures: dict[str, str]) -> list[dict]:
    """The records of a file: of a network, and of a classifier if a column may be its target."""
    records: list[dict] = []
    frame: pd.DataFrame | None = None
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("network", "classifier"):
            try:
                frame = read_rows(path) if frame is None else frame
                target = target_of(frame) if kind == "classifier" else None
                if kind == "classifier" and target is None:
                    break
                saved = Path(folder) / f"{kind}.cp"
                failed = learn(path, saved, target, options.quick)
                if failed:
                    failures[f"{path.name}, {kind} {target or ''}".strip()] = failed
                    continue
                model = cp.load(saved)
                if kind == "network":
                    frame = read_rows(path, list(model.schema.names))
                rows = RawRows(frame, model)
                for variable in rows.unread:
                    failures[f"{path.name}, {variable.name}"] = "not compared: cells are not states"
                named = [v.name for v in rows.variables]
                several = [v.name for v in rows.variables if v.card > 1]
                if len(named) < 2 or not several or (target and target not in several):
                    failures[f"{path.name}, {kind}"] = f"not compared: {len(named)} usable columns"
                    break
                records += ask(path, model, rows, target, options)
            except Exception as error:  # an odd file must not end the run, and is listed
                failures[f"{path.name}, {kind}"] = f"{type(error).__name__}: {error}"
    return records


def shares(records: list[dict]) -> list[dict[str, Any]]:
    """How many answers agree, by kind of model, by numbers, and by support."""
    lines = []
    for least in (SUPPORT, 1):
        for kind in ("network", "classifier"):
            for numbers in (False, True):
                own = [r for r in records if r["model"] == kind and r["numbers"] == numbers]
                own = [r for r in own if r["rows"] >= least]
                limits = [r["limit"] for r in own if not r["agrees"]]
                lines.append({
                    "questions": f"{kind}, {'with' if numbers else 'without'} numbers, "
                                 f"{least} rows or more",
                    "asked": len(own), "agree": len(own) - len(limits),
                    "share": round(1 - len(limits) / len(own), 4) if own else "",
                    **{name: limits.count(name)
                       for name in ("interval", "missing", "independence", "classifier")},
                    "with a caution": sum(r["warned"] for r in own if not r["agrees"]),
                })  # fmt: skip
    return lines


def files_of(folders: list[Path]) -> list[Path]:
    """The text tables of the folders."""
    paths = [path for folder in folders for path in sorted(folder.iterdir())]
    known = [p for p in paths if p.name.lower().removesuffix(".gz").endswith(ENDINGS)]
    return [p for p in known if p.is_file()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--name", default="first_contact")
    options = parser.parse_args()
    commit()  # of the tree that is measured, before it may change
    records: list[dict] = []
    failures: dict[str, str] = {}
    for path in files_of(options.folders):
        if options.only and not any(word in path.name for word in options.only):
            continue
        own = examine(path, options, failures)
        strong = [r for r in own if r["rows"] >= SUPPORT]
        print(f"{path.name}: {sum(r['agrees'] for r in strong)} of {len(strong)} agree", flush=True)
        records += own
    for record in sorted(records, key=lambda r: -r["errors"]):
        if not record["agrees"] and record["rows"] >= SUPPORT:
            print(f"{record['file']}: {record['asked']} = {record['answer']:.3f}; {record['rows']} "
                  f"rows: {record['frequency']:.3f}; {record['errors']:.1f} standard errors; "
                  f"{record['limit']}")  # fmt: skip
    for name, words in failures.items():
        print(f"{name}: {words}")
    contents = {"circumstances": circumstances(), "failures": failures, "records": records}
    RESULTS.mkdir(exist_ok=True)
    lines = RESULTS / f"{options.name}_questions.json"
    lines.write_text(json.dumps(contents, indent=1, default=str))
    publish(options.name, figures(records), shares(records))


def figures(records: list[dict]) -> list[dict[str, Any]]:
    """The shares that agree of the questions that count, of all models and by kind."""
    strong = [r["agrees"] for r in records if r["rows"] >= SUPPORT]
    rows = [("all models", sum(strong) / max(len(strong), 1), len(strong))]
    rows += [(row["questions"], row["share"], row["asked"]) for row in shares(records)[:4]]
    return [
        {"what": f"{name}: agree", "value": share, "unit": "", "limit": 0.97, "sign": "≥"}
        for name, share, asked in rows
        if asked
    ]


if __name__ == "__main__":
    main()
