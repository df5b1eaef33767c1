"""The library's own exceptions. Each message is one sentence: what, where, got, allowed, next.

A message is made of parts. Most parts are text. A `Setting` and an `Advice` are written in one way
for Python and in another by the command, which replaces parts and never searches the text.
"""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

MAX_LISTED = 2000  # files of a folder, or known names, among which near ones are sought
MAX_WORD = 100  # letters of a name for which near ones are sought
MAX_MESSAGE = 1000  # characters; what quotes a file or a table may be longer


_LINES = re.compile(r"\s*\n\s*")
_TURNS = (0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))  # and line separators
_SIGNS = (
    {code: 0x2400 + code for code in range(32) if code != 10}
    | dict.fromkeys((*range(0x80, 0xA0), *_TURNS), 0xFFFD)
    | {0x7F: 0x2421}
)


def visible(text: str) -> str:
    """A text in which control characters, also those that turn its direction, are signs.

    A terminal would obey them: escape sequences in a column's name could rewrite what is shown.

    >>> visible("age\x1b[2J"), visible("a\u202eb")
    ('age␛[2J', 'a�b')
    """
    return text.translate(_SIGNS)


def shortened(text: str) -> str:
    """A message without the middle of what it quotes, if it is very long."""
    if len(text) <= MAX_MESSAGE:
        return text
    return f"{text[: MAX_MESSAGE // 2]} … {text[-MAX_MESSAGE // 3 :]}"


def short_words(error: BaseException, most: int = 200) -> str:
    """What an error of another library says, on one line."""
    return " ".join(str(error).split())[:most] or type(error).__name__


def shown_type(value: object) -> str:
    """The name of a value's type with its article.

    >>> shown_type([]), shown_type(1)
    ('a list', 'an int')
    """
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


class Setting:
    """A parameter in a message, with its value if one was passed; the command names its option.

    >>> str(Setting("folds", 1)), str(Setting("encoding"))
    ('folds=1', 'encoding=…')
    """

    def __init__(self, name: str, value: object = ...) -> None:
        self.name = name
        self.value = value

    def __str__(self) -> str:
        number = type(self.value).__module__ == "numpy" and not getattr(self.value, "ndim", 1)
        value = self.value.item() if number else self.value  # type: ignore[attr-defined]
        return f"{self.name}={'…' if value is ... else repr(value)}"


class Option(Setting):
    """A parameter of `counterpane.learn` in a message; the command writes its option.

    >>> str(Option("method", "tan")), Option("method", "tan").command, Option("target").command
    ("method='tan'", '--method tan', '--target')
    """

    @property
    def command(self) -> str:
        """The option of the command."""
        flag = "--" + self.name.replace("_", "-")
        return flag if self.value is ... else f"{flag} {self.value}"


class Advice:
    """Words in a message that hold for Python alone, and what the command says instead."""

    def __init__(self, python: str, command: str = "") -> None:
        self.python = python
        self.command = command

    def __str__(self) -> str:
        return self.python


class Note(str):
    """A sentence about a result, made of parts as the message of an error is.

    >>> Note("no column repeats: ", Option("drop", "id"), " leaves it out.")
    "no column repeats: drop='id' leaves it out."
    """

    parts: tuple[object, ...]

    def __new__(cls, *parts: object) -> Note:
        """Return the text for Python; the command writes the parts in its own way."""
        note = super().__new__(cls, "".join(map(str, parts)))
        note.parts = tuple(each for part in parts for each in getattr(part, "parts", (part,)))
        return note


class CounterpaneWarning(UserWarning):
    """Base of warnings whose message has parts, as those of `CounterpaneError` have."""

    def __init__(self, *parts: object) -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts


class CounterpaneError(Exception):
    """Base of every error that Counterpane raises on purpose.

    >>> import counterpane as cp
    >>> try:
    ...     cp.load_dataset("titanik")
    ... except cp.CounterpaneError as error:
    ...     print(error)
    dataset 'titanik' is not known; did you mean 'titanic' or 'tictactoe'?

    Parameters
    ----------
    *parts : object
        The message before it is joined: texts, and each `Setting` and `Advice`.
    parameter : str, optional
        What is wrong: the name of a parameter, or the kind of a name; by default that of the
        `Setting` with which the message begins.
    value : object, optional
        What was passed; by default that of this `Setting`.
    allowed : sequence, optional
        What could be passed, as values or in words.
    """

    def __init__(
        self,
        *parts: object,
        parameter: str | None = None,
        value: object = None,
        allowed: Sequence[object] | None = None,
    ) -> None:
        text = _LINES.sub(" ", "".join(map(str, parts)))  # an array is written in several
        super().__init__(visible(shortened(text)))
        self.parts = parts
        if parameter is None and parts and isinstance(parts[0], Setting):
            parameter = parts[0].name
            value = None if parts[0].value is ... else parts[0].value
        self.parameter = parameter
        self.value = value
        self.allowed = None if allowed is None else tuple(allowed)

    def __str__(self) -> str:
        return str(self.args[0])  # OSError would write number and path before it

    @property
    def reason(self) -> str:
        """What is wrong, without the advice: the message up to its first semicolon."""
        return str(self).partition(";")[0]

    @property
    def remedy(self) -> str:
        """What to do: the message after its first semicolon."""
        return str(self).partition(";")[2].strip()


