"""The link data of Freno, Trentin & Gori (2009): shapes, and the figures of naive Bayes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.evaluate import degree_of_agreement, mean_reciprocal_rank

FOLDS = 5


def references(shared_data, name):
    """(papers × items): papers of three different references or more, items by id."""
    frame = pd.read_csv(shared_data / "links" / f"{name}.csv.gz", dtype=str).drop_duplicates()
    counts = frame.groupby("citing").cited.nunique()
    frame = frame[frame.citing.isin(counts.index[counts >= 3])]
    table = cp.read_links(frame, user="citing", item="cited").table
    numeric = all(name.isdigit() for name in table.schema.names)
    key = [int(n) if numeric else n for n in table.schema.names]
    order = sorted(range(len(key)), key=lambda j: key[j])
    return np.ascontiguousarray(table.codes[order].T)


@pytest.mark.parametrize(
    ("name", "shape", "printed"),
    [("citeseer", (547, 1067), 0.0537), ("cora", (956, 1229), 0.1519)],
)
def test_references(shared_data, name, shape, printed):
    """The paper's naive Bayes tells that the first reference by id was the one removed."""
    links = references(shared_data, name)
    assert links.shape == shape
    folds = np.random.default_rng(0).permutation(len(links)) % FOLDS
    found = []
    for fold in range(FOLDS):
        test = links[folds == fold].copy()
        first = test.argmax(axis=1)
        test[np.arange(len(test)), first] = 0
        ranker = cp.LinkRanker("naive-bayes").fit(links[folds != fold])
        found.append(mean_reciprocal_rank(ranker.scores(test), first, test))
    assert np.mean(found) == pytest.approx(printed, abs=0.015)


def test_films(shared_data):
    frame = pd.read_csv(shared_data / "links" / "movielens100k.csv.gz")
    found = []
    for fold in range(1, FOLDS + 1):
        flags = np.zeros((2, 943, 1682), dtype=np.uint8)
        flags[(frame.fold == fold).astype(int), frame.user - 1, frame.item - 1] = 1
        scores = cp.LinkRanker("naive-bayes").fit(flags[0]).scores(flags[0])
        found.append(degree_of_agreement(scores, flags[0], flags[1]))
    assert np.mean(found, axis=0) == pytest.approx([0.8878, 0.8666], abs=5e-4)
