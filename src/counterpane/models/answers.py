"""Answers that are several: for many rows, or with the bounds of what is not certain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from counterpane.data.columns import Column, Numbers
from counterpane.data.export import Exportable
from counterpane.data.schema import Variable, state_text
from counterpane.models.answer import Answer
from counterpane.models.certainty import Certainty
from counterpane.typing import Array, Floats


class Answers(Exportable, Sequence[Answer]):
    """P(variables | row) for each row: `probabilities` has the shape (n_rows, states…).

    `log_evidence` is ln P(evidence of the row), −∞ for a row that is impossible; it may be given
    as a function, as in an `Answer`. `certainty` says how sure answers are that are not exact.
    Indexed by the row, it gives an `Answer`. As a frame (`to_pandas`, `to_polars`, `to_arrow`, or
    `to_frame`, of the kind that was asked about) it has a column for each state.

    >>> import numpy as np
    >>> lung = Variable("lung", ("no", "yes"))
    >>> answers = Answers([lung], np.array([[0.9, 0.1], [0.4, 0.6]]), np.zeros(2))
    >>> answers[1]["yes"], answers.to_dict()
    (0.6, {'lung=no': array([0.9, 0.4]), 'lung=yes': array([0.1, 0.6])})
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        probabilities: Floats,
        log_evidence: Floats | Callable[[], Floats],
        certainty: Certainty | None = None,
    ) -> None:
        self.variables = tuple(variables)
        self.certainty = certainty
        self.probabilities = probabilities.view()
        self.probabilities.flags.writeable = False
        self._log_evidence = log_evidence

    @property
    def log_evidence(self) -> Floats:
        """ln P(evidence of the row), natural log, shape (n_rows,), read-only."""
        if callable(self._log_evidence):
            self._log_evidence = self._log_evidence()
        view = self._log_evidence.view()
        view.flags.writeable = False
        return view

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables, one for each axis after the rows."""
        return tuple(v.name for v in self.variables)

    def __len__(self) -> int:
        return len(self.probabilities)

    def __getitem__(self, row: int) -> Answer:  # type: ignore[override]
        return Answer(
            self.variables, self.probabilities[row], lambda: float(self.log_evidence[row])
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.probabilities, dtype=dtype)

    def to_columns(self) -> list[Column]:
        """The probability of each combination of states."""
        none = np.zeros(len(self), dtype=bool)
        return [Numbers(name, values, none) for name, values in self.to_dict().items()]

    def to_dict(self) -> dict[str, Floats]:
        """A column for each combination of states, as any frame library takes it."""
        states = product(*([f"{v.name}={state_text(s)}" for s in v.states] for v in self.variables))
        columns = self.probabilities.reshape(len(self), -1).T
        return {", ".join(names): column for names, column in zip(states, columns, strict=True)}

    def __repr__(self) -> str:
        return f"Answers({len(self):,} rows, P({', '.join(self.names)} | row))"


class Interval(NamedTuple):
    """An answer and the bounds around it, state by state; the bounds need not sum to 1."""

    mean: Answer
    lower: Answer
    upper: Answer
