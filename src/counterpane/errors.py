"""The library's own exceptions. Each message is one sentence: what, where, got, allowed, next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CounterpaneError(Exception):
    """Base of every error that Counterpane raises on purpose."""


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


class UnknownNameError(CounterpaneError, LookupError):
    """A name is not known; the message offers the nearest known ones."""


class TableSizeError(CounterpaneError, MemoryError):
    """A dense table would exceed the limit; nothing was allocated."""


class FileFormatError(CounterpaneError, ValueError):
    """A file is damaged, cut short, or not of the kind its name says."""


class VersionError(FileFormatError):
    """A model file was written by a newer version of the format."""


def unknown_name(kind: str, name: object, known: Iterable[object]) -> UnknownNameError:
    """An `UnknownNameError` for `name` that offers the nearest known names, or else the list."""
    names = [str(k) for k in known]
    lowered = {n.lower(): n for n in names}
    matches = difflib.get_close_matches(str(name).lower(), lowered, n=3, cutoff=0.5)
    near = [lowered[m] for m in matches]
    if near:
        hint = "did you mean " + " or ".join(repr(n) for n in near) + "?"
    elif len(names) <= 12:
        hint = "known: " + ", ".join(repr(n) for n in names) + "."
    else:
        hint = f"{len(names)} are known, among them " + ", ".join(repr(n) for n in names[:6]) + "."
    return UnknownNameError(f"{kind} {str(name)!r} is not known; {hint}")
