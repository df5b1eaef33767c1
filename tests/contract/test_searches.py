"""The law of the driver: a step of a search never changes the state that it is given."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import counterpane as cp
from contract.test_learners_contract import make_frame
from counterpane.learners.driver import Search
from counterpane.learners.registry import LEARNERS

SHORT = {
    "interaction": {"bootstrap": 2},
    "order-mcmc": {"n_samples": 40, "random_state": 0},
    "pfmn": {"moves": 20},
}


def subclasses(kind: type) -> list[type]:
    return [k for sub in kind.__subclasses__() for k in (sub, *subclasses(sub))]


def unequal(one: Any, other: Any) -> list[str]:
    """The fields in which two states differ."""
    pairs = zip(one._asdict().items(), other, strict=True)
    return [name for (name, a), b in pairs if not np.array_equal(a, b, equal_nan=is_float(a))]


def is_float(value: Any) -> bool:
    return np.asarray(value).dtype.kind == "f"


def check_steps(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Every step gets a state whose arrays cannot be written, and is compared with a copy of it.

    The set fills with the names of the searches that took a step.
    """
    checked: set[str] = set()
    for kind in {k for k in subclasses(Search) if "step" in vars(k)}:
        inner = vars(kind)["step"]

        def step(self: Any, state: Any, ctl: Any, inner: Any = inner) -> Any:
            for value in state:
                if isinstance(value, np.ndarray):
                    value.flags.writeable = False
            before = copy.deepcopy(state)
            after, record = inner(self, state, ctl)
            assert not unequal(state, before), f"{type(self).__name__}.step changes its state"
            checked.add(type(self).__name__)
            return after, record

        monkeypatch.setattr(kind, "step", step)
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
    cp.InteractionClassifier(boosted=False, bootstrap=2).fit(frame, "mood")  # shares of samples
    for learner in (
        cp.StructureSearch(effort="thorough"), cp.HillClimb(tabu=3, restarts=2),
        cp.ChowLiu(target="mood"), cp.ChowLiu("k2"), cp.HillClimb(missing="em"),
        cp.ChowLiu(missing="em"), cp.GSMN(variant="paper"), cp.GSIMN(variant="paper"),
        cp.PFMN(variant="paper", moves=20, random_state=0),
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
