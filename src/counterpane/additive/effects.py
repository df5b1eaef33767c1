"""Effects of a classifier's interactions on log-odds, and the explanation of one row by them.

The only definition of effects: the command, its JSON, reports, pictures and `explain` use it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from counterpane.additive.attribution import attributed
from counterpane.data.columns import Labels, Numbers
from counterpane.data.schema import Schema, state_text
from counterpane.errors import DataError, ParameterError
from counterpane.features import Potential
from counterpane.present.html import CELL, framed, text
from counterpane.present.table import TextTable, right
from counterpane.typing import Array, Floats, State

MIN_SAMPLES = 20  # samples below which a share is not shown
CAPTION = "numbers: effect on log-odds"
MEANING = (
    "The effect is the standard deviation, over the training rows, of what the interaction adds to "
    "the log-odds of the class, in nats. Interactions are purified: each has the mean zero over "
    "each of its columns."
)
NEGLIGIBLE = 1e-9
LEAST_SHOWN = 0.0005  # of log-odds, which are printed with three decimals
SHOWN = 12  # interactions of a row that are printed
NAMED = 6  # columns that are not given, at most
INTERCEPT = "(intercept)"
LEAST = -700.0  # the log that stands for that of an impossible cell


def log_odds(logs: Floats) -> Floats:
    """The log-odds of each class, from logs of probabilities; classes are on the last axis.

    For two classes this is ln P(class) / P(other class). For more classes it is the log of P(class)
    relative to the geometric mean of all classes, so that the values of two classes differ by the
    log of the ratio of their probabilities.

    >>> log_odds(np.log([0.2, 0.8])).round(4).tolist()
    [-1.3863, 1.3863]
    """
    centered: Floats = logs - logs.mean(axis=-1, keepdims=True)
    return 2 * centered if logs.shape[-1] == 2 else centered


class Effects(NamedTuple):
    """The effect of each interaction of a model, in the order of its `faces`.

    `sizes` are standard deviations over rows of what an interaction adds to `log_odds`, in nats; of
    more than two classes the root mean square, the classes weighed by their shares. `shares` tells
    on which share of `samples` random halves of the rows an interaction was selected; it is NaN for
    single columns, which all models have.
    """

    sizes: Floats
    shares: Floats
    samples: int = 0

    @property
    def variance_shares(self) -> Floats:
        """The variance of each interaction over the sum of all: from 0 to 1, together 1.

        All are 0 if no interaction has an effect.
        """
        variances: Floats = self.sizes**2
        total = float(variances.sum())
        return variances / total if total > 0 else variances

    def share_of(self, place: int) -> float | None:
        """The share of the samples with an interaction; None for too few samples."""
        known = self.samples >= MIN_SAMPLES and not np.isnan(self.shares[place])
        return float(self.shares[place]) if known else None

    def to_arrays(self) -> dict[str, Array]:
        """All of it as arrays."""
        return {
            "sizes": self.sizes,
            "shares": self.shares,
            "samples": np.array([self.samples], dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """The effects that `to_arrays` described."""
        sizes, shares = arrays["sizes"], arrays["shares"]
        for column in (sizes, shares):
            if column.ndim != 1 or column.dtype.kind != "f" or column.size != sizes.size:
                raise ParameterError("effects are two columns of real numbers of one length.")
        return cls(sizes, shares, int(arrays["samples"][0]))


def measure_effects(contributions: Floats, weights: Floats, class_shares: Floats) -> Effects:
    """The effects of contributions (interactions, rows, classes) on the scale of `log_odds`.

    >>> one = log_odds(np.array([[0.0, 1.0], [0.0, -1.0]]))
    >>> two = log_odds(np.array([[0.0, 0.5], [0.0, 0.5]]))
    >>> found = measure_effects(np.stack([one, two]), np.ones(2), np.array([0.5, 0.5]))
    >>> found.sizes.tolist(), found.variance_shares.tolist()
    ([1.0, 0.0], [1.0, 0.0])
    """
    share = (weights / weights.sum())[:, None] * class_shares
    means = np.einsum("frc,r->fc", contributions, weights / weights.sum())
    moved = contributions - means[:, None]
    variances = np.einsum("frc,rc->f", moved**2, share)
    return Effects(np.sqrt(variances), np.full(len(variances), np.nan))


class Explanation(list[dict[str, Any]]):
    """What moved the probabilities of one row: records, the largest first; see `explanation`.

    Printed, it is a line for each of the largest, their sum, and the probability that this is; in
    a notebook a table with bars.
    """

    def __init__(self, records: Iterable[dict[str, Any]] = (), target: str = "class") -> None:
        super().__init__(records)
        self.target = target

    @property
    def predicted(self) -> State:
        """The most probable class, which is the one that is printed."""
        shares = explained_probabilities(self)
        return max(shares, key=lambda state: shares[state])

    def log_odds(self, state: State) -> float:
        """The log-odds of a class: the sum of all contributions to it."""
        return float(sum(record["contributions"][state] for record in self))

    def records(self, state: State) -> list[dict[str, Any]]:
        """What each part adds to the log-odds of a class, the largest first."""
        keys = ("columns", "name")
        records = [
            {**{key: r[key] for key in keys}, "log_odds": r["contributions"][state]} for r in self
        ]
        return sorted(records, key=lambda record: -abs(record["log_odds"]))

    def parts(self, state: State, most: int = SHOWN) -> list[tuple[str, float]]:
        """(name, what is added to the log-odds of a class), the largest first; few, and the rest.

        Their sum is the log-odds.
        """
        parts = [(str(r["name"]), float(r["log_odds"])) for r in self.records(state)]
        rest = parts[most:]
        if rest:
            parts = [*parts[:most], (f"{len(rest)} more", sum(value for _, value in rest))]
        return parts

    def __str__(self) -> str:
        if not self:
            return "[]"
        return self.table().to_text()

    def table(self) -> TextTable:
        """Return a line for each part of the log-odds of the predicted class, and their sum."""
        return self.class_table(self.predicted)

    def class_table(self, state: State, most: int = SHOWN) -> TextTable:
        """Return the largest parts of the log-odds of a class, and their sum."""
        parts = [*self.parts(state, most), ("in total", self.log_odds(state))]
        lines = [(_signed(value), words) for words, value in parts]
        return TextTable.of((right(""), ""), lines, title=self._title(state), most=None)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        state = self.predicted
        parts = self.parts(state)
        most = max(abs(value) for _, value in parts) or 1.0
        rows = "".join(
            f'<tr><td style="{CELL};text-align:right">{_signed(value)}</td>'
            f'<td style="{CELL}"><div style="display:inline-block;height:9px;width:'
            f"{120 * abs(value) / most:.0f}px;background:{'#3f75c4' if value > 0 else '#c8601a'}"
            f'"></div></td><td style="{CELL}">{text(words)}</td></tr>'
            for words, value in parts
        )
        total = _signed(self.log_odds(state))
        rows += f'<tr><td style="{CELL};text-align:right"><strong>{total}</strong></td>'
        rows += f'<td style="{CELL}"></td><td style="{CELL}">in total</td></tr>'
        return framed(self._title(state), f'<table style="border-collapse:collapse">{rows}</table>')

    def _title(self, state: State) -> str:
        shares = explained_probabilities(self)
        odds = "log-odds" if len(shares) == 2 else "log-odds relative to the mean of the classes"
        return f"P({self.target} = {state_text(state)}) = {shares[state]:.3f}; {odds}:"


def _signed(log_odds: float) -> str:
    """The number with its sign; what rounds to 0 has none."""
    return f"{log_odds:+.3f}" if abs(log_odds) >= LEAST_SHOWN else "0.000"


def _name(face: tuple[str, ...], states: tuple[State, ...]) -> str:
    """The columns of a record with the cells of the row."""
    if not face:
        return INTERCEPT
    cells = zip(face, states, strict=True)
    return " × ".join(f"{name} = {state_text(state)}" for name, state in cells)


def not_given(names: Sequence[str]) -> str:
    """The name of what columns add that are not given: an average over their values.

    >>> not_given(["age", "sex"])
    '(not given: age, sex)'
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"(not given: {', '.join(names[:NAMED])}{more})"


