"""The law of the driver: a step of a search never changes the state that it is given."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

import counterpane as cp
from contract.test_learners_contract import make_frame
from counterpane.learners.checkpoint import Packing, Unpacking, split_arrays
from counterpane.learners.driver import Search
from counterpane.learners.registry import LEARNERS

SHORT = {
    "interaction": {"bootstrap": 2},
    "order-mcmc": {"n_samples": 40, "random_state": 0},
    "particle-filter": {"moves": 20},
}


def subclasses(kind: type) -> list[type]:
    return [k for sub in kind.__subclasses__() for k in (sub, *subclasses(sub))]


def unequal(one: Any, other: Any) -> list[str]:
    """The fields in which two states differ."""
    names = getattr(one, "_fields", range(len(one)))
    return [name for name, a, b in zip(names, one, other, strict=True) if not same(a, b)]


def same(a: Any, b: Any) -> bool:
    """Whether two values of states are equal, and of equal types."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or a != a)


def arrays_of(value: Any) -> list[np.ndarray]:
    """The arrays of a state, however deep."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    parts = value if isinstance(value, Collection) and not isinstance(value, str) else ()
    return [array for part in parts for array in arrays_of(part)]


def read_back(search: Search, fresh: Any, state: Any) -> Any:
    """A state as a search that is resumed gets it from its checkpoint."""
    packing = Packing()
    packed = json.loads(json.dumps(packing.pack(state)))
    shapes = [[array.dtype.str, *array.shape] for array in packing.arrays]
    arrays = list(split_arrays(shapes, packing.joined()))
    restored = Unpacking(arrays).unpack(packed, search.state_type(fresh), fresh, "")
    search.check(restored)
    return restored


def check_steps(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Every step gets a state whose arrays cannot be written, and is compared with a copy of it.

    What it returns is read back from a checkpoint without a change.

    The set fills with the names of the searches that took a step.
    """
    checked: set[str] = set()
    for kind in {k for k in subclasses(Search) if "step" in vars(k)}:
        inner = vars(kind)["step"]

        def step(self: Any, state: Any, ctl: Any, inner: Any = inner) -> Any:
            for array in arrays_of(state):
                array.flags.writeable = False
            before = copy.deepcopy(state)
            after, record = inner(self, state, ctl)
            fresh = vars(self).get("fresh", state)
            assert not unequal(after, read_back(self, fresh, after)), type(after).__name__
            assert not unequal(state, before), f"{type(self).__name__}.step changes its state"
            checked.add(type(self).__name__)
            return after, record

        monkeypatch.setattr(kind, "step", step)
    for kind in {k for k in subclasses(Search) if "start" in vars(k)}:
        first = vars(kind)["start"]

        def start(self: Any, first: Any = first) -> Any:
            self.fresh = first(self)
            return self.fresh

        monkeypatch.setattr(kind, "start", start)
    return checked


@pytest.mark.filterwarnings("ignore::counterpane.UnsettledChains")  # 20 samples
def test_no_step_changes_the_state_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(entry.learner_class for entry in LEARNERS)  # imports all searches
    checked = check_steps(monkeypatch)
    monkeypatch.setattr("counterpane.learners.bayesian.chow_liu.STEP_CELLS", 1)  # a child a step
    frame = make_frame(200)
    gaps = frame.copy()
    gaps.loc[::7, "lung"] = None
    for entry in LEARNERS:
        if entry.task != "ranker":
            learner = entry.make(**SHORT.get(entry.name, {}))
            learner.fit(frame, "mood" if entry.task == "classifier" else None)
    cp.InteractionClassifier(parts="tables", bootstrap=2).fit(frame, "mood")  # shares of samples
    for learner in (
        cp.StructureSearch(effort="thorough"), cp.HillClimb(tabu=3, restarts=2),
        cp.ChowLiu(target="mood"), cp.ChowLiu("k2"), cp.HillClimb(missing="em"),
        cp.ChowLiu(missing="em"), cp.GSMN(variant="paper"), cp.GSIMN(variant="paper"),
        cp.OrderMCMC(n_samples=20, partition=False), cp.HybridRandomFieldLearner(literal=True),
    ):  # fmt: skip
        learner.fit(gaps)
    cp.DependencyNetworkLearner().fit(cp.read_baskets([["a", "b"], ["a"], ["b", "c"]] * 20))
    monkeypatch.setattr("counterpane.learners.bayesian.wide_search.WIDE", 1)
    for learner in (cp.StructureSearch(), cp.ChowLiu()):
        learner.fit(frame)
    ours = {kind for kind in subclasses(Search) if kind.__module__.startswith("counterpane.")}
    last = {kind for kind in ours if not kind.__subclasses__()}  # others are their bases
    assert {kind.__name__ for kind in last if not kind.__abstractmethods__} <= checked
