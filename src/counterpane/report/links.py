"""What joins the columns of a model, and how strongly: edges, and hyperedges of three or more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.models.effects import Effects, measure_effects
from counterpane.models.links import (
    BITS,
    PAIR_BITS,
    Link,
    ModelLinks,
    edge_links,
    interaction_links,
    ranked_links,
    strengths_of,
)
from counterpane.report.rows import Rows, group_information

MOST_JOINED = 6  # columns of a link of which the smaller ones in it are looked for
MOST_MEASURED = 20_000  # links of an undirected model that are measured in the data
ENTRIES = 2**23  # contributions of faces that are held at a time


def links_of(
    model: Any, target: str | None, rows: Rows | None, marginals: Sequence[Any]
) -> ModelLinks:
    """The links of a model; strengths that it does not store are measured on `rows`."""
    found: ModelLinks = model.links(target=target, marginals=marginals)
    if rows is None or found.stored:
        return found
    if found.shape == "dag":
        return _counted_edges(model, rows) or found
    if found.shape == "faces":
        return interaction_links(model, _effects_on(model, rows))
    if len(found.links) > MOST_MEASURED:
        return found
    bits = group_information(rows.table, [k.scope for k in found.links])
    measured = [k._replace(strength=b) for k, b in zip(found.links, bits, strict=True)]
    return ranked_links(measured, found.shape, PAIR_BITS)


def _counted_edges(model: Any, rows: Rows) -> ModelLinks | None:
    """The edges of a network with their strengths on rows; None if it has no edges."""
    scopes = [(*model.dag.parents(x), x) for x in range(model.dag.n)]
    counted = MemoryCounts(rows.table).counts(scopes, missing="drop")
    edges = strengths_of(model, list(counted))
    return ranked_links(edge_links(model, edges), "dag", BITS) if edges else None


def _effects_on(model: Any, rows: Rows) -> Effects:
    """The effects of a classifier's interactions on some rows."""
    most = max(ENTRIES // ((1 + len(model.faces)) * model.n_classes), 1)
    some = np.linspace(0, rows.table.n_rows - 1, min(most, rows.table.n_rows))
    part = rows.take(some.astype(np.int64))
    moved = model.contributions(*model.encode(part.columns))[1:]
    even = np.full(model.n_classes, 1 / model.n_classes)
    return measure_effects(moved, np.ones(moved.shape[1]), even)


def maximal(links: Sequence[Link]) -> list[Link]:
    """The links whose columns are not all in a larger one; of two directions both are kept."""
    inside = {
        part
        for link in links
        for k in range(2, min(len(link.scope), MOST_JOINED + 1))
        for part in combinations(sorted(link.scope), k)
    }
    return [
        link for link in links if len(link.scope) > 1 and tuple(sorted(link.scope)) not in inside
    ]
