"""The edges of a Bayesian network as they are shown: a line or an arrow, and how strong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from counterpane.graphs import Cpdag, cpdag, with_known_directions
from counterpane.independence.edge_strength import edge_strengths
from counterpane.typing import Floats

if TYPE_CHECKING:
    from counterpane.models.bayesian_network import BayesianNetwork

ROUNDING = 1e-9  # counts below it come from subtracting the prior


class EdgeStrength(NamedTuple):
    """An edge of a network. Where not `directed`, the data do not tell which end is the parent.

    `bits` is the strength in bits per row; see `counterpane.independence.edge_strength`.
    """

    parent: str
    child: str
    bits: float
    directed: bool

    def __str__(self) -> str:
        return f"{edge_text(self.parent, self.child, self.directed)}: {self.bits:.4f} bits per row"


def edge_text(parent: str, child: str, directed: bool) -> str:
    """`a → b`, or `a — b` where the direction is open.

    >>> edge_text("a", "b", False)
    'a — b'
    """
    return f"{parent} {'→' if directed else '—'} {child}"


def class_of(model: BayesianNetwork) -> Cpdag:
    """The equivalence class of a network, with the directions that a user required of it."""
    shape = cpdag(model.dag)
    known = (model.provenance or {}).get("known_directions")
    if not known:
        return shape
    pairs = [(model.schema.index(p), model.schema.index(x)) for p, x in known]
    return with_known_directions(shape, model.dag, pairs)


def arrows_of(model: BayesianNetwork) -> frozenset[tuple[int, int]]:
    """The edges that are drawn as arrows, by position.

    Those that all networks of the class share, where the network was learned from data; all of
    them where somebody wrote the network down.
    """
    learned = "learner" in (model.provenance or {})
    return frozenset((class_of(model).compelled if learned else model.dag).edges)


def arrow_names(model: Any) -> frozenset[tuple[str, str]] | None:
    """The edges of a model's graph that are drawn as arrows, by name; None for all that it has."""
    if not hasattr(model, "dag"):
        return None
    names = model.schema.names
    return frozenset((names[p], names[x]) for p, x in arrows_of(model))


def strengths_of(model: BayesianNetwork, tables: list[Floats] | None = None) -> list[EdgeStrength]:
    """All edges, strongest first: measured on the rows the network was learned from.

    `tables` are counts of other rows, of axes (parents…, child). A network that was not learned
    from rows has no counts; its list is empty without them.
    """
    tables = family_counts(model) if tables is None else tables
    if tables is None:
        return []
    bits = edge_strengths(model.dag, cpdag(model.dag), tables)
    arrows, names = arrows_of(model), model.schema.names
    ranked = sorted(bits, key=lambda edge: (-bits[edge], edge))
    return [EdgeStrength(names[p], names[x], bits[p, x], (p, x) in arrows) for p, x in ranked]


def family_counts(model: BayesianNetwork) -> list[Floats] | None:
    """The counts that the tables of a network were estimated from, if it has any."""
    if model.strengths is None:
        return None
    prior = float((model.provenance or {}).get("prior_size", 0.0))
    found = []
    for table, strength in zip(model.tables, model.strengths, strict=True):
        counts = strength[..., None] * table - prior / table.size
        found.append(np.where(counts > ROUNDING * strength.sum(), counts, 0.0))
    return found
