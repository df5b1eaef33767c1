"""Evidence as users write it (states, likelihoods, rows of a frame), encoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from counterpane.data.columns import is_missing, known_columns
from counterpane.data.dates import date_texts
from counterpane.data.encoding import Unseen as Unseen
from counterpane.data.intervals import training_range
from counterpane.data.ranges import Range, number_of
from counterpane.data.schema import MISSING, Schema, Variable
from counterpane.data.table import Table
from counterpane.errors import Advice, DataError, EvidenceError, ParameterError, shown_type
from counterpane.inference.question import CodedEvidence
from counterpane.typing import Codes, Floats

Evidence = Mapping[str, Any] | None
"""Name → state: by equality, by interval for numeric variables that were cut, else by text.

A set or list of states, of which it is one, and a `Range` of numbers or dates are evidence as well.
"""

VirtualEvidence = Mapping[str, Any] | None
"""Name → {state: likelihood} with all states, or the likelihoods in the order of the states."""


Intervention = Mapping[str, Any] | None
"""Name → the state that it is set to: one state of each, as in evidence."""


def name_list(variables: str | Iterable[str]) -> list[str]:
    """The names of the variables in a question, of which one may be passed alone."""
    if isinstance(variables, str):
        return [variables]
    if not isinstance(variables, Iterable):
        raise ParameterError(
            f"{variables!r} names no column; pass the name of a column, or a list of names."
        )
    return list(variables)


def evidence_mapping(evidence: Any, what: str = "evidence") -> Mapping[str, Any]:
    """Evidence as a mapping, empty for None; anything else is refused.

    >>> evidence_mapping({"sex": "male"}), evidence_mapping(None)
    ({'sex': 'male'}, {})
    """
    if evidence is None:
        return {}
    if not isinstance(evidence, Mapping):
        raise EvidenceError(
            f"{what} is {shown_type(evidence)}; a dictionary from columns to states is "
            "needed, such as {'sex': 'male'}."
        )
    return evidence


def evidence_codes(schema: Schema, evidence: Evidence) -> dict[int, int]:
    """Variable → code, of evidence that names one state of each."""
    known = evidence_mapping(evidence)
    return {schema.index(name): schema[name].code(s) for name, s in known.items()}


def intervention_codes(schema: Schema, do: Any, evidence: Evidence = None) -> dict[int, int]:
    """Variable → the code that it is set to; it has no evidence of its own.

    >>> intervention_codes(Schema.from_cards([2, 2]), {"x1": 1})
    {1: 1}
    """
    known, codes = evidence_mapping(evidence), {}
    for name, value in evidence_mapping(do, "do").items():
        v = schema.index(name)
        if name in known:
            raise EvidenceError(
                f"{name!r} is both set by do and given; drop it from one of the two."
            )
        if isinstance(value, Range | set | frozenset | list | tuple):
            raise EvidenceError(
                f"do={evidence_text(name, value)} leaves several states; set {name!r} to one of "
                f"{schema[v].shown_states}."
            )
        codes[v] = schema[v].code(value)
    return codes


def evidence_weights(variable: Variable, value: Any) -> Floats:
    """The weight of each state under evidence: a state, a set or list of states, or a `Range`.

    It is 1 for the states that agree and 0 for the others; for an interval that a range parts, the
    share of its values within the range.

    >>> evidence_weights(Variable("port", ("a", "b", "c")), {"a", "c"}).tolist()
    [1.0, 0.0, 1.0]
    """
    if isinstance(value, Range):
        return value.shares(variable)
    weights: Floats = np.zeros(variable.card)
    several = isinstance(value, set | frozenset | list | tuple)
    for state in value if several else [value]:
        weights[variable.code(state)] = 1.0
    if not weights.any():
        raise EvidenceError(
            f"the evidence on {variable.name!r} is an empty set; name one or more of its states: "
            f"{variable.shown_states}."
        )
    return weights


def encode_evidence(
    schema: Schema, evidence: Evidence, virtual_evidence: VirtualEvidence = None
) -> CodedEvidence:
    """The evidence in codes; what leaves several states, or part of an interval, has weights."""
    codes: dict[int, int] = {}
    weights: dict[int, Floats] = {}
    known = evidence_mapping(evidence)
    for name, value in known.items():
        v = schema.index(name)
        shares = evidence_weights(schema[v], value)
        if np.count_nonzero(shares) == 1 and shares.max() == 1.0:
            codes[v] = int(shares.argmax())
        else:
            weights[v] = shares
    for name, likelihoods in evidence_mapping(virtual_evidence, "virtual evidence").items():
        v = schema.index(name)
        if name in known:
            raise EvidenceError(
                f"{name!r} has both evidence and virtual evidence; drop one of the two."
            )
        weights[v] = _likelihoods(schema[v], likelihoods)
    return CodedEvidence(codes, weights)


def evidence_notes(schema: Schema, evidence: Evidence, *, parted: bool = True) -> tuple[str, ...]:
    """Cautions about evidence on columns that were cut, in sentences.

    They are about numbers outside the range seen in training and, if `parted`, about a `Range` that
    ends within an interval, of a model that knows intervals alone.
    """
    notes = []
    for name, value in evidence_mapping(evidence).items():
        variable = schema[name]
        if variable.cuts is None:
            continue
        if isinstance(value, Range):
            notes += [_parted_note(variable, value)] if parted else []
        else:
            several = isinstance(value, set | frozenset | list | tuple)
            notes += [_outside_note(variable, v) for v in (value if several else [value])]
    return tuple(note for note in notes if note)


def _parted_note(variable: Variable, value: Range) -> str:
    shares = value.shares(variable).tolist()
    inside = [str(s) for s, p in zip(variable.states, shares, strict=True) if 0 < p < 1]
    if not inside:
        return ""
    return (
        f"{value.text(variable.name)} ends within the interval {' and '.join(inside)}: the model "
        "treats all values of an interval alike, so the answer is approximate."
    )


def _outside_note(variable: Variable, value: Any) -> str:
    number = None if is_missing(value) else number_of(variable, value)
    seen = training_range(variable)
    if number is None or seen is None or seen[0] <= number <= seen[1]:
        return ""
    low, high = date_texts(np.array(seen)) if variable.dated else [f"{end:.12g}" for end in seen]
    return (
        f"{variable.name}={value} is outside the range seen in training, from {low} to {high}: no "
        "training row is like it."
    )


def evidence_text(name: str, value: Any) -> str:
    """Evidence on one column as a message tells it."""
    if isinstance(value, Range):
        return value.text(name)
    if isinstance(value, set | frozenset | list | tuple):
        return f"{name} in {{{', '.join(sorted(map(repr, value)))}}}"
    return f"{name}={value!r}"


def conflict_error(
    schema: Schema, conflict: CodedEvidence, evidence: Evidence = None, row: int | None = None
) -> EvidenceError:
    """The error of evidence whose part, the conflict, has probability zero."""
    names, values = schema.names, evidence or {}
    states = {v: schema[v].states[code] for v, code in conflict.codes.items()}
    texts = [f"{names[v]}={MISSING if s is None else repr(s)}" for v, s in states.items()]
    texts += [
        evidence_text(names[v], values[names[v]])
        if names[v] in values
        else f"the virtual evidence on {names[v]!r}"
        for v in conflict.weights
    ]
    where = "" if row is None else f"row {row}: "
    way = "change or drop one of it" if row is None else "change it, or pass impossible='prior'"
    return EvidenceError(
        f"{where}the evidence {', '.join(texts)} has probability zero under the model; {way}."
    )


def asked_positions(schema: Schema, names: Sequence[str], coded: CodedEvidence) -> tuple[int, ...]:
    """The positions of the queried variables, which have no evidence and come once."""
    queried = schema.indices(names)
    both = [schema.names[v] for v in queried if v in coded.codes]
    if both:
        raise EvidenceError(
            f"{both[0]!r} is both asked and given; drop it from the question or the evidence."
        )
    if len(set(queried)) != len(queried) or not queried:
        raise ParameterError(f"the question {list(names)} must name each variable once.")
    return queried


def intervened(
    model: Any,
    do: Intervention,
    evidence: Evidence,
    asked: Sequence[str] = (),
    virtual_evidence: VirtualEvidence = None,
) -> tuple[Any, Any]:
    """(the model after an intervention, the evidence with what is set); as they are without."""
    if not do:
        return model, evidence
    intervention_codes(model.schema, do, evidence)  # refuses evidence on what is set
    for name in do:
        if name in asked or name in (virtual_evidence or {}):
            what = "asked about" if name in asked else "given by virtual evidence"
            raise EvidenceError(
                f"{name!r} is both set by do and {what}; drop it from one of the two."
            )
    return model.do(do), {**evidence_mapping(evidence), **do}


def no_directions(model: Any) -> ParameterError:
    """The error of a question about causes to a model that has none."""
    return ParameterError(
        f"the edges of the {type(model).__name__} have no directions, so it cannot tell "
        "what an intervention changes; learn a Bayesian network",
        Advice(", for instance by cp.StructureSearch().", ", which `learn` does without --target."),
    )


def _likelihoods(variable: Variable, likelihoods: Any) -> Floats:
    listed = likelihoods
    if isinstance(likelihoods, Mapping):
        by_code = {variable.code(state): value for state, value in likelihoods.items()}
        listed = [by_code.get(code, np.nan) for code in range(variable.card)]
    try:
        values = np.array(listed, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    good = values.shape == (variable.card,) and np.isfinite(values).all() and (values >= 0).all()
    if not good or values.max() == 0:
        raise ParameterError(
            f"the virtual evidence on {variable.name!r} is {likelihoods!r}; for each of its "
            f"{variable.card} states a likelihood is needed, not negative and not all zero."
        )
    return values


def evidence_rows(
    schema: Schema, frame: Any, queried: Sequence[int], unseen: Unseen = "error"
) -> tuple[tuple[int, ...], Codes]:
    """(the variables that the frame has, without those queried; their codes, one row each)."""
    source = frame
    if isinstance(frame, Table):
        names: Iterable[str] = frame.schema.names
    else:
        source = known_columns(frame, schema)
        names = [column.name for column in source]
    position = {name: v for v, name in enumerate(schema.names) if v not in queried}
    columns = tuple(position[n] for n in names if n in position)
    if not columns:
        raise DataError(
            f"no column of the frame ({', '.join(map(repr, list(names)[:6]))}) is a variable of "
            "the model that is not asked; name the columns as in the model's schema."
        )
    return columns, Table.from_frame(source, schema=schema.select(columns), unseen=unseen).codes
