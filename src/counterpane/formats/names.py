"""Names and states in a file: in plain words or quoted, with the originals in comments.

A plain word has ASCII letters, digits and underscores, a letter first: every tool reads it. For
each variable whose words differ from its name and states, a comment holds the originals and the
cuts of numbers as JSON; other tools ignore comments.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain, count
from typing import Any, NamedTuple, TypeAlias

from counterpane.data.schema import Schema, Variable, state_text
from counterpane.errors import CounterpaneError, ParameterError
from counterpane.formats.files import Source
from counterpane.formats.network import AnyNetwork
from counterpane.typing import State

INTERVAL = re.compile(r"[\[(]([^\[\](),;]+)[,;] ?([^\[\](),;]+)[)\]]")
SPAN = re.compile(r"([-−]?[0-9.]+) ?[–—] ?([-−]?[0-9.]+)")  # 10–20
SIGNS = {"<=": " le ", ">=": " ge ", "≤": " le ", "≥": " ge ", "<": " lt ", ">": " gt "}
LETTERS = {
    "ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L",
    "đ": "d", "Đ": "D", "þ": "th", "Þ": "Th", "ı": "i", "µ": "u", "%": " pct ", "&": " and ",
}  # fmt: skip
KEYWORDS = {
    *("network", "variable", "probability", "property", "type", "discrete", "table", "default"),
    *("net", "node", "potential", "states", "data", "continuous", "decision", "utility"),
}  # of BIF and NET
FIRST = "counterpane: "  # begins the comment of a variable
NEXT = "counterpane+ "  # and this one its continuation, where it is long
PIECE = re.compile(r".{1,7999}[^ ]|.+")  # blanks at the end of a comment may get lost
# What some reader would take for more than a part of a comment, though it stands in one.
UNSAFE = re.compile(
    r"(?<=-)-|(?<=/)[/*]|(?<=\*)/"
    r"|(?<=nod)e(?=\s)|(?<=state)s(?=\s*=)|(?<=dat)a(?=\s*=)|(?<=potentia)l(?=\s*\()"
)
Spell: TypeAlias = Callable[[str], str | None]
"""How a format writes a word, or None where it cannot hold it."""

IDENTIFIER = re.compile(r"[A-Za-z]\w*", re.ASCII)
STATE = re.compile(r"[A-Za-z][\w.-]*|-?\d+", re.ASCII)  # what BIF, XMLBIF and NET readers take


def plain_word(word: str) -> str:
    """The word in ASCII letters, digits and underscores; empty where nothing is left of it.

    >>> [plain_word(w) for w in ("<0.28", "≥-1.5", "[0.28, 0.41)", "length (cm)", "São", "A+")]
    ['lt_0_28', 'ge_minus_1_5', 'from_0_28_to_0_41', 'length_cm', 'Sao', 'A_plus']
    """
    if interval := INTERVAL.fullmatch(word) or SPAN.fullmatch(word):
        word = f"from {interval[1]} to {interval[2]}"
    word = re.sub("|".join(map(re.escape, SIGNS)), lambda sign: SIGNS[sign[0]], word)
    word = re.sub(r"(?<![0-9A-Za-z])[-−](?=\.?[0-9])|(?<=\w)-$", " minus ", word)
    word = re.sub(r"\+(?=\W|$)", " plus ", word)
    word = "".join(LETTERS.get(letter, letter) for letter in word)
    decomposed = unicodedata.normalize("NFKD", word)
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return re.sub(r"[^0-9A-Za-z]+", "_", bare).strip("_")


def plain_words(
    words: Sequence[str],
    allowed: re.Pattern[str],
    *,
    prefix: str,
    empty: str,
    any_case: bool = False,
    keywords: Collection[str] = KEYWORDS,
) -> list[str]:
    """The words, those that are not `allowed` replaced by plain ones; all stay distinct.

    A word that would begin with a digit gets `prefix`; one of which nothing is left is called
    `empty`. With `any_case` two words differ in more than capitals; `keywords` are no words.

    >>> letters = re.compile("[a-z]+")
    >>> plain_words(["a", "A!", "2", "变"], letters, prefix="x_", empty="state", any_case=True)
    ['a', 'A_2', 'x_2', 'state']
    """

    def key(word: str) -> str:
        return word.lower() if any_case else word

    result: list[str | None] = [None] * len(words)
    taken: set[str] = set()
    for place, word in enumerate(words):  # words that may stay have the first choice
        if allowed.fullmatch(word) and word.lower() not in keywords and key(word) not in taken:
            result[place] = word
            taken.add(key(word))
    numbers: dict[str, Iterator[int]] = {}
    for place, word in enumerate(words):
        if result[place] is not None:
            continue
        stem = plain_word(word) or empty
        stem = f"{prefix}{stem}" if not stem[0].isalpha() else stem
        stem = f"{stem}_" if stem.lower() in keywords else stem
        after = numbers.setdefault(key(stem), count(2))
        tried = chain([stem], (f"{stem.rstrip('_')}_{k}" for k in after))
        chosen = next(t for t in tried if key(t) not in taken)
        result[place] = chosen
        taken.add(key(chosen))
    return [word for word in result if word is not None]


def notes_of(schema: Schema, names: Sequence[str], states: Sequence[Sequence[str]]) -> list[str]:
    """The comments for a file that calls the variables and states so; none where nothing differs.

    They are ASCII in one line each, without anything that ends or begins a comment.
    """
    notes = []
    for variable, name, words in zip(schema, names, states, strict=True):
        if (name, tuple(words), None) == (variable.name, variable.states, variable.cuts):
            continue
        record = {"in_file": name, **variable.to_record()}
        record["states"] = dict(zip(words, variable.states, strict=True))
        text = json.dumps(record, separators=(",", ":"))
        pieces = PIECE.findall(UNSAFE.sub(_escape, text))
        notes += [f"{NEXT if k else FIRST}{piece}" for k, piece in enumerate(pieces)]
    return notes


def with_originals(network: AnyNetwork, source: Source) -> AnyNetwork:
    """The network with the names, states and cuts that the comments of its file tell.

    A variable whose states are no longer those of its comment keeps the words of the file.
    """
    records = {str(r.get("in_file")): (r, line) for r, line in _records(source)}
    if not records:
        return network
    variables = [
        _original(source, variable, *records[variable.name])
        if variable.name in records
        else variable
        for variable in network.schema
    ]
    try:
        return network._replace(schema=Schema(variables))
    except CounterpaneError as error:
        source.fail(next(iter(records.values()))[1], _damaged(str(error)))


def _original(source: Source, variable: Variable, record: dict[str, Any], line: int) -> Variable:
    states = record.get("states")
    if not isinstance(states, dict):
        source.fail(line, _damaged("it has no states"))
    if tuple(states) != variable.states:
        return variable
    try:
        return Variable.from_record({**record, "states": list(states.values())})
    except (CounterpaneError, LookupError, TypeError, ValueError) as error:
        source.fail(line, _damaged(str(error)))


def _records(source: Source) -> Iterator[tuple[dict[str, Any], int]]:
    """The records in the comments, and the line of each."""
    texts: list[tuple[str, int]] = []
    for comment, line in source.comments:
        if comment.startswith(FIRST):
            texts.append((comment.removeprefix(FIRST), line))
        elif comment.startswith(NEXT) and texts:
            texts[-1] = (texts[-1][0] + comment.removeprefix(NEXT), texts[-1][1])
    for text, line in texts:
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            source.fail(line, _damaged(str(error)))
        if not isinstance(record, dict):
            source.fail(line, _damaged("it is no record"))
        yield record, line


def _damaged(why: str) -> str:
    return (
        f"the comment that keeps the original names makes no sense ({why.rstrip('.')}); delete the "
        "comments that begin with 'counterpane' to read the file with the names in it"
    )


def _escape(mark: re.Match[str]) -> str:
    return f"\\u{ord(mark[0]):04x}"


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
