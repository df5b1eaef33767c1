"""A graph as text in the DOT language of Graphviz."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from counterpane.drawing.layout import Edge


def graph_dot(
    nodes: Iterable[str],
    edges: Iterable[Edge],
    *,
    arrows: Collection[Edge],
    marked: Collection[str] = (),
    hubs: Collection[str] = (),
) -> Iterator[str]:
    """The lines of a DOT file: `arrows` among the edges have a head, the others have none.

    `marked` nodes are filled; `hubs` are drawn as points, which join more than two others.

    >>> print("".join(graph_dot(["a", "b", "c"], [("a", "b"), ("b", "c")], arrows=[("a", "b")])))
    digraph {
      node [shape=box, style=rounded];
      "a";
      "b";
      "c";
      "a" -> "b";
      "b" -> "c" [dir=none];
    }
    <BLANKLINE>
    """
    yield "digraph {\n  node [shape=box, style=rounded];\n"
    for node in nodes:
        look = ' [style="rounded,filled"]' if node in marked else ""
        look = f" [shape=point, xlabel={_quoted(node)}]" if node in hubs else look
        yield f"  {_quoted(node)}{look};\n"
    for a, b in edges:
        look = "" if (a, b) in arrows else " [dir=none]"
        yield f"  {_quoted(a)} -> {_quoted(b)}{look};\n"
    yield "}\n"


def _quoted(name: str) -> str:
    """A name as a string of DOT, in which backslashes are shown as they are."""
    text = re.sub(r'["\\]', r"\\\g<0>", re.sub(r"[\x00-\x1f]+", " ", name))
    return f'"{text}"'