@contextmanager
def library_errors(
    make: Callable[[str], CounterpaneError],
    kinds: tuple[type[Exception], ...] = (Exception,),
    only: Callable[[Exception], bool] | None = None,
) -> Iterator[None]:
    """Raise what `make` makes of the words of an error of another library.

    `only` says which errors are meant if their classes cannot be imported to be named.
    """
    try:
        yield
    except (CounterpaneError, MemoryError):
        raise
    except kinds as error:
        if only is not None and not only(error):
            raise
        raise make(short_words(error, 300)) from error


class DataError(CounterpaneError, ValueError):
    """A table cannot be used as it is."""


class StateError(DataError):
    """A value is not one of its variable's states."""


class DiscretizeError(DataError):
    """A numeric column has too many values to be counted as it is."""


class WeightError(DataError):
    """Row weights are negative, not finite, or sum to zero."""


class ScopeError(CounterpaneError, ValueError):
    """A set of variables is malformed: a repeat, an unknown index, a clash."""


class GraphError(CounterpaneError, ValueError):
    """A graph breaks its own law: a cycle, a loop, an unknown node."""


class ParameterError(CounterpaneError, ValueError):
    """A parameter has a value that is not allowed."""


class FitError(CounterpaneError, ValueError):
    """A learner cannot work with the score, test or data it was given."""


class NotFittedError(CounterpaneError, AttributeError):
    """A result was asked of a learner before `fit`."""


class EvidenceError(CounterpaneError, ValueError):
    """Evidence is impossible under the model, or clashes with the question."""


class NotIdentifiedError(CounterpaneError, ValueError):
    """An effect is not determined by what was observed; `hedge` holds the two sets of columns."""

    hedge: tuple[tuple[str, ...], tuple[str, ...]] | None = None


class UnknownNameError(CounterpaneError, LookupError):
    """A name is not known; the message offers the nearest known ones."""


class TableSizeError(CounterpaneError, MemoryError):
    """A dense table would exceed the limit; nothing was allocated."""


class DeviceError(CounterpaneError, RuntimeError):
    """A graphics card is not there, or could not do what it was asked for."""


class UntrustedError(CounterpaneError, ArithmeticError):
    """An estimate that must be trusted is not: sampling and propagation differ."""


class FileFormatError(CounterpaneError, ValueError):
    """A file is damaged, cut short, or not of the kind its name says."""


class NoFileError(CounterpaneError, FileNotFoundError):
    """A path names no file; the message offers the nearest names in its folder."""


class PathError(CounterpaneError, OSError):
    """A file cannot be opened, read or written; `filename` is the path as the user wrote it."""

    def __init__(self, number: int | None, path: str, *parts: object) -> None:
        super().__init__(*parts)
        self.errno = number
        self.filename = path

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.errno, self.filename, *self.parts)


class MissingExtraError(CounterpaneError, ImportError):
    """An optional dependency is needed and not installed."""


class VersionError(FileFormatError):
    """A model file was written by a newer version of the format."""


def check_names(names: Iterable[str], where: str = "") -> None:
    """Refuse names of columns of which one occurs more than once; `where` begins the message."""
    for name, times in Counter(names).items():
        if times > 1:
            raise DataError(
                f"{where}the column name {name!r} occurs {times} times; rename or drop the copies."
            )


def unknown_name(kind: str, name: object, known: Iterable[object]) -> UnknownNameError:
    """An `UnknownNameError` for `name` that offers the nearest known names, or else the list."""
    names = [str(k) for k in known]
    hint = _nearest(str(name), names)
    if not hint and len(names) <= 12:
        hint = f"known: {_quoted(names)}."
    elif not hint:
        hint = f"{len(names)} are known, among them {_quoted(names[:6])}."
    return UnknownNameError(
        f"{kind} {_quoted([str(name)])} is not known; {hint}",
        parameter=kind,
        value=name,
        allowed=names,
    )


def _quoted(names: Iterable[str]) -> str:
    cut = (n if len(n) <= MAX_WORD else f"{n[: MAX_WORD - 1]}…" for n in names)
    return ", ".join(map(repr, cut))


def no_file(path: Path) -> NoFileError:
    """A `NoFileError` for a path that names no file, with the nearest names in its folder."""
    if path.is_dir():
        return _for_path(path, f"{str(path)!r} is a folder; pass the path of one file in it.")
    names: list[str] = []
    with suppress(OSError):  # a folder that may not be listed
        names = [entry.name for entry in islice(os.scandir(path.parent), MAX_LISTED)]
    hint = _nearest(path.name, names) or "check the path."
    return _for_path(path, f"there is no file {str(path)!r}; {hint}")


def _for_path(path: Path, message: str) -> NoFileError:
    error = NoFileError(message)
    error.filename = str(path)
    return error


def _nearest(name: str, names: list[str]) -> str:
    if len(name) > MAX_WORD or len(names) > MAX_LISTED:  # the search would take long
        return ""
    lowered = {n.lower(): n for n in names}
    matches = difflib.get_close_matches(name.lower(), lowered, n=3, cutoff=0.5)
    near = [repr(lowered[m]) for m in matches]
    return "did you mean " + " or ".join(near) + "?" if near else ""
