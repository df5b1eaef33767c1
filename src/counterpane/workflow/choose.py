"""The learning methods of the command line by name, and the default method of a task."""

from __future__ import annotations

from typing import Any

from counterpane.errors import Option, ParameterError, unknown_name
from counterpane.learners.registry import find_learner, learners

METHODS = learners("network")
"""Learners of Bayesian networks by a score."""
POSTERIORS = learners("posterior")
"""Learners of the probabilities of edges, by a score."""
FIELDS = learners("field")
"""Learners of other models of all columns."""
CLASSIFIERS = learners("classifier")
"""Learners of P(target | other columns)."""
MANY_STATES = ("interaction", "boosted-tables")
"""Classifiers that penalize effects, so that columns of many states are kept."""
COUNTED = learners("ranker")
"""Rankers of links that count pairs of items; only for lists of links."""
RANKER = "ranker"
"""The method for links that "auto" chooses, the best of several rankers, or a counted one."""
ALL_METHODS = ("auto", *CLASSIFIERS, *METHODS, *POSTERIORS, *FIELDS)
CRITERION = "bic"  # of networks, unless the method has a score of its own
NARROW = 100  # columns: up to here a search takes under a second, and is repeated on samples


def choose_method(
    method: str, *, target: str | None, links: bool, n_columns: int
) -> tuple[str, str]:
    """The method for a task, and the reason in words; none if the method was named."""
    if method != "auto":
        return method, ""
    if links:
        return RANKER, "DATA is a list of links, so a ranker is chosen by links left out"
    if target is not None:
        return "interaction", f"{target!r} is to be predicted, so a classifier is learned"
    if n_columns <= NARROW:
        few = "1 column is" if n_columns == 1 else f"{n_columns} columns are"
        return "structure-search", f"{few} few, so networks are searched"
    return "dn-tree", f"{n_columns:,} columns are many, so a dependency network is learned"


def check_method(method: str, target: str | None, *, auto: bool, links: bool = False) -> None:
    """Refuse an unknown method, "auto" unless allowed, and a classifier without a class."""
    if links:
        for_links = ("auto", *COUNTED, *METHODS, *POSTERIORS, *FIELDS)
        if method not in for_links:
            raise unknown_name("method for links", method, for_links)
        return
    if method not in ALL_METHODS or (method == "auto" and not auto):
        raise unknown_name("method", method, ALL_METHODS[0 if auto else 1 :])
    if method in CLASSIFIERS and target is None:
        raise ParameterError(
            Option("method", method), " needs ", Option("target"), ", the column of classes."
        )


def check_bins(bins: int | None, method: str, discretize: str) -> None:
    """Refuse a number of intervals that a method would ignore."""
    if bins is None:
        return
    if discretize == "none":
        raise ParameterError(
            Option("bins"), " and ", Option("discretize", "none"),
            " exclude each other; leave one out.",
        )  # fmt: skip
    if method == "interaction" and discretize in ("auto", "mdl"):
        raise ParameterError(
            Option("method", method),
            " chooses the intervals itself; add ",
            Option("discretize", "quantile"),
            " to use ",
            Option("bins", bins),
            ", or leave ",
            Option("bins"),
            " out.",
        )
    if method not in CLASSIFIERS and discretize == "mdl":
        raise ParameterError(
            Option("bins"),
            " limits mdl for classifiers only, and ",
            Option("method", method),
            " is none; use ",
            Option("discretize", "quantile"),
            ".",
        )


def make_learner(method: str, criterion: str | None, options: dict[str, Any]) -> Any:
    """The learner of a method; `criterion` is for those that weigh networks by one."""
    entry = find_learner(method)
    if method in METHODS or method in POSTERIORS:
        options = {"criterion": criterion or entry.defaults.get("criterion", CRITERION)} | options
    return entry.make(**options)
