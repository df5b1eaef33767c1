"""P(class | evidence on some columns) of the interaction classifier, old way and new: JSON.

`partial_evidence.py [--sets titanic iris …] [--uci german voting …] [--output FILE]`

`cells` compares answers with the frequencies among the rows that a model was learned from: for
evidence on each column and on each pair of columns, all cells with ten rows or more. z is the
difference in standard errors, sqrt(p (1 − p) / n). Every column of an embedded set is a target,
unless the set has more than ten columns; then its class is. `halves` learns from one half, and
compares with the frequencies in the other (standard errors of both halves) and, by log-loss in
nats, with a classifier that is learned on the given columns alone. In the old way a column that is
not given added nothing to the predictors. UCI sets need COUNTERPANE_DATA.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import counterpane as cp

DATA = Path(os.environ.get("COUNTERPANE_DATA", "."))
LEAST = 10  # rows of a cell
SUBSETS = 4  # random sets of columns of each size
MOST_ROWS = 8000
SMALL = 10  # columns up to which each is a target
CLASSES = 20


def embedded(name: str) -> pd.DataFrame:
    """An embedded set as a frame of its states."""
    table = cp.load_dataset(name)
    return pd.DataFrame(
        {n: pd.Categorical(table.column(n), table.schema[n].states) for n in table.schema.names}
    )


def uci(name: str) -> pd.DataFrame:
    """A UCI set, its class last; of a long one some rows."""
    frame = pd.read_csv(DATA / "uci" / f"{name}.csv.gz", na_values=["?"])
    return frame.sample(min(len(frame), MOST_ROWS), random_state=0)


def old_way(model: Any, frame: Any) -> Any:
    """Class probabilities with nothing added for what is not given."""
    return np.exp(model.log_proba(*model.encode(frame)))


def new_way(model: Any, frame: Any) -> Any:
    """Class probabilities averaged over the kept rows."""
    return model.predict_proba(frame)


WAYS = {"old": old_way, "new": new_way}


def cells(frame: pd.DataFrame, target: str, size: int) -> Iterator[tuple[pd.DataFrame, Any]]:
    """For each set of columns its cells as rows of a frame, and the counts of classes in each."""
    features = [c for c in frame if c != target and frame[c].dtype.kind not in "fi"]
    for columns in itertools.combinations(features, size):
        counts = pd.crosstab([frame[c] for c in columns], frame[target], dropna=False)
        counts = counts[counts.sum(axis=1) >= LEAST]
        if len(counts):
            yield counts.index.to_frame(index=False).set_axis(columns, axis=1), counts


def summary(z: Sequence[float], apart: Sequence[float]) -> dict[str, float]:
    """The share of cells within two standard errors, the largest z, the mean difference."""
    return {
        "within_2_se": float(np.mean(np.array(z) <= 2)),
        "largest_z": float(np.max(z)),
        "mean_difference": float(np.mean(apart)),
    }


def compare_cells(model: Any, frame: pd.DataFrame, size: int, other: Any = None) -> dict[str, Any]:
    """How far answers are from the frequencies in `frame`; `other` is the half learned from."""
    target = model.target.name
    found: dict[str, Any] = {way: ([], []) for way in WAYS}
    learned = {} if other is None else {tuple(e): (e, c) for e, c in cells(other, target, size)}
    n_cells = 0
    for evidence, counts in cells(frame, target, size):
        known = [c for c in counts.columns if model.target.find(c) is not None]
        n = counts.sum(axis=1).to_numpy()
        share = counts[known].to_numpy() / n[:, None]
        inverse = 1 / n
        if other is not None:
            columns = tuple(evidence)
            if columns not in learned:
                continue
            sizes = learned[columns][1].sum(axis=1)
            inverse = inverse + 1 / sizes.reindex(counts.index).to_numpy()
        usable = np.isfinite(inverse)
        n_cells += int(usable.sum()) * len(known)
        places = [model.target.code(c) for c in known]
        for way, ask in WAYS.items():
            p = ask(model, evidence)[:, places]
            apart = np.abs(p - share)
            error = np.sqrt(np.maximum(p * (1 - p), 1e-9) * inverse[:, None])
            found[way][0].extend((apart / error)[usable].reshape(-1).tolist())
            found[way][1].extend(apart[usable].reshape(-1).tolist())
    if not n_cells:
        return {}
    return {"cells": n_cells} | {way: summary(*own) for way, own in found.items()}


def in_sample(name: str, frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Answers beside the frequencies among the rows learned from, for each target."""
    few = [c for c in frame if frame[c].nunique() <= CLASSES]
    targets = few if len(frame.columns) <= SMALL else few[-1:]
    records = []
    for target in targets:
        began = time.process_time()
        model = cp.InteractionClassifier().fit(frame, target).model_
        for size in (1, 2):
            found = compare_cells(model, frame, size)
            if found:
                records.append({"set": name, "target": target, "columns_given": size} | found)
        print(name, target, f"{time.process_time() - began:.1f} s", flush=True)
    return records


def log_loss(probabilities: Any, labels: Any) -> float:
    """The mean of −ln P(label), nats."""
    own = probabilities[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(own, 1e-12)).mean())


def halves(name: str, frame: pd.DataFrame) -> dict[str, Any]:
    """What holds of the half that was not learned from."""
    target, rng = str(frame.columns[-1]), np.random.default_rng(0)
    order = rng.permutation(len(frame))
    first, second = (frame.iloc[order[k::2]] for k in (0, 1))
    model = cp.InteractionClassifier().fit(first, target).model_
    second = second[[model.target.find(v) is not None for v in second[target]]]
    labels = np.array([model.target.code(v) for v in second[target]])
    features = [c for c in frame if c != target]
    record: dict[str, Any] = {"set": name, "rows": len(first), "log_loss": [], "frequencies": []}
    for size in sorted({1, 2, max(len(features) // 2, 1), len(features) - 1} - {0}):
        sums: dict[str, list[float]] = {}
        for _ in range(SUBSETS):
            columns = sorted(rng.choice(features, size, replace=False).tolist())
            direct = cp.InteractionClassifier().fit(first[[*columns, target]], target)
            answers = {w: ask(model, second[columns]) for w, ask in WAYS.items()}
            answers["learned_on_these"] = direct.predict_proba(second[columns])
            for way, p in answers.items():
                sums.setdefault(way, []).append(log_loss(p, labels))
        means = {way: float(np.mean(own)) for way, own in sums.items()}
        record["log_loss"].append({"columns_given": size} | means)
    for size in (1, 2):
        found = compare_cells(model, second, size, first)
        record["frequencies"].append({"columns_given": size} | found)
    print(name, "halves", json.dumps(record["log_loss"]), flush=True)
    return record


def main() -> None:
    """Run what is asked for, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=list(cp.dataset_names()))
    parser.add_argument("--uci", nargs="*", default=[])
    parser.add_argument("--output", type=Path, default=Path("partial_evidence.json"))
    asked = parser.parse_args()
    found: dict[str, Any] = {"cells": [], "halves": []}
    for name in [*asked.sets, *asked.uci]:
        frame = embedded(name) if name in asked.sets else uci(name)
        if name in asked.sets:
            found["cells"] += in_sample(name, frame)
        found["halves"].append(halves(name, frame))
        asked.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
