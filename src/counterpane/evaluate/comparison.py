"""The result of `compare` as records, text and a picture."""

from __future__ import annotations

import io
import math
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, TypeAlias

from counterpane.disk import as_path, shown_path, write_atomically
from counterpane.errors import MissingExtraError, ParameterError
from counterpane.evaluate.measures import ClassMeasures, joined_measures
from counterpane.models.edges import Edge, Edges
from counterpane.present.table import Heading, TextTable, mentioned, right

Pair: TypeAlias = tuple[str, str]
MEASURES = {
    "log_loss": "log-loss",
    "auc": "AUC",
    "accuracy": "accuracy",
    "pll": "PLL",
    "log_likelihood": "log-lik.",
    "edges": "edges",
    "seconds": "seconds",
}
CLASS_MEASURES = ("log_loss", "auc", "accuracy")
LARGER = ("auc", "accuracy", "pll", "log_likelihood")  # is better
NOTE = (
    "Of rows not learned from, ± one standard error. Log-loss of the target, PLL and "
    "log-likelihood of a row are in nats; behind: log-loss minus that of the first, with the error "
    "of the difference."
)


@dataclass(frozen=True, eq=False)
class LearnerFit:
    """The measures of one learner on one part of the rows; None for those that it does not have."""

    seconds: float
    pll: float | None = None
    log_likelihood: float | None = None
    classes: ClassMeasures | None = None
    pairs: frozenset[Pair] | None = frozenset()
    network: Any = None
    failed: str | None = None

    @property
    def edges(self) -> int | None:
        """The number of pairs that are joined."""
        return None if self.pairs is None else len(self.pairs)

    @property
    def log_loss(self) -> float | None:
        """The mean −ln P(class | row)."""
        return None if self.classes is None else self.classes.log_loss.value

    @property
    def auc(self) -> float | None:
        """The area under the ROC curve; of many classes the mean of each against the rest."""
        auc = None if self.classes is None else self.classes.auc
        return None if auc is None else auc.value

    @property
    def accuracy(self) -> float | None:
        """The share of rows whose most probable class is theirs."""
        return None if self.classes is None else self.classes.accuracy.value


