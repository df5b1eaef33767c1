"""The rule by which the cut points of a table's columns were found."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from counterpane.data.schema import Schema


class CutRule(NamedTuple):
    """How the cut points of `columns` were found: "quantile", or "mdl" against `target`."""

    rule: str
    columns: tuple[str, ...]
    n_bins: int
    target: str | None


def cut_rule_of(
    schema: Schema, states: Collection[str], discretize: Any, target: str | None, n_bins: int
) -> CutRule | None:
    """The rule that `Table.from_frame` used; None for a discretizer of the user.

    Columns with `states`, or with cut points in the mapping `discretize`, do not follow a rule.

    >>> from counterpane.data.schema import Variable
    >>> schema = Schema([Variable("age", ("<18", "≥18"), (18.0,)), Variable("sex", ("f", "m"))])
    >>> cut_rule_of(schema, (), "auto", "sex", 4)
    CutRule(rule='mdl', columns=('age',), n_bins=4, target='sex')
    """
    given = {*states, *(discretize if isinstance(discretize, Mapping) else ())}
    rule = discretize
    if isinstance(discretize, Mapping) or (isinstance(discretize, str) and discretize == "auto"):
        rule = "quantile" if target is None or schema[target].cuts is not None else "mdl"
    if not isinstance(rule, str):
        return None
    columns = tuple(v.name for v in schema if v.cuts is not None and v.name not in given)
    return CutRule(rule, columns, n_bins, target)
