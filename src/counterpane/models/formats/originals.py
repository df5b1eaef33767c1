"""The names, states and cuts behind the plain words of a file, kept in comments of the file.

Each comment holds a piece of JSON: for one variable, how the file calls it and its states, and
what they are. Other tools pass over comments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, TypeAlias

from counterpane.data.schema import Schema, Variable
from counterpane.errors import CounterpaneError
from counterpane.models.formats.network import Conditionals, Factors, Network
from counterpane.models.formats.source import Source

FIRST = "counterpane: "  # begins the comment of a variable
NEXT = "counterpane+ "  # and this one its continuation, where it is long
PIECE = re.compile(r".{1,7999}[^ ]|.+")  # blanks at the end of a comment may get lost
# What some reader would take for more than a part of a comment, though it stands in one.
UNSAFE = re.compile(
    r"(?<=-)-|(?<=/)[/*]|(?<=\*)/"
    r"|(?<=nod)e(?=\s)|(?<=state)s(?=\s*=)|(?<=dat)a(?=\s*=)|(?<=potentia)l(?=\s*\()"
)
AnyNetwork: TypeAlias = Network | Factors | Conditionals


def notes_of(schema: Schema, names: Sequence[str], states: Sequence[Sequence[str]]) -> list[str]:
    """The comments for a file that calls the variables and states so; none where nothing differs.

    They are ASCII in one line each, without anything that ends or begins a comment.
    """
    notes = []
    for variable, name, words in zip(schema, names, states, strict=True):
        if (name, tuple(words), None) == (variable.name, variable.states, variable.cuts):
            continue
        record = {"in_file": name, **record_of(variable)}
        record["states"] = dict(zip(words, variable.states, strict=True))
        text = json.dumps(record, separators=(",", ":"))
        pieces = PIECE.findall(UNSAFE.sub(_escape, text))
        notes += [f"{NEXT if k else FIRST}{piece}" for k, piece in enumerate(pieces)]
    return notes


def record_of(variable: Variable) -> dict[str, Any]:
    """What a variable is made of, without what is not set."""
    parts = {f.name: getattr(variable, f.name) for f in fields(variable) if f.init}
    return {name: value for name, value in parts.items() if value is not None}


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
    parts = {f.name: record[f.name] for f in fields(Variable) if f.init and f.name in record}
    parts["states"] = list(states.values())
    try:
        return Variable(**{name: _frozen(value) for name, value in parts.items()})
    except (CounterpaneError, TypeError, ValueError) as error:
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


def _frozen(value: Any) -> Any:
    return tuple(_frozen(part) for part in value) if isinstance(value, list) else value
