"""Constraints on a network by the names of the columns: required and forbidden edges, and tiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterpane.errors import Advice, Option, ParameterError, unknown_name

ARROWS = ("->", "→")
LINES = ("--", "—", "–")
CONSTRAINED = ("structure-search", "hill-climb", "k2", "ges", "pc", "fci")
"""Methods that obey constraints; `ges` only edges that are forbidden in both directions."""


@dataclass(frozen=True)
class EdgeConstraints:
    """Constraints as they were written; `parameters` reads them when the columns are known."""

    require: tuple[Any, ...] = ()
    forbid: tuple[Any, ...] = ()
    tiers: tuple[Any, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.require or self.forbid or self.tiers)

    def check_method(self, method: str, *, chosen: bool = False) -> None:
        """Refuse a method that takes no constraints, named or `chosen` by the task."""
        if self and method not in CONSTRAINED:
            by_task = "is chosen for this task and " if chosen else ""
            raise ParameterError(
                Option("method", method),
                f" {by_task}takes no required or forbidden edges and no tiers; "
                f"these methods do: {', '.join(CONSTRAINED)}.",
            )

    def parameters(
        self, names: Sequence[str], left_out: Mapping[str, str], dropped: Sequence[str] = ()
    ) -> dict[str, Any]:
        """The parameters of a network learner, by the names of the columns; empty for none."""
        if not self:
            return {}
        columns = _ColumnNames(names, left_out, dropped)
        required = [edge for item in self.require for edge in columns.edges(item, "require")]
        forbidden = [edge for item in self.forbid for edge in columns.edges(item, "forbid")]
        tiers = [columns.tier(item) for item in self.tiers]
        return {
            "required_edges": required,
            "forbidden_edges": forbidden,
            "tiers": tiers or None,
        }


@dataclass(frozen=True)
class _ColumnNames:
    """The columns that constraints may name, those that were left out, and those of --drop."""

    names: Sequence[str]
    left_out: Mapping[str, str]
    dropped: Sequence[str]

    def edges(self, item: Any, option: str) -> list[tuple[str, str]]:
        """The edge that is written in `item`; two where both directions are forbidden."""
        if not isinstance(item, str):
            parent, child = (self.checked(name) for name in item)
            return [(parent, child)]
        for mark in ARROWS + (LINES if option == "forbid" else ()):
            for parent, child in _splits(item, mark):
                if parent in self.names and child in self.names:
                    pair = parent, child
                    return [pair] if mark in ARROWS else [pair, pair[::-1]]
        marks = [mark for mark in ARROWS + LINES if mark in item]
        first = next(_splits(item, marks[0]))
        raise next(self.no_column(name) for name in first if name not in self.names)

    def tier(self, item: Any) -> list[str]:
        """The columns of a tier: a list, or names with commas between them."""
        if isinstance(item, str):
            item = [item] if item in self.names else [part.strip() for part in item.split(",")]
        return [self.checked(name) for name in item]

    def checked(self, name: str) -> str:
        """`name`, if there is such a column."""
        if name not in self.names:
            raise self.no_column(name)
        return name

    def no_column(self, name: str) -> Exception:
        """The error for a name that is no column, or none any more."""
        if name in self.dropped:
            return ParameterError(
                f"column {name!r} is dropped by ",
                Option("drop"),
                " and named in a constraint; remove it from one of them.",
            )
        if name in self.left_out:
            return ParameterError(
                f"column {name!r} was left out ({self.left_out[name]}); keep it with ",
                Advice(f"use=[{name!r}]", f"--use {name!r}"),
                ", or drop the constraint.",
            )
        return unknown_name("column", name, self.names)


def _splits(text: str, mark: str) -> Iterator[tuple[str, str]]:
    """The two sides of each occurrence of a mark."""
    place = text.find(mark)
    while place >= 0:
        yield text[:place].strip(), text[place + len(mark) :].strip()
        place = text.find(mark, place + 1)