@dataclass(frozen=True, eq=False)
class Comparison:
    """Records of learners, each the mean of its fits, and the agreement of their edges.

    Log-loss, AUC and accuracy have standard errors over the rows (`log_loss_error`, …), and
    `log_loss_behind` is the difference to the best learner with the error of that difference,
    `log_loss_behind_error`, on the same rows. Seconds are the median. Measures are on held-out
    rows, in nats; larger is better for pll, log-likelihood, AUC and accuracy. An edge is a pair of
    columns.

    Attributes
    ----------
    fits : mapping
        The fits of each learner, one for each part of the rows.
    columns : tuple of str
        The columns of the table.
    target : str or None
        The class.
    n_rows, folds, holdout
        The size of the table, and how rows were held out.
    notes : tuple of str
        What was done to the columns, if the data were read for the comparison.
    preparation : mapping
        The same for JSON.

    Examples
    --------
    >>> import counterpane as cp
    >>> table = cp.load_dataset("titanic")
    >>> cp.evaluate.compare([cp.ChowLiu(), cp.NaiveBayes()], table, "survived", folds=3).best
    'NaiveBayes'
    """

    fits: Mapping[str, list[LearnerFit]]
    columns: tuple[str, ...]
    target: str | None
    n_rows: int
    folds: int
    holdout: float | None
    _distance: Callable[[LearnerFit, LearnerFit], int | None] = field(repr=False)
    notes: tuple[str, ...] = ()
    preparation: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """One record a learner, the best first: by log-loss with a target, else by PLL."""
        records = [self._record(name, fits) for name, fits in self.fits.items()]
        records.sort(key=self._rank)
        best = self._classes.get(records[0]["method"])
        for record in records:
            classes = self._classes.get(record["method"])
            behind = behind_error = None
            if classes is not None and best is not None:
                behind = record["log_loss"] - records[0]["log_loss"]
                behind_error = classes.error(classes.log_loss, best.log_loss)
            record |= {"log_loss_behind": behind, "log_loss_behind_error": behind_error}
        return records

    @cached_property
    def _classes(self) -> dict[str, ClassMeasures]:
        """The class measures of each learner, the rows of all folds together."""
        measures = {}
        for name, fits in self.fits.items():
            parts = [fit.classes for fit in fits if fit.classes is not None]
            if parts and len(parts) == len(fits):
                measures[name] = joined_measures(parts)
        return measures

    def _record(self, name: str, fits: Sequence[LearnerFit]) -> dict[str, Any]:
        sound = [fit for fit in fits if fit.failed is None]
        failed = next((fit.failed for fit in fits if fit.failed is not None), None)
        record: dict[str, Any] = {"method": name, "failed": failed}
        for measure in MEASURES:
            values = [getattr(fit, measure) for fit in sound]
            complete = bool(values) and failed is None and None not in values
            mean = statistics.median if measure == "seconds" else statistics.fmean
            record[measure] = mean(values) if complete else None
        classes = self._classes.get(name)
        for measure in CLASS_MEASURES:
            measured = None if classes is None or failed else getattr(classes, measure)
            error = None if measured is None or classes is None else classes.error(measured)
            record[f"{measure}_error"] = error
            if measured is not None or measure == "auc":  # over rows: folds differ in size
                record[measure] = None if measured is None else measured.value
        return record

    def _rank(self, record: Mapping[str, Any]) -> tuple[bool, float, bool, float]:
        loss = record["log_loss"] if self.target is not None else None
        worth = record["pll"]
        return (
            loss is None and self.target is not None,
            math.inf if loss is None else loss,
            worth is None,
            0.0 if worth is None else -worth,
        )

    @property
    def best(self) -> str:
        """The name of the best learner."""
        return str(self.records[0]["method"])

    @cached_property
    def edges(self) -> Edges:
        """The pairs that a fit connects, with their share of all fits, the largest first."""
        shares = {pair: math.fsum(by.values()) / len(by) for pair, by in self.edge_shares.items()}
        ranked = sorted(shares, key=lambda pair: (-shares[pair], pair))
        fits = sum(len(self.fits[name]) for name in next(iter(self.edge_shares.values()), ()))
        return Edges(Edge(*pair, share=shares[pair], samples=fits) for pair in ranked)

    @cached_property
    def edge_shares(self) -> dict[Pair, dict[str, float]]:
        """Of each pair that a fit connects, the share of the fits of each learner that do."""
        shares: dict[Pair, dict[str, float]] = {}
        joining = [n for n, fits in self.fits.items() if all(f.pairs is not None for f in fits)]
        for name, fits in self.fits.items():
            for fit in fits:
                for pair in fit.pairs or ():
                    by = shares.setdefault(pair, dict.fromkeys(joining, 0.0))
                    by[name] += 1 / len(fits)
        return shares

    @cached_property
    def agreement(self) -> dict[str, dict[str, float | None]]:
        """Of two learners: pairs joined by both / pairs joined by either, mean over the parts."""
        return self._each_two(_jaccard)

    @cached_property
    def distances(self) -> dict[str, dict[str, float | None]]:
        """The mean structural Hamming distance of two learners of networks; None for others."""
        return self._each_two(self._distance)

    def _each_two(
        self, measure: Callable[[LearnerFit, LearnerFit], float | None]
    ) -> dict[str, dict[str, Any]]:
        def mean(a: Sequence[LearnerFit], b: Sequence[LearnerFit]) -> float | None:
            values = [
                None if x.failed or y.failed else measure(x, y) for x, y in zip(a, b, strict=False)
            ]
            known = [value for value in values if value is not None]
            return math.fsum(known) / len(known) if known and len(known) == len(values) else None

        return {p: {q: mean(a, b) for q, b in self.fits.items()} for p, a in self.fits.items()}

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        return {
            "rows": self.n_rows,
            "columns": len(self.columns),
            "target": self.target,
            "folds": None if self.holdout is not None else self.folds,
            "holdout": self.holdout,
            "best": self.best,
            "learners": self.records,
            "agreement": self.agreement,
            "distances": self.distances,
            "edges": [edge.to_dict() | {"by": self.edge_shares[edge.ends]} for edge in self.edges],
            **self.preparation,
        }

    @property
    def measures(self) -> list[str]:
        """The measures that some learner has."""
        return [m for m in MEASURES if any(r[m] is not None for r in self.records)]

    def table(self, *, measures: Sequence[str] | None = None) -> TextTable:
        """Return the records as a table, with some of the measures or all that are known."""
        shown = [m for m in self.measures if measures is None or m in measures]
        heads: list[str | Heading] = ["method", *(right(MEASURES[m]) for m in shown)]
        names = [r["method"] for r in self.records]
        lines = [[r["method"], *(_cell(r, m) for m in shown)] for r in self.records]
        if "log_loss" in shown:
            place = shown.index("log_loss") + 2
            heads.insert(place, right("behind"))
            for line, record in zip(lines, self.records, strict=True):
                line.insert(place, _cell(record, "log_loss_behind"))
        first = next((r["method"] for r in self.records if r["edges"] is not None), names[0])
        shared = (self.agreement[first][name] for name in names)
        rows = [
            [*line, "–" if part is None else f"{part:.0%}"]
            for line, part in zip(lines, shared, strict=True)
        ]
        failed = [f"{r['method']} failed: {r['failed']}" for r in self.records if r["failed"]]
        notes = [*failed, f"{NOTE} Agreement: edges shared with {first} / edges of either."]
        return TextTable.of(
            [*heads, right("agreement")], rows, title=self._title(), notes=notes, most=None
        )

    def edge_table(self) -> TextTable:
        """Return the pairs that most fits connect, and the learners that do so less often."""

        def missed(edge: Edge) -> str:
            by = self.edge_shares[edge.ends]
            return mentioned([f"{name} ({by[name]:.0%})" for name in by if by[name] < 0.999])

        rows = [[edge.text, f"{edge.share or 0.0:.0%}", missed(edge)] for edge in self.edges]
        heads = (Heading("edge", style="bold"), right("in all fits"),
                 Heading("found less often by", style="dim"))  # fmt: skip
        return TextTable.of(heads, rows, title="Edges: share of the fits that found them")

    def to_markdown(self) -> str:
        """Tables in Markdown: the learners, their agreement, and the edges."""
        names = [r["method"] for r in self.records if r["edges"] is not None]
        tables = [self.table()]
        for title, matrix in (
            ("Agreement: edges of both / edges of either", self.agreement),
            ("Structural Hamming distance", self.distances),
        ):
            rows = [[p, *(_text("", matrix[p][q]) for q in names)] for p in names]
            tables.append(TextTable.of(["", *map(right, names)], rows, title=title, most=None))
        parts = [tables[0].to_markdown(level=1)]
        parts += [table.to_markdown() for table in (*tables[1:], self.edge_table())]
        return "\n\n".join(parts) + "\n"

    def plot(self, path: Any = None) -> Any:
        """A matplotlib figure, a panel per measure, a dot per fit; written to `path` if given."""
        try:
            figures = import_module("matplotlib.figure")
        except ImportError:
            raise MissingExtraError("a plot needs matplotlib; install counterpane[plot].") from None
        names, shown = [r["method"] for r in self.records], self.measures
        figure = figures.Figure(
            figsize=(2.6 * len(shown) + 1.4, 0.38 * len(names) + 1.2), layout="constrained"
        )
        axes = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for panel, measure in zip(axes, shown, strict=True):
            for place, record in enumerate(self.records):
                dots = [_value(fit, measure) for fit in self.fits[record["method"]]]
                dots = [d for d in dots if d is not None and math.isfinite(d)]
                panel.plot(dots, [place] * len(dots), "o", color="C0", alpha=0.4, ms=4)
                if record[measure] is not None and math.isfinite(record[measure]):
                    panel.plot(record[measure], place, "|", color="C3", ms=14, mew=2)
            arrow = " →" if measure in LARGER else " ←" if measure != "edges" else ""
            panel.set_title(MEASURES[measure] + arrow, fontsize=9)
            panel.tick_params(labelsize=8)
            panel.grid(axis="x", alpha=0.3)
        axes[0].set_yticks(range(len(names)), names)
        axes[0].set_ylim(len(names) - 0.5, -0.5)
        figure.suptitle(self._title(), fontsize=10)
        if path is not None:
            _save_figure(figure, path)
        return figure

    def _title(self) -> str:
        how = f"{self.folds} folds" if self.holdout is None else f"{self.holdout:.0%} held out"
        aim = "" if self.target is None else f", target {self.target}"
        return f"{len(self.fits)} learners on {self.n_rows:,} rows, {how}{aim}"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __repr__(self) -> str:
        return f"Comparison({self._title()}, best {self.best})"


