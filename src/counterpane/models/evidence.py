"""What is known, as users say it: states, likelihoods, rows of a frame; codes come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from counterpane.data.columns import columns_of
from counterpane.data.frames import Unseen as Unseen
from counterpane.data.schema import Schema, Variable
from counterpane.data.table import Table
from counterpane.errors import DataError, EvidenceError, ParameterError
from counterpane.typing import Codes, Floats

Evidence = Mapping[str, Any] | None
"""Name → state: by equality, by interval for numeric variables that were cut, else by text."""

VirtualEvidence = Mapping[str, Any] | None
"""Name → {state: likelihood} with all states, or the likelihoods in the order of the states."""


def read_evidence(schema: Schema, evidence: Evidence) -> dict[int, int]:
    """Variable → code."""
    told = evidence or {}
    return {schema.index(name): schema[name].code(state) for name, state in told.items()}


def read_likelihoods(
    schema: Schema, virtual_evidence: VirtualEvidence, given: Mapping[int, int]
) -> dict[int, Floats]:
    """Variable → likelihoods of its states; none may be given as well."""
    found = {}
    for name, likelihoods in (virtual_evidence or {}).items():
        v = schema.index(name)
        if v in given:
            raise EvidenceError(
                f"{name!r} has both evidence and virtual evidence; drop one of the two."
            )
        found[v] = _likelihoods(schema[v], likelihoods)
    return found


def _likelihoods(variable: Variable, given: Any) -> Floats:
    told = given
    if isinstance(given, Mapping):
        by_code = {variable.code(state): value for state, value in given.items()}
        told = [by_code.get(code, np.nan) for code in range(variable.card)]
    try:
        values = np.array(told, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    good = values.shape == (variable.card,) and np.isfinite(values).all() and (values >= 0).all()
    if not good or values.max() == 0:
        raise ParameterError(
            f"the virtual evidence on {variable.name!r} is {given!r}; for each of its "
            f"{variable.card} states a likelihood is needed, not negative and not all zero."
        )
    return values


def read_rows(
    schema: Schema, frame: Any, asked: Sequence[int], unseen: Unseen = "error"
) -> tuple[tuple[int, ...], Codes]:
    """(the variables that the frame tells of, without those asked; their codes, one row each)."""
    source = frame
    if isinstance(frame, Table):
        names: Iterable[str] = frame.schema.names
    else:
        source = columns_of(frame, schema.names)
        names = [column.name for column in source]
    known = {name: v for v, name in enumerate(schema.names)}
    told = tuple(known[n] for n in names if n in known and known[n] not in asked)
    if not told:
        raise DataError(
            f"no column of the frame ({', '.join(map(repr, list(names)[:6]))}) is a variable of "
            "the model that is not asked; name the columns as in the model's schema."
        )
    return told, Table.from_frame(source, schema=schema.select(told), unseen=unseen).codes
