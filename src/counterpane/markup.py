"""Small pieces of HTML for notebooks: no scripts, and the colors of the page around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import repeat

MAX_LETTERS = 120
BAR = 120  # pixels of a bar that stands for 1

CELL = "padding:2px 10px 2px 0;text-align:left;vertical-align:top;background:none;font-size:13px"
FRAME = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.4;overflow-x:auto"


def framed(title: str, *parts: str) -> str:
    """One block of a page: a title, then pieces of HTML.

    >>> framed("a < b", "<p>c</p>").count("&lt;")
    1
    """
    return f'<div style="{FRAME}"><strong>{text(title)}</strong>{"".join(parts)}</div>'


def text(value: object) -> str:
    """A value as escaped text, cut where it is long.

    >>> text("<script>"), len(text("x" * 999))
    ('&lt;script&gt;', 120)
    """
    words = str(value)
    return escape(words if len(words) <= MAX_LETTERS else words[: MAX_LETTERS - 1] + "…")


def grid(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    more: int = 0,
    shares: Iterable[float] | None = None,
) -> str:
    """A table of texts, with a last line on how many rows there are `more`.

    `shares`, one a row, are drawn as bars.
    """
    top = "".join(f'<th style="{CELL};opacity:0.7">{text(cell)}</th>' for cell in head)
    bars = repeat("") if shares is None else map(_bar, shares)
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{text(cell)}</td>' for cell in row) + bar + "</tr>"
        for row, bar in zip(rows, bars, strict=False)
    )
    if more:
        body += f'<tr><td style="{CELL}" colspan="{len(head)}">… {more:,} more</td></tr>'
    return f'<table style="border-collapse:collapse;margin:4px 0"><tr>{top}</tr>{body}</table>'


def _bar(share: float) -> str:
    """A cell with a bar that is as long as a probability is large."""
    style = f"width:{BAR * share:.0f}px;height:9px;background:currentColor;opacity:0.45"
    return f'<td style="{CELL};vertical-align:middle"><div style="{style}"></div></td>'


def line(words: str) -> str:
    """A line of escaped text."""
    return f"<div>{escape(words)}</div>"


def folded(title: str, inside: str) -> str:
    """A piece of HTML that a click unfolds."""
    return f"<details><summary>{text(title)}</summary>{inside}</details>"