def explanation(
    faces: Sequence[tuple[str, ...] | None],
    states: Sequence[tuple[State, ...]],
    values: Floats,
    shares: Sequence[float | None],
    log_proba: Floats,
    classes: Array,
    target: str = "class",
    rest: str = "",
) -> Explanation:
    """What moved the probabilities of one row, the largest first.

    `values`, (faces, classes), are what each interaction adds to the log-odds of each class, as
    `log_odds` has them. A record has `columns` (the names; empty for the
    intercept, which the class has in all rows), also as a tuple called `face`, `states` of the row,
    `name`, both in words, `share` (the weight of the structures that hold the interaction, or the
    share of half samples; None where neither is known), `contributions`, the values by class, and
    `size`, the largest of these. The contributions to a class sum over the records to exactly its
    log-odds, ln P(class) / P(other class) for two classes. What columns add that are not given, on
    average over their values, is a record whose columns are None; `rest` is its name. Without
    `rest`, a difference by rounding is in the largest record.

    >>> logs = np.log(np.array([0.2, 0.8]))
    >>> odds = log_odds(logs)[None]
    >>> record, = explanation([("x",)], [("a",)], odds, [1.0], logs, np.array(["n", "y"]))
    >>> record["columns"], round(record["contributions"]["y"], 4)
    (['x'], 1.3863)
    """
    left = log_odds(log_proba) - values.sum(axis=0)
    rows = list(zip(faces, states, shares, values, strict=True))
    if not rest and rows:
        largest = int(np.abs(values).max(axis=1).argmax())
        rows[largest] = (*rows[largest][:3], values[largest] + left)
    elif np.abs(left).max() > NEGLIGIBLE:
        rows.append((None, (), None, left))
    labels = classes.tolist()
    records = [
        {
            "columns": None if face is None else list(face),
            "face": face,
            "states": row_states,
            "name": rest if face is None else _name(face, row_states),
            "share": None if share is None else float(share),
            "contributions": dict(zip(labels, row.tolist(), strict=True)),
            "size": float(np.abs(row).max()),
        }
        for face, row_states, share, row in rows
    ]
    return Explanation(sorted(records, key=lambda record: -record["size"]), target)


