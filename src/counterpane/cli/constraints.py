"""Constraints on a network: required edges, forbidden edges, and tiers of columns.

They come from options and from a TOML file such as

    tiers = [["age", "sex"], ["income"]]
    require = ["age -> income", ["sex", "income"]]
    forbid = ["income -> age", "sex -- age"]

An edge is a text, "parent -> child", or a list of the two names; "a -- b" forbids both directions.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from counterpane.errors import FileFormatError, ParameterError, no_file, unknown_name

ARROWS = ("->", "→")
LINES = ("--", "—", "–")
KEYS = ("require", "forbid", "tiers")
CONSTRAINED = ("structure-search", "hill-climb", "k2", "ges", "pc", "fci")
"""Methods that obey constraints; `ges` only edges that are forbidden in both directions."""

PANEL = "Constraints on the network"  # of --help


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
                f"--method {method} {by_task}takes no required or forbidden edges and no tiers; "
                f"these methods do: {', '.join(CONSTRAINED)}."
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
class ConstraintOptions:
    """The options for constraints, as they are written."""

    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EDGE",
            help="An edge the network must have: 'age->income'; repeat.",
            rich_help_panel=PANEL,
        ),
    ] = None
    forbid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EDGE",
            help="An edge the network must not have: 'age->sex', or 'age--sex' for both "
            "directions; repeat.",
            rich_help_panel=PANEL,
        ),
    ] = None
    tier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns with commas, such as 'age,sex'; repeat in causal order. No edge leads "
            "from a later tier to an earlier one.",
            rich_help_panel=PANEL,
        ),
    ] = None
    knowledge: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="A TOML file with require, forbid and tiers.",
            rich_help_panel=PANEL,
        ),
    ] = None

    def read(self) -> EdgeConstraints:
        """The constraints of the options and of the file, checked as far as possible now."""
        path = self.knowledge
        stored = {} if path is None else _read_toml(path)
        if stored.get("tiers") and self.tier:
            raise ParameterError(
                f"--tier and the tiers of {str(path)!r} exclude each other; use one."
            )
        options = (self.require, self.forbid, self.tier)
        parts = [(*stored.get(k, []), *(part or ())) for k, part in zip(KEYS, options, strict=True)]
        for key, items in zip(KEYS[:2], parts[:2], strict=True):
            marks = ARROWS if key == "require" else ARROWS + LINES
            for item in items:
                if isinstance(item, str) and not any(mark in item for mark in marks):
                    example = "'age->income'" + ("" if key == "require" else " or 'age--income'")
                    raise ParameterError(
                        f"--{key} {item!r} is no edge; write {example}, in quotation marks."
                    )
        return EdgeConstraints(*parts)


def _read_toml(path: Path) -> dict[str, list[Any]]:
    """The lists in a file; anything that is not expected there is refused."""
    if not path.is_file():
        raise no_file(path)
    where = f"file {str(path)!r}"
    try:
        stored = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeError) as error:
        raise FileFormatError(f"{where} is no TOML: {error}.") from None
    for key, value in stored.items():
        if key not in KEYS:
            raise unknown_name(f"{where}: the key", key, KEYS)
        if not isinstance(value, list):
            raise FileFormatError(f"{where}: {key} is {value!r}; a list is needed.")
        for item in value:
            pair = isinstance(item, list) and all(isinstance(name, str) for name in item)
            if key == "tiers" and not pair:
                raise FileFormatError(f"{where}: the tier {item!r} is no list of column names.")
            if key != "tiers" and not isinstance(item, str) and not (pair and len(item) == 2):
                raise FileFormatError(
                    f'{where}: {key} holds {item!r}; an edge is "parent -> child" or a list of '
                    "two column names."
                )
    return stored


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
                f"column {name!r} is dropped by --drop and named in a constraint; remove it from "
                "one of them."
            )
        if name in self.left_out:
            return ParameterError(
                f"column {name!r} was left out ({self.left_out[name]}); keep it with "
                f"--use {name!r}, or drop the constraint."
            )
        return unknown_name("column", name, self.names)


def _splits(text: str, mark: str) -> Iterator[tuple[str, str]]:
    """The two sides of each occurrence of a mark."""
    place = text.find(mark)
    while place >= 0:
        yield text[:place].strip(), text[place + len(mark) :].strip()
        place = text.find(mark, place + 1)
