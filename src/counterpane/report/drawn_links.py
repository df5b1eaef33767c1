"""Which columns and links of a model a report draws, the strongest first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from counterpane.lazy import lazy
from counterpane.models.edges import mark_of
from counterpane.tools.links import Link, ModelLinks

nx = lazy("networkx")

MOST_COLUMNS = 60  # that are drawn
FEW_COLUMNS = 20  # up to which all are drawn at once, and of those around a column
MOST_LONELY = 12  # columns without a link that are drawn
MOST_INTERACTIONS = 12  # of a classifier
WHOLE_DAG = 3  # edges per column up to which all edges of a network are drawn
FEW_LINKS, LINKS_PER_COLUMN = 30, 1.5  # drawn at most
MOST_JOINED = 6  # columns of a link up to which the links within it are looked for


def maximal_links(links: Sequence[Link]) -> list[Link]:
    """The links whose columns are not all in a larger link; both directions of an edge stay."""
    inside = {
        part
        for link in links
        for k in range(2, min(len(link.scope), MOST_JOINED + 1))
        for part in combinations(sorted(link.scope), k)
    }
    return [link for link in links if tuple(sorted(link.scope)) not in inside]


def columns_around(joined: Sequence[Link], target: int | None) -> tuple[int, set[int]]:
    """(a column, those nearest to it): the class if it has links, else the strongest column."""
    weights: dict[int, float] = {}
    for link in joined:
        for c in link.scope:
            weights[c] = weights.get(c, 0.0) + link.strength
    center = target if target in weights else max(weights, key=lambda c: (weights[c], -c))
    assert center is not None
    near = edge = {center}
    while edge and len(near) < FEW_COLUMNS:
        touching = [k for k in joined if edge & set(k.scope)]
        found = [c for k in sorted(touching, key=lambda k: -k.strength) for c in k.scope]
        edge = set([c for c in dict.fromkeys(found) if c not in near][: FEW_COLUMNS - len(near)])
        near = near | edge
    return center, near


def drawn_links(joined: Sequence[Link], shape: str, columns: int) -> list[Link]:
    """The links that stay legible, the strongest first.

    Those of a graph hold a maximum spanning forest: columns that are connected in the model stay
    connected in the drawing.
    """
    ranked = sorted(joined, key=lambda k: (-(k.share or 0.0), -k.strength, k.scope))
    if shape == "faces":
        return sorted(joined, key=lambda k: -k.strength)[:MOST_INTERACTIONS]
    if shape == "dag" and len(joined) <= WHOLE_DAG * columns:
        return ranked
    parts = nx.utils.UnionFind()
    forest = set()
    for link in ranked:
        if len({parts[c] for c in link.scope}) > 1:
            forest.add(link)
            parts.union(*link.scope)
    most = max(FEW_LINKS, round(LINKS_PER_COLUMN * len({c for k in joined for c in k.scope})))
    rest = [link for link in ranked if link not in forest][: max(0, most - len(forest))]
    return [link for link in ranked if link in forest or link in rest]


def shown_columns(
    columns: int, links: ModelLinks, drawn: Sequence[Link], target: int | None
) -> set[int]:
    """The class, the columns of the strongest links, and some without links."""
    shown = set() if target is None else {target}
    for link in drawn:
        if len(shown | set(link.scope)) <= MOST_COLUMNS:
            shown |= set(link.scope)
    if len(shown) < MOST_COLUMNS:
        effects = {k.scope[0]: k.strength for k in links.links if len(k.scope) == 1}
        joined = {c for k in links.links if len(k.scope) > 1 for c in k.scope}
        alone = [c for c in range(columns) if c not in shown and (c in effects or c not in joined)]
        room = min(MOST_LONELY // 2, max(0, FEW_COLUMNS - len(shown))) if effects else MOST_LONELY
        shown.update(sorted(alone, key=lambda c: -effects.get(c, 0.0))[:room])
    return shown


def link_record(link: Link, shape: str) -> dict[str, Any]:
    """Return an edge with the keys of `Edge`, its columns by position; or an interaction.

    An interaction has `columns` and `share` instead of `source`, `target`, `mark` and
    `share_of_mark`.
    """
    strength = float(f"{link.strength:.6g}")
    share = None if link.share is None else round(link.share, 4)
    if shape == "faces" or len(link.scope) != 2:
        return {"columns": list(link.scope), "strength": strength, "share": share}
    source, target = link.scope
    return {
        "source": source,
        "target": target,
        "mark": mark_of(link.directed),
        "strength": strength,
        "share_of_mark": share,
    }
