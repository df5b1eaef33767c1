"""How names and states are spelled in a file: as they are, quoted, or made plain."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import NamedTuple, TypeAlias

from counterpane.data.schema import Schema, state_text
from counterpane.errors import ParameterError

Spell: TypeAlias = Callable[[str], str | None]
"""How a format writes a word, or None where it cannot hold it."""

PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
PLAIN_STATE = re.compile(r"[A-Za-z_][\w.-]*|-?\d+", re.ASCII)
KEYWORDS = {
    *("network", "variable", "probability", "property", "type", "discrete", "table", "default"),
    *("net", "class", "node", "potential", "states", "data", "continuous", "decision", "utility"),
}


class Spelling(NamedTuple):
    """The names of the variables and the states of each, as they are written."""

    names: list[str]
    states: list[list[str]]


def spelled(schema: Schema, name: Spell, state: Spell, *, plain_names: bool) -> Spelling:
    """The words of `schema` in a format that spells by `name` and `state`.

    With `plain_names` all that is not a letter, digit or underscore is replaced by underscores,
    and keywords get one in front, so that tools that cannot quote read the file.
    """
    states = [
        _words(
            [state_text(s) for s in v.states],
            f"the states of {v.name!r}",
            state,
            PLAIN_STATE if plain_names else None,
        )
        for v in schema
    ]
    names = _words(schema.names, "the names", name, PLAIN_NAME if plain_names else None)
    return Spelling(names, states)


def quoted(word: str) -> str:
    """The word in quotes, with a backslash before quotes and backslashes."""
    escaped = re.sub(r'["\\]', r"\\\g<0>", word)
    return f'"{escaped}"'


def bare_or_quoted(pattern: re.Pattern[str]) -> Spell:
    """The spelling that leaves a word bare where `pattern` reads it as one word."""

    def spell(word: str) -> str:
        match = pattern.fullmatch(word)
        return word if match is not None and match.group("word") == word else quoted(word)

    return spell


def _words(
    words: Sequence[str], what: str, spell: Spell, plain: re.Pattern[str] | None
) -> list[str]:
    if len(set(words)) != len(words):
        raise ParameterError(f"{what} are not distinct once they are text; rename one to save.")
    result = []
    for word in words if plain is None else _made_plain(words, plain):
        written = spell(word)
        if written is None or re.search("[\ud800-\udfff]", word):
            raise ParameterError(
                f"{what} include {word!r}, which this format cannot hold; rename it, pass "
                "plain_names=True, or save as .cp."
            )
        result.append(written)
    return result


def _made_plain(words: Sequence[str], plain: re.Pattern[str]) -> list[str]:
    """The words, with those that are not plain replaced; all stay distinct."""
    fine = {w for w in words if plain.fullmatch(w) and w not in KEYWORDS}
    taken = set(fine)
    numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))
    result = []
    for word in words:
        if word not in fine:
            stem = "_" + re.sub(r"\W", "_", word, flags=re.ASCII)
            tried = (stem if k == 1 else f"{stem}_{k}" for k in numbers[stem])
            word = next(t for t in tried if t not in taken)
            taken.add(word)
        result.append(word)
    return result
