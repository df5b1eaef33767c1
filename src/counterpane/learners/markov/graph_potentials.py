"""Potentials for a known undirected graph, so that it becomes a model that answers questions.

A chordal graph has them in closed form: P(x) = Π P(clique) / Π P(separator), with the counts of
the maximal cliques and of the separators of their junction tree (Lauritzen 1996, section 4.4). For
any other graph they are tables over the maximal cliques that maximize the pseudo-likelihood.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpane.checks import INTEGER, NONE, NUMBER, accepts, instance_of
from counterpane.counts.source import CountSource
from counterpane.errors import FitError, ParameterError, Setting, TableSizeError
from counterpane.features import Potential
from counterpane.graphs import UndirectedGraph, junction_tree, min_fill
from counterpane.graphs.triangulate import Clique, JunctionTree
from counterpane.lazy import lazy
from counterpane.learners.markov.pseudo_likelihood import PseudoLikelihood, maximize_likelihood
from counterpane.learners.markov.weights import Part, with_weights
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.record import LearningRecord
from counterpane.progress import Control
from counterpane.typing import Floats

nx = lazy("networkx")

MAX_CELLS = 2**22  # of all cliques' tables together: 32 MB


@accepts(
    source=instance_of(CountSource),
    graph=instance_of(UndirectedGraph),
    equivalent_sample_size=NUMBER,
    prior_sd=NUMBER,
    max_cells=INTEGER,
    record=instance_of(LearningRecord) | NONE,
)
def fit_potentials(
    source: CountSource,
    graph: UndirectedGraph,
    *,
    equivalent_sample_size: float = 1.0,
    prior_sd: float = 2.0,
    max_cells: int = MAX_CELLS,
    record: LearningRecord | None = None,
    ctl: Control | None = None,
) -> MarkovNetwork:
    """The Markov network of an undirected graph, fitted to counts.

    If the graph is chordal, there is a closed form from one batch of counts: each P is the mean
    under a Dirichlet prior, spread evenly over the joint states, so cliques agree on their
    separators and Z = 1. Otherwise the potentials maximize the pseudo-likelihood, from the distinct
    rows of each variable and its neighbors. Missing cells are an error.

    Parameters
    ----------
    source : CountSource
        The data.
    graph : UndirectedGraph
        Node i is column i.
    equivalent_sample_size : float
        The weight of the Dirichlet prior.
    prior_sd : float
        Standard deviation of the Gaussian prior on every log-value of the pseudo-likelihood.
    max_cells : int
        The largest number of cells of all tables; more are a `TableSizeError`.
    record : LearningRecord, optional
        Is stored in the network.
    ctl : Control, optional
        May stop the search: the result is then the best so far, with a warning.

    Returns
    -------
    MarkovNetwork
        A network with a table for each maximal clique.

    Examples
    --------
    >>> import counterpane as cp
    >>> source = cp.MemoryCounts(cp.load_dataset("titanic"))  # status, age, sex, survived
    >>> model = fit_potentials(source, cp.UndirectedGraph(4, [(0, 3), (2, 3), (0, 2)]))
    >>> round(model.query("survived", {"sex": "female", "status": "first"})["yes"], 3)
    0.972
    """
    if graph.n != len(source.schema):
        raise FitError(
            f"the graph has {graph.n} nodes and the data {len(source.schema)} columns; node i must "
            "be column i."
        )
    if not 0 <= equivalent_sample_size < math.inf:
        raise ParameterError(
            Setting("equivalent_sample_size", equivalent_sample_size),
            " must be finite, not negative.",
        )
    triangulation = min_fill(graph)
    potentials: Sequence[Part]
    if not triangulation.fill_edges:
        _check_cells(triangulation.cliques, source, max_cells)
        tree = junction_tree(triangulation)
        potentials = _closed_form(source, tree, equivalent_sample_size, max_cells, ctl)
    else:
        maximal = nx.find_cliques(graph.to_networkx(range(graph.n)))
        cliques = sorted(_check_cells(map(tuple, map(sorted, maximal)), source, max_cells))
        potentials = _by_pseudo_likelihood(source, cliques, prior_sd, ctl)
    return MarkovNetwork(source.schema, potentials, record=record)


def _check_cells(cliques: Any, source: CountSource, max_cells: int) -> list[Clique]:
    """The cliques, checked one by one: `TableSizeError` if their tables are too large in total."""
    checked, cells = [], 0
    for clique in cliques:
        size = math.prod(source.schema.cards[list(clique)].tolist())
        cells += size
        if cells > max_cells:
            names = ", ".join(repr(source.schema.names[v]) for v in clique)
            raise TableSizeError(
                f"the clique {names} has {size:,} joint states, {cells:,} with the cliques before "
                f"it; at most {max_cells:,} are allowed: learn a sparser graph, merge states, or "
                "raise max_cells."
            )
        checked.append(clique)
    return checked


def _closed_form(
    source: CountSource, tree: JunctionTree, size: float, max_cells: int, ctl: Control | None
) -> list[Potential]:
    """ln P(clique | separator towards the root) for each clique; the root's separator is empty."""
    batch = source.counts(tree.cliques, missing="error", max_cells=max_cells, ctl=ctl)
    separators = {j: separator for _, j, separator in tree.edges}
    potentials = []
    for j, (clique, counts) in enumerate(zip(tree.cliques, batch, strict=True)):
        joint = counts + size / counts.size
        others = tuple(k for k, v in enumerate(clique) if v not in separators.get(j, ()))
        margin = joint.sum(axis=others, keepdims=True)
        log_values: Floats = np.full(joint.shape, -np.inf)
        np.log(joint / np.where(margin > 0, margin, 1.0), out=log_values, where=joint > 0)
        potentials.append(Potential(clique, log_values))
    return potentials


def _by_pseudo_likelihood(
    source: CountSource, cliques: list[Clique], prior_sd: float, ctl: Control | None
) -> list[Part]:
    shapes = [tuple(source.schema.cards[list(clique)].tolist()) for clique in cliques]
    empty = [Potential(clique, np.zeros(s)) for clique, s in zip(cliques, shapes, strict=True)]
    objective = PseudoLikelihood(source, empty, ctl=ctl)
    fitted = maximize_likelihood(objective, prior_sd=prior_sd, ctl=ctl)
    if fitted.stopped is not None:
        warnings.warn(fitted.stopped, stacklevel=3)
    return with_weights(empty, fitted.weights)
