"""What a page needs to infer by itself: clique trees, tables, rows or conditionals as arrays."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpane.additive.classifier import AdditiveClassifier
from counterpane.errors import CounterpaneError, TableSizeError
from counterpane.features import Potential
from counterpane.inference import JunctionMarginals
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.dependency_network import DependencyNetwork, to_part_arrays
from counterpane.models.mixture import Mixture
from counterpane.ragged import flatten, offsets_of
from counterpane.report.class_engines import (
    additive_engine,
    average_engine,
    class_numbers,
    row_shares,
)
from counterpane.report.packing import Spec, packed
from counterpane.report.rows import shares_of
from counterpane.typing import Floats


@dataclass(frozen=True)
class EngineLimits:
    """What a page may hold, and how many rows stand for marginals that are not exact."""

    tree_cells: int = 2**22  # of all cliques, and of all models of a mixture together
    class_numbers: int = 2**20  # of the tables and trees of a classifier
    planned: int = 2_000  # columns of a network whose clique tree is looked for
    drawn: int = 20_000  # rows that stand for marginals beyond the reach of exact answers
    drawn_cells: int = 2**27  # of these rows: fewer are drawn of many columns


LIMITS = EngineLimits()


def engine_of(model: Any, limits: EngineLimits = LIMITS) -> Spec:
    """The engine of a model: what kind of inference the page does, and its arrays.

    A model that is too large for a page gets `still`: its marginals, and a sentence that says why.

    >>> import counterpane as cp
    >>> engine_of(cp.ChowLiu().fit(cp.load_dataset("titanic")).model_)["kind"]
    'tree'
    """
    try:
        return _engine(model, limits)
    except TableSizeError:
        return _still(model, limits)


def _engine(model: Any, limits: EngineLimits) -> Spec:
    if isinstance(model, AdditiveClassifier):
        small = model.rows is not None and class_numbers(model) <= limits.class_numbers
        return additive_engine(model) if small else _still(model, limits)
    if isinstance(model, DependencyNetwork):
        arrays = {
            name: packed(_narrow(array))
            for name, array in to_part_arrays(model.conditionals).items()
        }
        return {"kind": "gibbs", "cards": packed(model.schema.cards), "arrays": arrays}
    if not isinstance(model, Mixture):
        return _tree(model, limits.tree_cells, limits)
    if model.rows is not None:
        return average_engine(model)
    if any(isinstance(part, DependencyNetwork) for part in model.models):
        return _still(model, limits)
    parts: list[Spec] = []
    left = limits.tree_cells
    for part in model.models:
        parts.append(_tree(part, left, limits))
        left -= parts[-1]["cells"]
    weights, fixed = packed(model.weights), int(model.fixed)
    return {"kind": "mixture", "parts": parts, "weights": weights, "fixed": fixed}


def _narrow(array: Any) -> Any:
    return array.astype(np.int32) if array.dtype == np.int64 else array


def _tree(model: Any, most: int, limits: EngineLimits) -> Spec:
    """The tables of a network and a clique tree for them."""
    schema, directed = model.schema, isinstance(model, BayesianNetwork)
    if len(schema) > limits.planned:
        raise TableSizeError(f"{len(schema):,} columns are more than {limits.planned:,}.")
    factors: Sequence[Potential] = model.to_potentials()
    scopes = [p.scope for p in factors]
    tree = JunctionMarginals(factors, schema.cards).tree
    cells = most + 1 if tree is None else tree.cells(schema.cards)
    if tree is None or cells > most:
        raise TableSizeError(f"{cells:,} cells or more are needed, and {most:,} are allowed.")
    fixed = np.flatnonzero(schema.cards == 1).tolist()  # they are in no clique of the tree
    cliques = [(*fixed, *tree.cliques[0]), *tree.cliques[1:]]
    values: Iterable[Floats] = model.tables if directed else (p.log_values for p in factors)
    spec = {
        "kind": "tree",
        "cards": packed(schema.cards),
        "scopes": packed(flatten(scopes)),
        "scopeFrom": packed(offsets_of(map(len, scopes))),
        "owners": packed(np.array(tree.owners[: len(scopes)])),
        "values": packed(flatten((v.reshape(-1) for v in values), np.float64)),
        "cliques": packed(flatten(cliques)),
        "cliqueFrom": packed(offsets_of(map(len, cliques))),
        "parents": packed(np.array(tree.parents)),
        "normalized": int(directed),
        "logs": int(not directed),
        "cells": cells,
    }
    if directed:
        spec["children"] = packed(np.array([scope[-1] for scope in scopes]))
    return spec


def _still(model: Any, limits: EngineLimits) -> Spec:
    """Marginals, without evidence, of a model whose inference does not fit a page."""
    schema = model.schema
    marginals: list[Floats | None] = [None] * len(schema)
    if isinstance(model, AdditiveClassifier) and model.rows is not None:
        reason = (
            f"Clicks do not set evidence here: the tables and trees of this classifier have "
            f"{class_numbers(model):,} numbers, and a page may hold {limits.class_numbers:,}. The "
            "bars are shares of training rows. The command that answers is: "
            "counterpane query MODEL COLUMN --given COLUMN=STATE"
        )
        marginals = [*row_shares(model.rows, schema.cards[:-1].tolist()), None]
    elif isinstance(model, AdditiveClassifier):
        reason = (
            "This classifier keeps no training rows, so that it cannot average over columns that "
            "are not given. Learn it again with its rows (keep_rows=True), or predict complete "
            "rows with counterpane predict."
        )
    elif len(schema) > limits.planned:
        reason = (
            f"Clicks do not set evidence on a page of more than {limits.planned:,} columns. The "
            "command that answers is: counterpane query MODEL COLUMN --given COLUMN=STATE"
        )
        marginals = _drawn_marginals(model, limits)
    else:
        reason = (
            f"Clicks do not set evidence here: exact answers of this model need more than the "
            f"{limits.tree_cells:,} table cells that a page may hold. The bars are shares of "
            f"{limits.drawn:,} rows drawn from the model. The command that answers is: "
            "counterpane query MODEL COLUMN --given COLUMN=STATE"
        )
        marginals = _drawn_marginals(model, limits)
    return {
        "kind": "still",
        "cards": packed(schema.cards),
        "reason": reason,
        "marginals": [None if p is None else packed(p) for p in marginals],
    }


def _drawn_marginals(model: Any, limits: EngineLimits) -> list[Floats | None]:
    """The shares of states in rows drawn from a network, or None where none can be drawn."""
    rows = min(limits.drawn, max(1, limits.drawn_cells // len(model.schema)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [*shares_of(model.sample(rows, random_state=0, as_intervals=True))]
        except CounterpaneError:
            return [None] * len(model.schema)
