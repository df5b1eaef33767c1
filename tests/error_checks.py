"""What an error or a warning is about, by attributes and by what it names, not by its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# A name in quotes, a parameter with its value, a place such as "line 3" or "3 rows", or one word.
NAMED = re.compile(
    r"""(['"(\[]|\w+=).*|[a-z]+ -?\d[\d,]*|-?[\d,.]+ [a-z]+( [a-z]+)?|\S+|time limit"""
)


@contextmanager
def raises(kind: Any, about: str | tuple[str, ...] = (), **attributes: Any) -> Iterator[Any]:
    """Expect an error of a class with these attributes, such as parameter="alpha".

    `about` is what its message names: a column in quotes, a file, a row, or one word.
    """
    assert attributes or about, "pytest.raises checks the class alone"
    with pytest.raises(kind, match=naming(about) or None) as caught:
        yield caught
    found = {name: getattr(caught.value, name) for name in attributes}
    assert found == attributes, f"{caught.value!s} has {found}"


@contextmanager
def warns(kind: Any, about: str | tuple[str, ...]) -> Iterator[Any]:
    """Expect a warning of a class whose message names what it is about, as in `raises`."""
    with pytest.warns(kind, match=naming(about)) as caught:
        yield caught


def naming(about: str | tuple[str, ...]) -> str:
    """Return a pattern of the messages that have all these names as whole words."""
    names = [about] if isinstance(about, str) else about
    for name in names:
        assert NAMED.fullmatch(name), f"{name!r} pins the words of a message"
    return "".join(rf"(?=[\s\S]*(?<![\w.]){re.escape(name)}(?!\w))" for name in names)
