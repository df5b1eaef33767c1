"""An edge as a result: the two columns, the mark between them, its strength and its shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, SupportsIndex, overload

from counterpane.present.table import Heading, Printed, TextTable, right

ARROW, LINE = "→", "—"
"""The marks of an edge with a direction, and of one whose direction cannot be determined."""
ARROW_SHARE = 0.75  # of the models or samples with an edge: so many agree on an arrow's direction
LEAST_SAMPLES = 20  # shares of fewer bootstrap samples are not shown
ROUNDING = 1e-9  # of shares that are sums of whole samples


@dataclass(frozen=True)
class Edge:
    """An edge between two columns: the only form in which results have edges.

    Parameters
    ----------
    source, target : str
        The columns; if the mark is an arrow, it points from `source` to `target`.
    mark : str
        "→" for a direction, "—" for a direction that cannot be determined from the data; `FCI` also
        has "o→", "o–o" and "↔".
    strength : float or None
        The strength, in the `unit`.
    unit : str
        The unit of the strength, such as "bits per row".
    share : float or None
        The share of the samples, or the posterior probability of the models, with an edge between
        the columns, whatever its direction.
    share_of_mark : float or None
        The share with the edge as it is drawn: with this direction if the mark is an arrow.
    samples : int or None
        The number of samples that the shares are of.

    Examples
    --------
    >>> print(Edge("smoking", "cancer", "→", 0.12345, "bits per row"))
    smoking → cancer: 0.1235 bits per row
    """

    source: str
    target: str
    mark: str = LINE
    strength: float | None = None
    unit: str = ""
    share: float | None = None
    share_of_mark: float | None = None
    samples: int | None = None

    @property
    def ends(self) -> tuple[str, str]:
        """The two columns."""
        return self.source, self.target

    @property
    def directed(self) -> bool:
        """Whether the mark is an arrow."""
        return self.mark == ARROW

    @property
    def text(self) -> str:
        """The columns with the mark between them."""
        return f"{self.source} {self.mark} {self.target}"

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        known = self.strength is not None
        return f"{self.text}: {self.strength:.4f} {self.unit}" if known else self.text


KEYS = tuple(field.name for field in fields(Edge))
"""The keys of an edge in JSON."""


class Edges(Printed, tuple[Edge, ...]):
    """Edges, the most important first; they print as a table.

    >>> print(Edges([Edge("a", "b", "→", 0.25, "bits per row"), Edge("b", "c")]))
    edge   bits per row
    a → b        0.2500
    b — c
    """

    @overload
    def __getitem__(self, key: SupportsIndex) -> Edge: ...
    @overload
    def __getitem__(self, key: slice) -> Edges: ...
    def __getitem__(self, key: SupportsIndex | slice) -> Edge | Edges:
        return (
            Edges(super().__getitem__(key)) if isinstance(key, slice) else super().__getitem__(key)
        )

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one record per edge, for JSON."""
        return [edge.to_dict() for edge in self]

    def table(self) -> TextTable:
        """Return a table of the first edges, with the columns that are known."""
        samples = {edge.samples for edge in self if edge.samples is not None}
        of = f"share of {samples.pop():,} samples" if len(samples) == 1 else "share"
        unit = next((edge.unit for edge in self if edge.unit), "strength")
        columns: list[tuple[str, str | Heading, Any]] = [
            ("strength", right(unit), "{:.4f}".format),
            ("share", right(of), "{:.2f}".format),
            ("share_of_mark", right("with this mark"), "{:.2f}".format),
        ]
        shown = [c for c in columns if any(getattr(edge, c[0]) is not None for edge in self)]

        def cells(edge: Edge) -> list[str]:
            values = [(getattr(edge, name), write) for name, _, write in shown]
            return [edge.text, *("" if v is None else write(v) for v, write in values)]

        if not self:
            return TextTable((), (), notes=("no edges",))
        heads = [Heading("edge", style="bold"), *(heading for _, heading, _ in shown)]
        return TextTable.of(heads, map(cells, self))

    @cached_property
    def _by_ends(self) -> dict[frozenset[str], Edge]:
        return {frozenset(edge.ends): edge for edge in self}

    def between(self, a: str, b: str) -> Edge | None:
        """Return the edge of two columns, in whatever direction; None if there is none."""
        return self._by_ends.get(frozenset((a, b)))

    def supports(self, source: str, target: str) -> bool:
        """Whether the shares support an arrow; see `arrow_is_supported`."""
        edge = self.between(source, target)
        return edge is not None and edge.directed and edge.source == source

    def share_as_drawn(self, source: str, target: str, *, directed: bool) -> float:
        """Return the share that has an edge, with this direction if it is `directed`."""
        edge = self.between(source, target)
        if edge is None or (directed and not self.supports(source, target)):
            return 0.0
        return (edge.share_of_mark if directed else edge.share) or 0.0


