"""The index of all public names, grouped as they live; a name without a group stops the build."""

from __future__ import annotations

from pathlib import Path

import counterpane as cp

GROUPS = {  # the longest home that a name's own begins with decides
    "counterpane.data": "Tables",
    "counterpane.counts": "Sources of counts",
    "counterpane.graphs": "Graphs",
    "counterpane.scores": "Scores",
    "counterpane.independence": "Independence tests",
    "counterpane.models": "Models",
    "counterpane.storage": "Models",
    "counterpane.tools": "Models",
    "counterpane.inference": "How to answer",
    "counterpane.causes": "Causes and effects",
    "counterpane.learners": "Learners: what they share",
    "counterpane.learners.bayesian": "Learners of Bayesian networks",
    "counterpane.learners.classifiers": "Classifiers",
    "counterpane.learners.independence": "Learners that test independence",
    "counterpane.learners.dependency": "Dependency and Markov networks",
    "counterpane.learners.markov": "Dependency and Markov networks",
    "counterpane.learners.hybrid": "Hybrid random fields and rankings",
    "counterpane.learners.ranking": "Hybrid random fields and rankings",
    "counterpane.evaluate": "Evaluation",
    "counterpane.workflow": "Learning from end to end",
    "counterpane.report": "Reports",
    "counterpane.errors": "Errors and warnings",
}
WARNINGS = ("StoppedEarly", "CheckpointWarning", "InexactAnswer", "UnsettledChains")
MODULES = ("evaluate", "plots")


def group_of(name: str, home: str) -> str:
    """The title under which a name is listed."""
    if name in WARNINGS:
        return GROUPS["counterpane.errors"]
    fitting = [g for g in GROUPS if home == g or home.startswith(f"{g}.")]
    if not fitting:
        raise LookupError(f"docs/names.py has no group for {home}, the home of {name}.")
    return GROUPS[max(fitting, key=len)]


def listed() -> dict[str, list[str]]:
    """The full names under each title: all of `counterpane`, `evaluate` and `plots`."""
    found: dict[str, list[str]] = {title: [] for title in GROUPS.values()}
    for name, home in cp._HOME_OF.items():
        found[group_of(name, home)].append(f"counterpane.{name}")
    for module in MODULES:
        title = f"counterpane.{module}"
        known = cp.__all__ if module == "evaluate" else ()
        everything = [n for n in getattr(cp, module).__all__ if n not in known]
        found[title] = [f"{title}.{name}" for name in everything]
    return {title: sorted(names, key=str.lower) for title, names in found.items() if names}


def write(path: Path) -> None:
    """Write the index page; Sphinx makes a page for each name in it."""
    parts = ["Reference", "=" * 9, "", *INTRODUCTION.splitlines(), ""]
    for title, names in listed().items():
        parts += [title, "-" * len(title), "", ".. autosummary::", "   :toctree:"]
        parts += ["   :nosignatures:", "", *(f"   {name}" for name in names), ""]
    text = "\n".join(parts)
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


INTRODUCTION = """\
Every public name, by what it is for; ``import counterpane as cp`` gives them all, each loaded on
first use. What the learners share is told once, in :doc:`/learners`.
"""