class Members(NamedTuple):
    """Models that are products of potentials, and their weights in an average.

    The weights are `fixed` if the average is over P(class | row); otherwise each counts as much as
    it makes the row probable.
    """

    weights: Sequence[float]
    potentials: Sequence[Iterable[Potential]]
    fixed: bool


def explain_by_potentials(
    members: Members,
    schema: Schema,
    target: int,
    cells: Mapping[int, int],
    log_proba: Floats,
    more: Mapping[int, Floats],
) -> Explanation:
    """The explanation of one row by models that are products of potentials.

    An interaction is the other columns of a potential that holds the class. It adds the logs of the
    potential at the row's `cells` (variable → code): in a Bayesian network the log-likelihood
    ratios of the children of the class. `more` is what those cells add to the log-odds that are in
    a potential with a column that is not given. The intercept is that of a row of which nothing is
    given, with columns that are not given averaged over.
    """
    whole = cells.keys() - more.keys()
    n, size = len(members.weights), schema[target].card
    sums: dict[tuple[int, ...], Floats] = {}
    shares: dict[tuple[int, ...], float] = {}
    fits = np.zeros(n)
    for m, potentials in enumerate(members.potentials):
        for potential in potentials:
            others = tuple(sorted(v for v in potential.scope if v != target))
            if not whole >= set(others):
                continue
            values = np.maximum(potential.at(cells).log_values, LEAST)
            if target not in potential.scope:
                fits[m] += float(values)
                continue
            sums.setdefault(others, np.zeros((n, size)))[m] += values
            shares[others] = shares.get(others, 0.0) + members.weights[m]
    parts = np.array(list(sums.values())).reshape(-1, n, size)
    logs = np.log(members.weights)
    if not members.fixed:
        logs += fits + np.logaddexp.reduce(parts.sum(axis=0), axis=1)
    added = dict(zip(sums, attributed(log_odds(parts), np.exp(logs - logs.max())), strict=True))
    added |= {(v,): values for v, values in more.items()}
    log_proba = np.maximum(log_proba, LEAST)
    if any(v != target and v not in cells for v in range(len(schema))):
        left = log_odds(log_proba) - sum(added.values(), np.zeros(size))
        added[()] = added.get((), np.zeros(size)) + left
    classes = np.empty(size, dtype=object)
    classes[:] = schema[target].states
    return explanation(
        [tuple(schema.names[v] for v in others) for others in added],
        [tuple(schema[v].states[cells[v]] for v in others) for others in added],
        np.array(list(added.values())).reshape(-1, size),
        [min(shares[others], 1.0) if others in shares else None for others in added],
        log_proba,
        classes,
        schema[target].name,
        f"(averaging over {n} models)" if n > 1 else "",
    )


def explained_probabilities(records: Explanation) -> dict[State, float]:
    """P(class) of the row that was explained, from the sum of the contributions.

    >>> logs = np.log(np.array([0.2, 0.8]))
    >>> odds = log_odds(logs)[None]
    >>> records = explanation([("x",)], [("a",)], odds, [1.0], logs, np.array(["n", "y"]))
    >>> {state: round(p, 4) for state, p in explained_probabilities(records).items()}
    {'n': 0.2, 'y': 0.8}
    """
    classes = list(records[0]["contributions"])
    sums = np.array([sum(r["contributions"][c] for r in records) for c in classes])
    logs = sums / 2 if len(classes) == 2 else sums
    weights = np.exp(logs - logs.max())
    return dict(zip(classes, (weights / weights.sum()).tolist(), strict=True))


def one_row(row: Any, names: Collection[str]) -> Any:
    """A single row (a mapping, a series, a list, a frame of one row) as a frame of one row.

    The columns `names` are needed; what others hold may be of any kind.
    """
    if hasattr(row, "to_dict") and getattr(row, "ndim", 2) == 1:
        row = row.to_dict()
    if isinstance(row, Mapping):
        return {
            name: cell if _holds_cells(cell) and (name in names or len(cell) == 1) else [cell]
            for name, cell in row.items()
        }
    if isinstance(row, list) and row and isinstance(row[0], Labels | Numbers):
        return row
    if isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1):
        return np.array([row], dtype=object if isinstance(row, list | tuple) else row.dtype)
    return row


def _holds_cells(value: Any) -> bool:
    """Whether a value of a row is a column of cells, and no cell."""
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def check_one(n_rows: int) -> None:
    """Refuse more than one row."""
    if n_rows != 1:
        raise DataError(f"{n_rows} rows were given to explain; pass one row at a time.")
