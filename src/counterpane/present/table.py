"""A table of texts: the one form in which results are printed, on a terminal or in a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from counterpane.errors import visible
from counterpane.lazy import lazy
from counterpane.present.html import CELL, framed, line, text

if TYPE_CHECKING:
    from rich.table import Table as RichTable

rich_table, rich_text = lazy("rich.table"), lazy("rich.text")

LISTED = 20  # rows of a list that are printed
MENTIONED = 5  # names that a sentence lists
BAR = 120  # pixels of a bar that stands for 1


class Heading(NamedTuple):
    """The title of a column, how its cells are aligned, and their style on a terminal."""

    title: str
    right: bool = False
    style: str = ""


def right(title: str, style: str = "") -> Heading:
    """Return the heading of a column of numbers.

    >>> right("log-loss").right
    True
    """
    return Heading(title, right=True, style=style)


def many(n: int, what: str) -> str:
    """Return a number of things.

    >>> many(1, "row"), many(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def mentioned(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are.

    >>> mentioned([*"abcdefg"])
    'a, b, c, d, e and 2 more'
    """
    more = len(names) - MENTIONED
    return ", ".join(names[:MENTIONED]) + (f" and {more:,} more" if more > 0 else "")


@dataclass(frozen=True)
class TextTable:
    """Rows of texts under headings.

    Parameters
    ----------
    headings : tuple of Heading
        The columns.
    rows : tuple of tuples of str
        The rows that are printed.
    title : str
        A line above the table.
    notes : tuple of str
        Sentences below the table.
    more : int
        How many rows are not printed.
    bars : tuple of float
        Shares that a page draws as bars, one per row.

    Examples
    --------
    >>> print(TextTable.of(["edge", right("bits per row")], [["a → b", "0.1200"]], notes=["one"]))
    edge   bits per row
    a → b        0.1200
    one
    """

    headings: tuple[Heading, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    more: int = 0
    bars: tuple[float, ...] = ()

    @classmethod
    def of(
        cls,
        headings: Iterable[str | Heading],
        rows: Iterable[Sequence[object]],
        *,
        title: str = "",
        notes: Iterable[str] = (),
        bars: Iterable[float] = (),
        most: int | None = LISTED,
        total: int | None = None,
    ) -> TextTable:
        """Return the table of the first `most` rows; None keeps them all.

        `total` is the number of rows, if `rows` are only the first of them.
        """
        listed = [tuple(map(str, row)) for row in rows]
        shown = tuple(listed if most is None else listed[:most])
        heads = tuple(Heading(h) if isinstance(h, str) else h for h in headings)
        more = (len(listed) if total is None else total) - len(shown)
        return cls(heads, shown, title, tuple(notes), more, tuple(bars)[: len(shown)])

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of the columns."""
        return tuple(heading.title for heading in self.headings)

    def to_rich(self) -> RichTable:
        """Return a table for a terminal, without title and notes."""
        table: RichTable = rich_table.Table(
            box=None, padding=(0, 2, 0, 0), show_header=any(self.titles)
        )
        for title, is_right, style in self.headings:
            name = rich_text.Text(visible(title))
            table.add_column(name, justify="right" if is_right else "left", style=style)
        for row in self.rows:
            table.add_row(*(rich_text.Text(visible(cell)) for cell in row))
        if self.more:
            table.add_row(rich_text.Text(self._more(), style="dim"))
        return table

    def to_html(self) -> str:
        """Return a table for a page, with its notes."""
        top = "".join(f'<th style="{CELL};opacity:0.7">{text(title)}</th>' for title in self.titles)
        bars = map(_bar, self.bars) if self.bars else repeat("")
        body = "".join(
            f"<tr>{''.join(map(_cell, row))}{bar}</tr>"
            for row, bar in zip(self.rows, bars, strict=False)
        )
        if self.more:
            body += (
                f'<tr><td style="{CELL}" colspan="{len(self.headings)}">{self._more()}</td></tr>'
            )
        head = f"<tr>{top}</tr>" if any(self.titles) else ""
        table = f'<table style="border-collapse:collapse;margin:4px 0">{head}{body}</table>'
        return table + "".join(map(line, self.notes))

    def to_markdown(self, *, level: int = 2) -> str:
        """Return a table in Markdown, with its notes, under its title as a heading."""
        rule = ["---:" if heading.right else "---" for heading in self.headings]
        lines = [self.titles, rule, *self.rows]
        cells = [[cell.replace("|", "\\|") for cell in each] for each in lines]
        table = [f"| {' | '.join(each)} |" for each in cells]
        last = [f"{self._more()}."] if self.more else []
        title = [f"{'#' * level} {self.title}\n"] if self.title else []
        return "\n".join([*title, *table, *(f"\n{words}" for words in (*last, *self.notes))])

    def to_text(self) -> str:
        """Return lines of text, in which the columns are aligned by spaces."""
        first = [self.titles] if any(self.titles) else []
        lines = [*first, *self.rows]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        table = [
            "  ".join(
                cell.rjust(width) if heading.right else cell.ljust(width)
                for cell, width, heading in zip(each, widths, self.headings, strict=True)
            ).rstrip()
            for each in lines
        ]
        last = [self._more()] if self.more else []
        title = [self.title] if self.title else []
        return "\n".join(map(visible, [*title, *table, *last, *self.notes]))

    def __str__(self) -> str:
        return self.to_text()

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.rows)

    def _repr_html_(self) -> str:
        return framed(self.title, self.to_html())

    def _more(self) -> str:
        return f"… {self.more:,} more"


class Printed:
    """A result that is shown as its `table()`, in a shell and in a notebook."""

    def table(self) -> TextTable:
        """Return what is shown."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.table().to_text()

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def _cell(cell: str) -> str:
    return f'<td style="{CELL}">{text(cell)}</td>'


def _bar(share: float) -> str:
    """Return a cell with a bar that is as long as a probability is large."""
    style = f"width:{BAR * share:.0f}px;height:9px;background:currentColor;opacity:0.45"
    return f'<td style="{CELL};vertical-align:middle"><div style="{style}"></div></td>'