def mark_of(directed: bool) -> str:
    """Return the mark of an edge with a direction, or without."""
    return ARROW if directed else LINE


def edge_text(source: str, target: str, directed: bool) -> str:
    """Return two columns with the mark between them.

    >>> edge_text("a", "b", False)
    'a — b'
    """
    return Edge(source, target, mark_of(directed)).text


def arrow_is_supported(arrow: float, joined: float) -> bool:
    """Whether an edge is drawn as an arrow: `arrow` and `joined` are shares of the samples.

    More than half of all samples must have the arrow, and at least three quarters of those that
    connect the two columns in any way.
    """
    return arrow > 0.5 and arrow >= ARROW_SHARE * joined - ROUNDING


def edges_by_share(
    names: Sequence[str],
    joined: Mapping[tuple[int, int], float],
    arrows: Mapping[tuple[int, int], float],
    samples: int | None = None,
    *,
    always: bool = False,
) -> Edges:
    """Return one edge for each pair of columns, largest share first.

    `joined` has the share of the samples that connect a pair, by position in both orders or in one;
    `arrows` the share with each direction. An edge goes in its more frequent direction; its mark is
    an arrow if the shares support it, or `always`.
    """
    ranked = []
    for pair in {(min(pair), max(pair)) for pair in joined}:
        back = pair[::-1]
        share = min(joined.get(pair, joined.get(back, 0.0)), 1.0)
        forth = arrows.get(pair, 0.0) >= arrows.get(back, 0.0)
        ends = pair if forth else back
        ranked.append((-share, -arrows.get(ends, 0.0), pair, ends))
    edges = []
    for share, arrow, _, (a, b) in sorted(ranked):
        found = always or arrow_is_supported(-arrow, -share)
        drawn = -arrow if found else -share
        edges.append(Edge(names[a], names[b], mark_of(found), None, "", -share, drawn, samples))
    return Edges(edges)


def edges_of_graph(graph: Any) -> Edges:
    """Return the edges of a networkx graph; arrows both ways make a line."""
    pairs = set(graph.edges)
    both = graph.is_directed()
    return Edges(
        Edge(a, b, mark_of(both and (b, a) not in pairs))
        for a, b in graph.edges
        if (b, a) not in pairs or str(a) <= str(b)
    )


def stored_shares(stored: Iterable[Edge]) -> Edges | None:
    """Return the shares of bootstrap samples that a model's record has; None if there are none."""
    edges = Edges(stored)
    return edges if edges and (edges[0].samples or 0) >= LEAST_SAMPLES else None


def with_shares(edges: Iterable[Edge], shares: Edges | None) -> Edges:
    """Return edges with their shares of the samples, if those are known."""
    if shares is None:
        return Edges(edges)
    samples = shares[0].samples
    known = []
    for e in edges:
        either = shares.share_as_drawn(*e.ends, directed=False)
        drawn = shares.share_as_drawn(*e.ends, directed=e.directed)
        known.append(Edge(*e.ends, e.mark, e.strength, e.unit, either, drawn, samples))
    return Edges(known)