def _save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    kind, out = as_path(path).suffix.lstrip(".") or "png", io.BytesIO()
    try:
        figure.savefig(out, format=kind, dpi=150)
    except ValueError as error:
        raise ParameterError(f"{shown_path(path)} is no picture that is known: {error}") from None
    write_atomically(path, [out.getvalue()])


def _text(measure: str, value: float | None) -> str:
    """A number of a table; a dash where there is none."""
    if value is None:
        return "–"
    if measure == "edges":
        return f"{value:.3g}"
    return f"{value:.2f}" if measure in ("seconds", "") else f"{value:.4f}"


def _cell(record: Mapping[str, Any], measure: str) -> str:
    """A number of a record with its standard error, if it has one."""
    text, error = _text(measure, record[measure]), record.get(f"{measure}_error")
    if measure == "log_loss_behind" and record[measure] is not None:
        text = f"{record[measure]:+.4f}" if error else ""
    return f"{text} ±{error:.4f}" if text and error else text


def _value(fit: LearnerFit, measure: str) -> float | None:
    value: float | None = None if fit.failed is not None else getattr(fit, measure)
    return value


def _jaccard(a: LearnerFit, b: LearnerFit) -> float | None:
    if a.pairs is None or b.pairs is None:
        return None
    either = len(a.pairs | b.pairs)
    return len(a.pairs & b.pairs) / either if either else 1.0
