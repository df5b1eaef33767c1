"""How names and states are spelled in a file: in plain words, or as they are, quoted if need be."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, TypeAlias

from counterpane.data.schema import Schema, state_text
from counterpane.errors import ParameterError
from counterpane.models.formats.originals import notes_of
from counterpane.models.formats.plain_words import KEYWORDS, plain_words
from counterpane.typing import State

Spell: TypeAlias = Callable[[str], str | None]
"""How a format writes a word, or None where it cannot hold it."""

IDENTIFIER = re.compile(r"[A-Za-z]\w*", re.ASCII)
STATE = re.compile(r"[A-Za-z][\w.-]*|-?\d+", re.ASCII)  # what BIF, XMLBIF and NET readers take


class Spelling(NamedTuple):
    """The names of the variables and the states of each, as they are written.

    `notes` are comments for the file, which tell the originals of words that were changed.
    """

    names: list[str]
    states: list[list[str]]
    notes: list[str]


def spelled(
    schema: Schema,
    name: Spell,
    state: Spell,
    *,
    plain_names: bool,
    plain_state: re.Pattern[str] = STATE,
    keywords: Collection[str] = KEYWORDS,
) -> Spelling:
    """The words of `schema` in a format that spells by `name` and `state`.

    With `plain_names` the names are identifiers, no `keywords`, and the states are `plain_state`,
    in words that all tools read; two names differ in more than capitals.
    """
    names: list[str] = list(schema.names)
    states = [[state_text(s) for s in v.states] for v in schema]
    notes: list[str] = []
    if plain_names:
        names = plain_words(
            names, IDENTIFIER, prefix="v_", empty="column", any_case=True, keywords=keywords
        )
        states = [plain_words(words, plain_state, prefix="s_", empty="state") for words in states]
        notes = notes_of(schema, names, states)
    shown = [
        _written(words, f"the states of {v.name!r}", state)
        for v, words in zip(schema, states, strict=True)
    ]
    return Spelling(_written(names, "the names", name), shown, notes)


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


def _text(state: State) -> str:
    """A state as it is written where the words of a file are its own."""
    return "missing" if state is None else str(state)


def _written(words: Sequence[str], what: str, spell: Spell) -> list[str]:
    if len(set(words)) != len(words):
        raise ParameterError(
            f"{what} are not distinct once they are text; rename one, or save with plain names."
        )
    result = []
    for word in words:
        written = spell(word)
        if written is None or re.search("[\ud800-\udfff]", word):
            raise ParameterError(
                f"{what} include {word!r}, which this format cannot hold; rename it, or save with "
                "plain names, or as .cp."
            )
        result.append(written)
    return result
