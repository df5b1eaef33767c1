"""Evidence, queries and results in the formats of the UAI inference competitions.

Variables and states are numbers, in the order of the model's columns and of their states.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from counterpane.data.schema import Schema
from counterpane.formats.files import Source
from counterpane.typing import Floats

TASKS = ("MAR", "PR", "MPE", "MMAP")
"""Marginals, partition function, most probable explanation, marginal MAP."""


def read_uai_evidence(path: str | os.PathLike[str], schema: Schema) -> dict[str, Any]:
    """The evidence in a `.evid` file, as a mapping from columns to states.

    Some files say first how many samples of evidence follow; an even count of numbers means so.
    Only one sample is allowed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "a.evid"
    >>> _ = path.write_text("2  0 1  2 0")
    >>> read_uai_evidence(path, Schema.from_cards([2, 2, 2]))
    {'x0': 1, 'x2': 0}
    """
    numbers, source = _numbers(path)
    if not numbers:
        return {}
    if len(numbers) % 2 == 0:
        if numbers[0] > 1:
            source.fail(1, f"{numbers[0]} samples of evidence stand in the file; one is allowed")
        numbers = numbers[1:]
        if not numbers or numbers == [0]:
            return {}
    count, pairs = numbers[0], numbers[1:]
    if len(pairs) != 2 * count:
        source.fail(1, f"{count} pairs are announced and {len(pairs) / 2:g} follow")
    evidence: dict[str, Any] = {}
    for v, code in zip(pairs[::2], pairs[1::2], strict=True):
        if not 0 <= v < len(schema) or not 0 <= code < schema[v].card:
            source.fail(1, f"variable {v}, state {code}: the model has no such variable or state")
        state = schema[v].states[code]
        if evidence.setdefault(schema.names[v], state) != state:
            source.fail(1, f"variable {v} is given twice, with different states")
    return evidence


def read_uai_query(path: str | os.PathLike[str], schema: Schema) -> list[str]:
    """The columns in a `.query` file: their number, then their positions.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "a.query"
    >>> _ = path.write_text("2  2 0")
    >>> read_uai_query(path, Schema.from_cards([2, 2, 2]))
    ['x2', 'x0']
    """
    numbers, source = _numbers(path)
    if not numbers or len(numbers) != numbers[0] + 1:
        source.fail(1, "the number of variables and then as many of them are needed")
    bad = [v for v in numbers[1:] if not 0 <= v < len(schema)]
    if bad:
        source.fail(1, f"variable {bad[0]}: the model has {len(schema)}")
    return [schema.names[v] for v in numbers[1:]]


def uai_marginals(tables: Sequence[Floats | Sequence[float]]) -> str:
    """The result of task MAR: the marginals of all variables, observed ones too.

    >>> uai_marginals([[0.25, 0.75]])
    'MAR\\n1 2 0.25 0.75\\n'
    """
    parts = [" ".join([str(len(p)), *(f"{x:.9g}" for x in p)]) for p in tables]
    return f"MAR\n{' '.join([str(len(parts)), *parts])}\n"


def uai_partition(log_value: float) -> str:
    """The result of task PR: the logarithm to base 10 of the sum over all rows.

    >>> uai_partition(float(np.log(100)))
    'PR\\n2\\n'
    """
    return f"PR\n{log_value / np.log(10):.12g}\n"


def uai_states(schema: Schema, states: Mapping[str, Any], *, pairs: bool) -> str:
    """The result of task MPE, the states of all variables, or of MMAP: pairs with their variables.

    >>> schema = Schema.from_cards([2, 2])
    >>> uai_states(schema, {"x0": 1, "x1": 0}, pairs=False)
    'MPE\\n2 1 0\\n'
    >>> uai_states(schema, {"x1": 1}, pairs=True)
    'MMAP\\n1 1 1\\n'
    """
    codes = {schema.index(name): schema[name].code(state) for name, state in states.items()}
    if not pairs:
        return f"MPE\n{' '.join(map(str, [len(schema), *(codes[v] for v in sorted(codes))]))}\n"
    flat = [x for v, code in codes.items() for x in (v, code)]
    return f"MMAP\n{' '.join(map(str, [len(codes), *flat]))}\n"


def _numbers(path: str | os.PathLike[str]) -> tuple[list[int], Source]:
    """The whole numbers in a file, plain or gzipped."""
    source = Source(path)
    words = b"".join(source.pieces(limit=2**26)).split()
    bad = [word for word in words if not word.isdigit() or len(word) > 9]
    if bad:
        shown = bad[0][:20].decode(errors="replace")
        source.fail(1, f"{shown!r} stands where a whole number is needed")
    return [int(word) for word in words], source
