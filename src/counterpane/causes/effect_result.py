"""Effects as users read them: probabilities under do, differences and ratios, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from counterpane.data.schema import Variable, state_text
from counterpane.errors import ParameterError, Setting, visible
from counterpane.plotting import draw_plot
from counterpane.present.html import framed, line
from counterpane.present.table import TextTable
from counterpane.typing import Floats


@dataclass(frozen=True, eq=False)
class EffectEstimate:
    """P(outcome | do(treatment)) in one graph, or averaged over several.

    Attributes
    ----------
    probabilities : array
        Axes: the treatments, then the outcome.
    draws : array or None
        The same for draws from the posterior, along a first axis; None where the tables of a
        network are taken as certain.
    adjusted_for : tuple of str or None
        The parents of the treatment in the graph, which the estimate adjusts for.
    acts : float
        1 where the graph has a directed path from treatment to outcome, 0 where not; of several
        graphs, the share that has one.
    """

    probabilities: Floats
    draws: Floats | None
    adjusted_for: tuple[str, ...] | None
    acts: float


@dataclass(frozen=True, eq=False)
class CausalEffect:
    """What `effect` returns: P(outcome | do(treatment = each state)), and how sure it is.

    Attributes
    ----------
    treatment : tuple of Variable
        The columns that are set.
    outcome : Variable
        The column asked about.
    given : dict
        The states of other columns, for the effect within a group.
    estimates : tuple of EffectEstimate
        One where the graph determines the effect; else one for each different effect that the
        graphs of the equivalence class have.
    observed : array or None
        The shares of the outcome in the rows with each state of the treatment; NaN where there are
        none. None where the rows are not known.
    baseline : tuple of int
        The codes of the states that differences and ratios compare with.
    level : float
        The level of the intervals.
    notes : tuple of str
        What the answer rests on, the most important first.
    """

    treatment: tuple[Variable, ...]
    outcome: Variable
    given: Mapping[str, Any]
    estimates: tuple[EffectEstimate, ...]
    observed: Floats | None
    baseline: tuple[int, ...]
    level: float
    notes: tuple[str, ...] = field(default=())

    @property
    def determined(self) -> bool:
        """Whether all graphs that come into question have the same effect."""
        return len(self.estimates) == 1

    @property
    def probabilities(self) -> Floats:
        """P(outcome | do(treatment)), axes (treatments…, outcome); needs a `determined` effect."""
        if not self.determined:
            raise ParameterError(
                f"the data leave {len(self.estimates)} different effects possible; read least and "
                "most, or estimates."
            )
        return self.estimates[0].probabilities

    @property
    def least(self) -> Floats:
        """The smallest P(outcome | do(treatment)) of all graphs that come into question."""
        smallest: Floats = self._values("probability").min(axis=0)
        return smallest

    @property
    def most(self) -> Floats:
        """The largest."""
        largest: Floats = self._values("probability").max(axis=0)
        return largest

    def _measure(self, tables: Floats, measure: str) -> Floats:
        """Probabilities, differences to the baseline or ratios; the treatments' axes end in −2."""
        if measure == "probability":
            return tables
        base = tables
        for axis, code in zip(range(-len(self.baseline) - 1, -1), self.baseline, strict=True):
            base = base.take([code], axis=axis)
        if measure == "difference":
            return tables - base
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(base > 0, tables / base, np.nan)

    def _values(self, measure: str) -> Floats:
        return self._measure(np.stack([e.probabilities for e in self.estimates]), measure)

    def interval(self, measure: str = "probability") -> tuple[Floats, Floats] | None:
        """(lower, upper) of a "probability", "difference" or "ratio": the middle `level`.

        Where several effects are possible, from the lowest lower bound to the highest upper one.
        None where the tables are taken as certain.
        """
        if measure not in ("probability", "difference", "ratio"):
            raise ParameterError(
                Setting("measure", measure), "; 'probability', 'difference' or 'ratio' is allowed."
            )
        ends = []
        for estimate in self.estimates:
            if estimate.draws is None:
                return None
            drawn = self._measure(estimate.draws, measure)
            tails = [(1 - self.level) / 2, (1 + self.level) / 2]
            ends.append(np.nanquantile(drawn, tails, axis=0))
        return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)

    def records(self) -> list[dict[str, Any]]:
        """A dictionary for each pair of states, as any frame library takes a list of them.

        `probability`, `difference` and `ratio` are ranges (`_least`, `_most`) where the data leave
        several effects possible; `_lower` and `_upper` are the ends of the interval.
        """
        values = {m: self._values(m) for m in ("probability", "difference", "ratio")}
        intervals = {m: self.interval(m) for m in values}
        records = []
        for cell in np.ndindex(*self.estimates[0].probabilities.shape):
            record: dict[str, Any] = {
                v.name: v.states[code] for v, code in zip(self._variables, cell, strict=True)
            }
            record["observed"] = None if self.observed is None else float(self.observed[cell])
            for measure, several in values.items():
                here = several[(slice(None), *cell)]
                if self.determined:
                    record[measure] = float(here[0])
                else:
                    record[f"{measure}_least"] = float(here.min())
                    record[f"{measure}_most"] = float(here.max())
                ends = intervals[measure]
                if ends is not None:
                    record[f"{measure}_lower"] = float(ends[0][cell])
                    record[f"{measure}_upper"] = float(ends[1][cell])
            records.append(record)
        return records

    @property
    def _variables(self) -> tuple[Variable, ...]:
        return (*self.treatment, self.outcome)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        return {
            "treatment": [v.name for v in self.treatment],
            "outcome": self.outcome.name,
            "given": dict(self.given),
            "baseline": [v.states[c] for v, c in zip(self.treatment, self.baseline, strict=True)],
            "level": self.level,
            "determined": self.determined,
            "notes": list(self.notes),
            "cells": self.records(),
            "estimates": [
                {
                    "adjusted_for": None if e.adjusted_for is None else list(e.adjusted_for),
                    "acts": e.acts,
                    "probabilities": e.probabilities.tolist(),
                }
                for e in self.estimates
            ],
        }

    @property
    def question(self) -> str:
        """The effect as P(y | do(x), z=…)."""
        right = [f"do({', '.join(v.name for v in self.treatment)})"]
        right += [f"{name}={_shown_state(value)}" for name, value in self.given.items()]
        return f"P({self.outcome.name} | {', '.join(right)})"

    def lines(self) -> tuple[list[str], list[list[str]]]:
        """(head, rows) of the table that is printed."""
        percent = f"{100 * self.level:g} %"
        certain = self.interval() is None
        base = ", ".join(
            f"{v.name}={state_text(v.states[c])}"
            for v, c in zip(self.treatment, self.baseline, strict=True)
        )
        kinds = (("probability", "do"), ("difference", f"minus {base}"), ("ratio", "ratio"))
        head = [v.name for v in self._variables]
        head += [] if self.observed is None else ["seen"]
        for measure, title in kinds:
            head += [title] if certain or measure == "ratio" else [title, percent]
        rows = []
        for record in self.records():
            row = [state_text(record[v.name]) for v in self._variables]
            row += [] if self.observed is None else [_number(record["observed"])]
            at_base = all(
                record[v.name] == v.states[c]
                for v, c in zip(self.treatment, self.baseline, strict=True)
            )
            for measure, _ in kinds:
                skip = at_base and measure != "probability"
                row.append("" if skip else self._cell(record, measure))
                if not certain and measure != "ratio":
                    ends = record[f"{measure}_lower"], record[f"{measure}_upper"]
                    row.append("" if skip else f"{_number(ends[0])} … {_number(ends[1])}")
            rows.append(row)
        return head, rows

    def _cell(self, record: Mapping[str, Any], measure: str) -> str:
        if self.determined:
            return _number(record[measure])
        least, most = record[f"{measure}_least"], record[f"{measure}_most"]
        return f"{_number(least)} to {_number(most)}"

    def table(self) -> TextTable:
        """Return a table of the first rows, with the notes."""
        head, rows = self.lines()
        return TextTable.of(head, rows, title=self.question, notes=self.notes[1:])

    def __str__(self) -> str:
        return visible_lines([*self.notes[:1], self.table().to_text()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return framed(self.question, *map(line, self.notes[:1]), self.table().to_html())

    def plot(self, **options: Any) -> Any:
        """The probabilities with their intervals; see `counterpane.plots.causal_effect`."""
        return draw_plot("causal_effect", self, **options)


def without_missing_cells(effect: CausalEffect) -> CausalEffect:
    """The effect without the state of missing cells: nobody sets it, and no outcome has it."""
    kept = tuple(slice(v.n_known) for v in effect._variables)
    if all(cut.stop == v.card for cut, v in zip(kept, effect._variables, strict=True)):
        return effect

    def shares(tables: Floats | None) -> Any:
        if tables is None:
            return None
        part = tables[*kept] if tables.ndim == len(kept) else tables[:, *kept]
        with np.errstate(invalid="ignore"):
            return part / part.sum(axis=-1, keepdims=True)

    variables = [
        replace(v, states=v.states[:-1]) if v.states[-1] is None else v for v in effect._variables
    ]
    estimates = tuple(
        replace(e, probabilities=shares(e.probabilities), draws=shares(e.draws))
        for e in effect.estimates
    )
    return replace(
        effect,
        treatment=tuple(variables[:-1]),
        outcome=variables[-1],
        estimates=estimates,
        observed=shares(effect.observed),
    )


def visible_lines(lines: Sequence[str]) -> str:
    """Lines of text, their control characters as signs."""
    return "\n".join(map(visible, lines))


def _number(value: float) -> str:
    if np.isnan(value):
        return "–"
    text = f"{value:.3f}" if abs(value) < 100 else f"{value:.3g}"
    return "0.000" if text == "-0.000" else text


def _shown_state(value: Any) -> str:
    return state_text(value) if isinstance(value, str | int | float | bool | None) else str(value)


def treatment_states(effect: CausalEffect) -> list[str]:
    """A text for each combination of states of the treatments, in the order of the axes."""
    states = product(*(v.states for v in effect.treatment))
    return [", ".join(map(state_text, combination)) for combination in states]
