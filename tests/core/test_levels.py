"""Every instruction level gives the same results to the last bit."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from counterpane import _core

LEVELS = _core.levels.split(", ")
WORK = """
import hashlib, sys, warnings
import numpy as np
import counterpane as cp
from counterpane import _core
warnings.simplefilter("ignore")
digest = hashlib.sha256()
def add(*arrays):
    for a in arrays:
        digest.update(np.ascontiguousarray(a).tobytes())
rng = np.random.default_rng(0)
cards = [2, 3, 4, 5, 2, 2, 7, 300]
codes = np.array([rng.integers(0, r, 5000) for r in cards], np.uint16)
codes[4] = (codes[0] ^ (rng.random(5000) < 0.1)) & 1
codes[5] = (codes[4] + (codes[1] > 1) + (rng.random(5000) < 0.2)) & 1
table = cp.Table(cp.Schema.from_cards(cards), codes)
small = table.select(range(7))
for source in (cp.MemoryCounts(table), cp.MemoryCounts(small)):
    for _ in range(3):
        add(*source.counts([[0], [0, 1], [1, 2, 3], [0, 4, 5, 2]]))
    add(source.pair_counts().counts)
network = cp.StructureSearch(random_state=0).fit(small).model_
add(*network.tables)
add(network.score_samples(small), network.sample(500, random_state=1).codes)
binary = small.select([0, 4, 5])
for local in ("tree", "logistic"):
    learned = cp.DependencyNetworkLearner(local).fit(binary).model_
    add(learned.full_conditionals(binary)[0])
weighted = cp.fit_weights(cp.to_markov_network(learned, data=binary), binary, max_steps=10)
add(weighted.score_samples(binary))
frame = {f"x{i}": codes[i] for i in range(5)} | {"z": rng.normal(size=5000)}
classifier = cp.InteractionClassifier(random_state=0).fit(frame, codes[5])
add(classifier.predict_proba(frame))
print(_core.level, digest.hexdigest())
"""


def run(level: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", WORK], capture_output=True, text=True, check=False,
        env={**os.environ, "COUNTERPANE_LEVEL": level},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(len(LEVELS) < 2, reason="this processor has one level")
def test_results_are_equal_at_every_level() -> None:
    results = [run(level) for level in LEVELS]
    assert [level for level, _ in results] == LEVELS
    assert len({digest for _, digest in results}) == 1


def test_a_level_that_is_not_there_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import counterpane._core"], capture_output=True, text=True,
        check=False, env={**os.environ, "COUNTERPANE_LEVEL": "v9"},
    )  # fmt: skip
    assert done.returncode == 1
    assert "COUNTERPANE_LEVEL='v9' is not a level of this processor" in done.stderr
