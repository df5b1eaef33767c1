"""Small pieces of HTML for notebooks: no scripts, and the colors of the page around them."""

from __future__ import annotations

from html import escape

MAX_LETTERS = 120

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


def line(words: str) -> str:
    """A line of escaped text."""
    return f"<div>{escape(words)}</div>"


def folded(title: str, inside: str) -> str:
    """A piece of HTML that a click unfolds."""
    return f"<details><summary>{text(title)}</summary>{inside}</details>"
