"""Constraints on a network: required edges, forbidden edges, and tiers of columns.

They come from options and from a TOML file such as

    tiers = [["age", "sex"], ["income"]]
    require = ["age -> income", ["sex", "income"]]
    forbid = ["income -> age", "sex -- age"]

An edge is a text, "parent -> child", or a list of the two names; "a -- b" forbids both directions.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from counterpane.errors import FileFormatError, ParameterError, no_file, unknown_name
from counterpane.workflow.constraints import ARROWS, LINES, EdgeConstraints

KEYS = ("require", "forbid", "tiers")
PANEL = "Constraints on the network"  # of --help


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
