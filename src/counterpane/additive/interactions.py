"""The interactions of a classifier as a result: records that print as a table."""

from __future__ import annotations

from typing import Any, SupportsIndex, overload

from counterpane.present.table import Heading, Printed, TextTable, right


class Interactions(Printed, list[dict[str, Any]]):
    """Records of interactions, the largest effect first; they print as a table.

    >>> print(Interactions([{"columns": ["age", "sex"], "effect": 1.25, "explained": 0.5}]))
    interaction  effect on log-odds  share of variance
    age × sex                 ±1.25                50%
    """

    @overload
    def __getitem__(self, key: SupportsIndex) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> Interactions: ...
    def __getitem__(self, key: SupportsIndex | slice) -> dict[str, Any] | Interactions:
        found = super().__getitem__(key)
        return Interactions(found) if isinstance(found, list) else found

    def table(self) -> TextTable:
        """Return a table of the first interactions, with their effects if those are known."""
        columns = (
            ("effect", "effect on log-odds", "±{:.2f}"),
            ("explained", "share of variance", "{:.0%}"),
            ("share", "selected", "{:.0%}"),
        )
        shown = [column for column in columns if any(column[0] in record for record in self)]
        rows = [
            (
                " × ".join(record["columns"]),
                *(write.format(record[key]) if key in record else "" for key, _, write in shown),
            )
            for record in self
        ]
        heads = [Heading("interaction", style="bold"), *(right(title) for _, title, _ in shown)]
        return TextTable.of(heads, rows)
