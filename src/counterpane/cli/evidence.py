"""Evidence on the command line: `--given column=state`, sets and ranges, parsed for a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from counterpane.errors import ParameterError, unknown_name
from counterpane.lazy import lazy

dates = lazy("counterpane.data.dates")
np = lazy("numpy")
ranges = lazy("counterpane.data.ranges")
schemas = lazy("counterpane.data.schema")

SIGNS = (">=", "<=", "≥", "≤", "=", ">", "<")
_BELOW = "(<=|≤|<)"


@dataclass(frozen=True)
class ParsedEvidence:
    """The evidence of the --given options by column, and each option as it was written."""

    evidence: dict[str, Any]
    texts: tuple[str, ...]

    def merged(self, states: dict[str, Any]) -> ParsedEvidence:
        """This evidence and that of a file; a column may be in one of them."""
        both = sorted(self.evidence.keys() & states.keys())
        if both:
            raise ParameterError(f"{both[0]!r} is both in --given and in the file; drop one.")
        texts = (f"{name}={state}" for name, state in states.items())
        return ParsedEvidence({**self.evidence, **states}, (*self.texts, *texts))

    def to_dict(self) -> dict[str, Any]:
        """The evidence for JSON: a state, a list of states, or the ends of a range."""
        return {
            name: asdict(value) if isinstance(value, ranges.Range) else value
            for name, value in self.evidence.items()
        }


def evidence_of(
    model: Any, options: Sequence[str] | None, option_name: str = "--given"
) -> ParsedEvidence:
    """The evidence in options such as sex=female, port=a|b, mpg>30 and 20<mpg<=30.

    A column name or a state that has one of these signs in it is looked for first. Ranges of one
    column are taken together; any other column may be named once.
    """
    evidence: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for option in options or ():
        name, value = _read(option, model.schema, option_name)
        if name in evidence:
            both = (evidence[name], value)
            if not all(isinstance(v, ranges.Range) for v in both):
                raise ParameterError(
                    f"{option_name} names the column {name!r} twice ({texts[name]}, "
                    f"{option.strip()}); give it once, and several states as {name}=a|b."
                )
            value = both[0] & both[1]
        evidence[name] = value
        texts[name] = f"{texts[name]}, {option.strip()}" if name in texts else option.strip()
    return ParsedEvidence(evidence, tuple(texts.values()))


def _read(option: str, schema: Any, option_name: str) -> tuple[str, Any]:
    """The column of an option, and its state, states or range."""
    text = option.strip()
    names = sorted(schema.names, key=len, reverse=True)
    for name in names:
        rest = text.removeprefix(name).lstrip() if text.startswith(name) else ""
        sign = next((s for s in SIGNS if rest.startswith(s)), None)
        if sign is not None:
            value = rest[len(sign) :].strip()
            if sign == "=":
                return name, _states(schema[name], value)
            end = _end(schema[name], value)
            closed = sign in (">=", "<=", "≥", "≤")
            if sign in (">", ">=", "≥"):
                return name, ranges.Range(low=end, include_low=closed)
            return name, ranges.Range(high=end, include_high=closed)
    for name in names:
        match = re.fullmatch(rf"(.+?)\s*{_BELOW}\s*{re.escape(name)}\s*{_BELOW}\s*(.+)", text)
        if match:
            low, high = (_end(schema[name], match[i]) for i in (1, 4))
            return name, ranges.Range(low, high, match[2] != "<", match[3] != "<")
    column = re.split("[=<>≤≥]", text)[0].strip()
    if column and column != text:
        raise unknown_name("column", column, schema.names)
    raise ParameterError(
        f"{option_name} {option!r} is not of the form column=state; write it as sex=female, "
        "port=a|b, or, in quotes, 'mpg>30'."
    )


def _states(variable: Any, value: str) -> Any:
    """The state that is named, or the list of those between bars."""
    state = _state(variable, value)
    if "|" not in value or variable.find(state) is not None:
        variable.code(state)  # an unknown one raises
        return state
    several = [_state(variable, part.strip()) for part in value.split("|")]
    for part in several:
        variable.code(part)
    return several


def _state(variable: Any, text: str) -> str | None:
    if text == schemas.MISSING and variable.find(text) is None:
        return None
    return _canonical(variable, text)


def _end(variable: Any, text: str) -> Any:
    """An end of a range: a number, or a date as text."""
    text = _canonical(variable, text.strip())
    if not variable.dated:
        with suppress(ValueError):
            return float(text) if "." in text or "e" in text.lower() else int(text)
    return text


def _canonical(variable: Any, text: str) -> str:
    """A date such as 3/4/2021 or a number such as $1,234 as a model takes it; else the text."""
    written = variable.written
    if written is None or (written.number.is_plain and written.day_first is None):
        return text
    if not written.number.is_plain:
        number = written.number.number(text)
        return text if number is None else f"{number:.15g}"
    day = dates.day_number(text, day_first=written.day_first)
    return text if day is None else dates.date_texts(np.array([day]))[0]
