"""Forged checkpoints with a right checksum: they are refused, or a fit goes on from them."""

from __future__ import annotations

import json
import os
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import counterpane as cp
from counterpane.formats.native import Content, read_native, write_native
from counterpane.learners.driver import Driver, Search
from counterpane.learners.registry import find_learner
from counterpane.progress import Control
from faults.outcomes import judge

LEARNERS: dict[str, dict[str, Any]] = {
    "dn-tree": {}, "dn-logistic": {}, "dn-boosted": {}, "hybrid": {}, "pairwise": {},
    "markov-network": {}, "pfmn": {}, "particle-filter": {"moves": 20}, "gsimn": {}, "gsmn": {},
    "pc": {}, "fci": {}, "structure-search": {"effort": "thorough"}, "k2": {},
    "hill-climb": {"restarts": 5},
}  # fmt: skip
"""Those whose searches check of a state what its types and shapes do not say."""
INTEGERS = (-(2**62), -2, -1, 0, 1, 2, 3, 5, 63, 64, 1000, 2**31, 2**62)
FLOATS = (np.nan, np.inf, -np.inf, 1e300, -1.0, 0.0)
PLAIN = (-5, -1, 0, 1, 2, 7, 1000, 2**40, 1.5, float("nan"), "x", "end", None, True, [], {})
STEPS = 3


@cache
def rows() -> cp.Table:
    """Columns of two to four states, each like the one before it in half of the rows."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (7, 300)) % np.arange(2, 9)[:, None].clip(2, 4)
    for i in range(1, 7):
        codes[i] = np.where(rng.random(300) < 0.5, codes[i - 1] % (codes[i].max() + 1), codes[i])
    return cp.Table(cp.Schema.from_cards((codes.max(axis=1) + 1).tolist()), codes)


class _Stopping(Search[Any]):
    """A search that is interrupted after some steps."""

    def __init__(self, search: Search[Any], steps: int) -> None:
        self.search, self.left = search, steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self.search, name)

    def start(self) -> Any:
        return self.search.start()

    def done(self, state: Any) -> bool:
        return self.search.done(state)

    def step(self, state: Any, ctl: Control) -> Any:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return self.search.step(state, ctl)


@cache
def saved(name: str, steps: int) -> Content | None:
    """The checkpoint of a learner after some steps; None if it was done before."""
    inner: Callable[..., Any] = Driver.run

    def run(self: Driver, search: Search[Any], what: str) -> Any:
        return inner(self, _Stopping(search, steps), what)

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "fit.cp"
        with mock.patch.object(Driver, "run", run):
            find_learner(name).make(**LEARNERS[name], checkpoint=path).fit(rows())
        return read_native(path) if path.exists() else None


def forged(rng: random.Random, content: Content) -> Content:
    """The checkpoint with one to three other numbers or values."""
    note = json.loads(json.dumps(content.note))
    arrays = {name: array.copy() for name, array in content.arrays.items()}
    for _ in range(rng.choice((1, 1, 2, 3))):
        name = rng.choice(("ints", "ints", "floats", "state"))
        if name == "state":
            *way, last = rng.choice(list(_leaves(note["state"], ("state",))))
            value = note
            for key in way:
                value = value[key]
            value[last] = rng.choice(PLAIN)
        elif len(arrays[name]):
            values = INTEGERS if name == "ints" else FLOATS
            arrays[name][rng.randrange(len(arrays[name]))] = rng.choice(values)
    return content._replace(note=note, arrays=arrays)


def _leaves(value: Any, way: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The ways to the plain values in nested lists and dictionaries."""
    if not isinstance(value, dict | list) or not value:
        yield way
        return
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(part, (*way, key))


def try_once(seed: int) -> str | None:
    """What is wrong with a fit that finds a forged checkpoint."""
    rng = random.Random(seed)
    name = rng.choice(list(LEARNERS))
    content = saved(name, rng.randint(1, STEPS))
    if content is None:
        return None
    label = f"seed {seed}, {name}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.cp"
        write_native(path, forged(rng, content))
        told, tell = os.pipe()
        child = os.fork()
        if child == 0:
            learner = find_learner(name).make(**LEARNERS[name], checkpoint=path)
            fault = judge(label, lambda: learner.fit(rows()) and None)
            os.write(tell, (fault or "").encode()[:4000])
            os._exit(0)
        os.close(tell)
        with os.fdopen(told) as pipe:
            fault = pipe.read()
        _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"{label}: killed by signal {os.WTERMSIG(status)}"
    return fault or None
