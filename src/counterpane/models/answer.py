"""Answers to queries: probabilities with names and states, for one row or many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers
from counterpane.data.export import Exportable
from counterpane.data.schema import Variable, state_text
from counterpane.errors import ParameterError, unknown_name, visible
from counterpane.inference.certainty import Certainty
from counterpane.plotting import draw_plot
from counterpane.present.table import LISTED, Heading, TextTable, right
from counterpane.typing import Array, Floats, State

if TYPE_CHECKING:
    from counterpane.models.row_average import Basis
    from counterpane.models.support import Support


class Answer(Exportable):
    """P(variables | evidence): `probabilities` has one axis for each of `variables`.

    As a frame (`to_pandas`, `to_polars`, `to_arrow`, `to_frame`) it has a row for each combination
    of states, with its probability; as an array it is `probabilities`.

    `log_evidence` is ln P(evidence), 0 when there is none. It may be given as a function, which is
    called when it is first asked: a model that is not normalized must sum over all rows for it.
    `certainty` says how sure an answer is that is not exact, `basis` which rows an answer of a
    classifier to partial evidence is averaged over. `notes` are cautions about the evidence, in
    sentences: a number outside the range seen in training, a `Range` that ends within an interval,
    or training rows that say something else. `support` tells how many training rows match the
    evidence, and the share of each state among them, for a model that keeps its rows.

    >>> import numpy as np
    >>> answer = Answer([Variable("lung", ("no", "yes"))], np.array([0.9, 0.1]))
    >>> answer["yes"], answer.to_dict()
    (0.1, {'no': 0.9, 'yes': 0.1})
    >>> answer
    lung  P
    no    0.9
    yes   0.1
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        probabilities: Floats,
        log_evidence: float | Callable[[], float] = 0.0,
        certainty: Certainty | None = None,
        *,
        basis: Basis | None = None,
        notes: Sequence[str] = (),
        support: Callable[[], Support | None] | None = None,
    ) -> None:
        self.variables = tuple(variables)
        self.certainty = certainty
        self.basis = basis
        self._notes = tuple(notes)
        self._find_support = support
        self.probabilities = probabilities
        if probabilities.flags.writeable:
            self.probabilities = probabilities.view()
            self.probabilities.flags.writeable = False
        self._log_evidence = log_evidence

    @cached_property
    def support(self) -> Support | None:
        """The training rows that match the evidence; None if the model does not keep its rows."""
        return None if self._find_support is None else self._find_support()

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Cautions about the answer, in sentences."""
        support = self.support
        doubt = "" if support is None else support.doubt(self.variables, self.probabilities)
        return (*self._notes, *([doubt] if doubt else []))

    @property
    def log_evidence(self) -> float:
        """ln P(evidence), natural log."""
        if callable(self._log_evidence):
            self._log_evidence = self._log_evidence()
        return self._log_evidence

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables, one for each axis."""
        return tuple(v.name for v in self.variables)

    def __getitem__(self, key: State | Mapping[str, State]) -> float:
        """The probability of a state, or of a dictionary of states; absent names are summed out."""
        if not isinstance(key, Mapping):
            if len(self.variables) != 1:
                raise ParameterError(
                    f"the answer is about {self.names}; index it by a dictionary of names and "
                    f"states, not {key!r}."
                )
            key = {self.names[0]: key}
        for name in key:
            if name not in self.names:
                raise unknown_name("variable", name, self.names)
        where = tuple(v.code(key[v.name]) if v.name in key else slice(None) for v in self.variables)
        return float(self.probabilities[where].sum())

    def __len__(self) -> int:
        """The number of states, or of combinations of states."""
        return int(self.probabilities.size)

    def __iter__(self) -> Iterator[Any]:
        """The states, or tuples of states of several variables."""
        return iter(self.to_dict())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.probabilities, dtype=dtype)

    def to_columns(self) -> list[Column]:
        """The states of each variable, and the probability of the row."""
        places = np.indices(self.probabilities.shape).reshape(len(self.variables), -1)
        columns: list[Column] = [
            Labels(v.name, v.states, codes, declared=True, cut=None if v.cuts is None else v)
            for v, codes in zip(self.variables, places, strict=True)
        ]
        name = "P" if "probability" in self.names else "probability"
        values = self.probabilities.reshape(-1)
        return [*columns, Numbers(name, values, np.zeros(values.size, dtype=bool))]

    def to_dict(self) -> dict[Any, float]:
        """State → probability for one variable; tuples of states for several."""
        return {row[0] if len(row) == 1 else row: p for row, p in self.rows()}

    def rows(self) -> Iterator[tuple[tuple[State, ...], float]]:
        """Each combination of states with its probability, the last variable fastest."""
        states = product(*(v.states for v in self.variables))
        return zip(states, self.probabilities.reshape(-1).tolist(), strict=True)

    def table(self) -> TextTable:
        """Return a table of the first states, or combinations of states."""
        first = islice(self.rows(), LISTED)
        return TextTable.of(
            (*self.names, "P"),
            [(*map(state_text, row), f"{p:.6g}") for row, p in first],
            title=self.doubt,
            bars=self.probabilities.reshape(-1)[:LISTED].tolist(),
            total=self.probabilities.size,
        )

    def __repr__(self) -> str:
        return self.table().to_text()

    @property
    def doubt(self) -> str:
        """ "not trusted: …" for an estimate that is not; empty for all other answers."""
        return "" if self.certainty is None else self.certainty.doubt

    def plot(self, **options: Any) -> Any:
        """The probabilities as bars, or as squares for two; see `counterpane.plots.answer`."""
        return draw_plot("answer", self, **options)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


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
            self.variables,
            self.probabilities[row],
            lambda: float(self.log_evidence[row]),
            self.certainty,
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
        doubt = "" if self.certainty is None else self.certainty.doubt
        text = f"Answers({len(self):,} rows, P({', '.join(self.names)} | row))"
        return visible(f"{doubt}\n{text}" if doubt else text)


class Interval(NamedTuple):
    """An answer and the bounds around it, state by state; the bounds need not sum to 1."""

    mean: Answer
    lower: Answer
    upper: Answer

    def table(self) -> TextTable:
        """Return a table of the first states, with the bounds of their probabilities."""
        ends = zip(*(part.probabilities.reshape(-1).tolist() for part in self), strict=True)
        rows = [
            (*map(state_text, row), *(f"{p:.4f}" for p in each))
            for (row, _), each in islice(zip(self.mean.rows(), ends, strict=True), LISTED)
        ]
        heads = [*map(Heading, self.mean.names), *map(right, ("P", "lower", "upper"))]
        return TextTable.of(heads, rows, total=len(self.mean))

    def __repr__(self) -> str:
        return self.table().to_text()

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()
