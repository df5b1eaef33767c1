"""Class probabilities from a sum over faces: sets of columns, each with a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from counterpane.additive.attribution import attributed
from counterpane.additive.boosted_member import BoostedMember
from counterpane.additive.effects import (
    CAPTION,
    Effects,
    Explanation,
    check_one,
    explanation,
    log_odds,
    not_given,
    one_row,
)
from counterpane.additive.interactions import Interactions
from counterpane.additive.member import Face, Member
from counterpane.checks import MAPPING, NAMES, NONE, STRING, accepts
from counterpane.data.columns import Numbers, is_missing, n_rows
from counterpane.data.dates import date_texts
from counterpane.data.encoding import encode_rows
from counterpane.data.schema import Schema, Variable
from counterpane.data.table import columns_for
from counterpane.errors import DataError, ParameterError, ScopeError, Setting
from counterpane.models.answer import Answer
from counterpane.models.arrays import Arrays, by_prefix, store_as, with_prefix
from counterpane.models.base import Model
from counterpane.models.evidence import evidence_mapping, evidence_notes, name_list
from counterpane.models.record import LearningRecord
from counterpane.models.row_average import RowAverage
from counterpane.models.training_rows import ColumnEvidence, TrainingRows, read_column
from counterpane.plotting import draw_plot
from counterpane.typing import Array, Bools, Codes, Floats, Ints, State

BLOCK_ROWS = 2**13
NOT_GIVEN: Face = (-1,)  # the line of columns that are not given
MAX_SHOWN = 60  # interactions in a picture
MOST_SHARE = 1e6  # of a member in the sum; pools of learners are below ten


class AdditiveClassifier(Model):
    """P(class | row) ∝ exp Σ_T f_T(x_T, class), smoothed so that no class is impossible.

    `schema` holds the features and, last, the class. Each f_T is a sum over `members`, each times
    its share (by default all have the same): fits on different rows, with a table on the member's
    own cuts, to which a column of numbers adds the member's numeric terms; and boosted trees, whose
    leaves are boxes over few columns. A member without the face counts as zero there, and so does a
    cell that a member never saw. Probabilities are smoothed by (m p + 1/C) / (m + 1), m being
    `total`, the weight of the rows. `effects` tells how much each of `faces` changes the log-odds.

    `rows`, those that training kept, tell how the columns that evidence leaves out are distributed.
    Without them the model answers only questions that give all columns.
    """

    kind = "additive"

    def __init__(
        self,
        schema: Schema,
        members: Iterable[Member | BoostedMember],
        total: float,
        *,
        shares: Floats | None = None,
        effects: Effects | None = None,
        rows: TrainingRows | None = None,
        record: LearningRecord | None = None,
    ) -> None:
        self.schema = schema
        self.members = tuple(members)
        self.total = float(total)
        n = max(len(self.members), 1)
        self.shares: Floats = np.full(n, 1 / n) if shares is None else np.asarray(shares, float)
        self.effects = effects
        self.rows = rows
        self.record = record or LearningRecord()
        if not self.members or not 0 < self.total < np.inf:
            raise ParameterError(
                f"{len(self.members)} members and the weight {total} make no model; at least one "
                "member and a positive weight are needed."
            )
        if (
            self.shares.shape != (len(self.members),)
            or not ((self.shares >= 0) & (self.shares <= MOST_SHARE)).all()
        ):
            raise ParameterError(
                f"{len(self.members)} members have the shares {self.shares.tolist()}; one of each, "
                f"from 0 to {MOST_SHARE:,.0f}, is needed."
            )
        for place, member in enumerate(self.members):
            if member.n_columns != len(schema) - 1 or len(member.constant) != self.n_classes:
                raise ScopeError(
                    f"member {place} is of {member.n_columns} columns and {len(member.constant)} "
                    f"classes; the schema has {len(schema) - 1} and {self.n_classes}."
                )
            if member.numeric.tolist() != self.numeric.tolist():
                raise ScopeError(f"member {place} takes other columns for numbers than the first.")
        if effects is not None and len(effects.sizes) != len(self.faces):
            raise ScopeError(
                f"{len(effects.sizes)} effects were told of {len(self.faces)} interactions."
            )
        if rows is not None and (
            len(rows.codes) != len(schema) - 1 or rows.numeric.tolist() != self.numeric.tolist()
        ):
            raise ScopeError(
                f"the kept rows have {len(rows.codes)} columns, {len(rows.numeric)} of them of "
                f"numbers; the schema has {len(schema) - 1}, {len(self.numeric)} of numbers."
            )

    def __repr__(self) -> str:
        trees = np.array([isinstance(member, BoostedMember) for member in self.members])
        pool = ""
        if trees.any():
            a, b = self.shares[~trees].sum(), self.shares[trees].sum()
            pool = f", {a:.2f} × tables + {b:.2f} × boosted trees" if a else ", boosted trees"
        return (
            f"AdditiveClassifier({len(self.faces)} interactions of {len(self.schema) - 1} columns, "
            f"class {self.target.name!r}{pool})"
        )

    def plot(self, **options: Any) -> Any:
        """The hypergraph of the largest interactions; see `counterpane.plots.hypergraph`.

        Labels are effects, see `counterpane.additive.effects`; opacity is the share of bootstrap
        samples on which an interaction was selected, where that is known.
        """
        records = [
            {
                "hyperedge": tuple(record["columns"]),
                "share": record.get("share", 1.0),
                "label": f"{record['effect']:.2f}" if "effect" in record else "",
            }
            for record in self.interactions()[:MAX_SHOWN]
        ]
        about = {"title": self.target.name, "note": CAPTION if self.effects is not None else ""}
        return draw_plot("hypergraph", records, **about | options)

    def plot_effects(self, columns: Any = None, **options: Any) -> Any:
        """What interactions add to the log-odds, as curves, bars and maps.

        With `columns`, names of one interaction, see `counterpane.plots.effects`; without, the
        largest effects on one page, see `counterpane.plots.top_effects`.
        """
        if columns is None:
            return draw_plot("top_effects", self, **options)
        return draw_plot("effects", self, columns, **options)

    @property
    def target(self) -> Variable:
        """The class."""
        return self.schema[len(self.schema) - 1]

    @cached_property
    def features(self) -> tuple[Variable, ...]:
        """All columns but the class."""
        return tuple(self.schema)[:-1]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.target.card

    @property
    def numeric(self) -> Ints:
        """Positions of the columns of numbers."""
        return self.members[0].numeric

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """All faces that some member has, small ones first."""
        faces = {face for member in self.members for face in member.all_faces}
        return tuple(sorted(faces, key=lambda face: (len(face), face)))

    @property
    def hyperedges(self) -> list[tuple[str, ...]]:
        """The faces by the names of their columns."""
        return [tuple(self.schema.names[c] for c in face) for face in self.faces]

    def interactions(self) -> Interactions:
        """A record for each of `faces`, the largest effect first.

        It has `columns`, their number `order`, and if effects are known `effect` (nats) and
        `explained`, its share of the sum of all variances; `share` and `samples` if it was looked
        for on enough samples.
        """
        explained = None if self.effects is None else self.effects.variance_shares.tolist()
        records = Interactions()
        for place, names in enumerate(self.hyperedges):
            records.append({"columns": list(names), "order": len(names)})
            if self.effects is not None and explained is not None:
                records[-1]["effect"] = float(self.effects.sizes[place])
                records[-1]["explained"] = explained[place]
                share = self.effects.share_of(place)
                if share is not None:
                    records[-1] |= {"share": share, "samples": self.effects.samples}
        records.sort(key=lambda r: (r["order"], sorted(r["columns"])))
        records.sort(key=lambda r: -round(r.get("effect", 0.0), 9))  # differences by rounding
        return records

    def _class_probabilities(self, X: Any, target: str) -> Floats:
        """P(class | row) for each row of a frame, shape (rows, classes).

        Columns are found by name. A column that the frame lacks is averaged over, and so is a cell
        in a state that training did not see; see `counterpane.models.row_average`. The class
        is the only `target` that may be named.
        """
        if target != self.target.name:
            raise ParameterError(
                Setting("target", target),
                f"; an additive classifier tells the probabilities of {self.target.name!r} alone.",
            )
        columns = columns_for(X, self.schema)
        if not columns:
            raise DataError("the frame has no columns; at least one is needed.")
        named = {c.name for c in columns}
        absent = [v.name for v in self.features if v.name not in named]
        if absent and self.rows is None:
            raise self._refusal(absent)
        return np.exp(self.average_log_proba(*self.encode(columns)))

    @accepts(variables=NAMES, evidence=MAPPING | NONE, method=STRING)
    def query(
        self,
        variables: str | Iterable[str],
        evidence: Mapping[str, Any] | None = None,
        *,
        method: str = "auto",
    ) -> Answer:
        """P(class | evidence), averaged over the columns that are not given.

        Only the class can be asked. Evidence on a column is a state, a number, a set of states, or
        a mapping from states to weights (likelihoods). A missing value is a state where training
        had such cells, and else not given. The answer's `basis` says which rows it is averaged
        over; see `counterpane.models.row_average`. A model without rows needs evidence on all
        columns.
        """
        if method not in ("auto", "exact"):
            raise ParameterError(
                Setting("method", method), "; an additive classifier answers exactly."
            )
        asked = name_list(variables)
        values = dict(evidence_mapping(evidence))
        for name in asked:
            self.schema.index(name)  # an unknown one raises
        if asked != [self.target.name] or self.target.name in values:
            raise ParameterError(
                f"P({', '.join(asked)}{' | ' if values else ''}{', '.join(values)}) was asked; "
                f"this classifier knows only P({self.target.name} | other columns): learn a "
                "network, without a target, to ask about other columns."
            )
        places = {c: place for place, c in enumerate(self.numeric.tolist())}
        items = []
        for name, value in values.items():
            column = self.schema.index(name)
            if not is_missing(value) or self.schema[column].find(None) is not None:
                shares = None if self.rows is None else self.rows.shares(column)
                items.append(
                    read_column(column, self.schema[column], value, places.get(column), shares)
                )
        notes = evidence_notes(self.schema, values, parted=False)
        codes, numbers = self._row(items)
        if not self._partial(codes, numbers)[0] and all(item.is_point for item in items):
            return Answer([self.target], np.exp(self.log_proba(codes, numbers)[0]), notes=notes)
        if self.rows is None:
            points = {item.column for item in items if item.is_point}
            raise self._refusal([v.name for c, v in enumerate(self.features) if c not in points])
        average = self._average(items, 1)
        columns = {item.column for item in items}
        rest = [v.name for column, v in enumerate(self.features) if column not in columns]
        basis = average.basis(rest)
        return Answer([self.target], average.probabilities[0], basis=basis, notes=notes)

    @cached_property
    def _average(self) -> RowAverage:
        if self.rows is None:
            raise self._refusal([v.name for v in self.features])
        return RowAverage(self.rows, self.log_proba)

    @property
    def _missing_states(self) -> list[int | None]:
        """The state of missing cells of each column of numbers, if it has one."""
        return [self.features[c].find(None) for c in self.numeric.tolist()]

    def _row(self, items: Sequence[ColumnEvidence]) -> tuple[Codes, Floats]:
        """The row that the evidence spells out; what is not given is not known."""
        codes: Codes = self.schema.cards[:-1, None].astype(np.uint16)
        numbers = np.full((len(self.numeric), 1), np.nan)
        for item in items:
            codes[item.column] = item.codes
            if item.place is not None and item.values is not None:
                numbers[item.place] = item.values
        return codes, numbers

    def _partial(self, codes: Codes, numbers: Floats) -> Bools:
        """Which rows have a cell that says nothing, or an interval in place of a number."""
        partial = np.zeros(codes.shape[1], dtype=np.bool_)
        for column_codes, card in zip(codes, self.schema.cards.tolist(), strict=False):
            partial |= column_codes >= card
        for c, row in zip(self.numeric.tolist(), numbers, strict=True):
            missing = self.features[c].find(None)  # where it is a state, it is known
            partial |= np.isnan(row) & np.not_equal(codes[c], -1 if missing is None else missing)
        return partial

    def _refusal(self, absent: Sequence[str]) -> ParameterError:
        return ParameterError(
            "this model keeps no training rows, so that it cannot average over a column that is "
            f"not given ({', '.join(absent)}); give all columns, or learn the model again with "
            "its rows (keep_rows=True, the default)."
        )

    def encode(self, frame: Any) -> tuple[Codes, Floats]:
        """The codes (features, rows) and numbers (columns of numbers, rows) of a frame.

        The code of a cell that says nothing is the card of its column: one of a column that the
        frame lacks, one in a state that training did not see, and a missing one of a column that
        had no missing cell in training.
        """
        columns = {c.name: c for c in columns_for(frame, self.schema)}
        if not columns:
            raise DataError("the frame has no columns; at least one is needed.")
        empty = np.full(n_rows(next(iter(columns.values()))), np.nan)
        features = self.features
        cells = [columns.get(v.name, Numbers(v.name, empty, np.isnan(empty))) for v in features]
        codes, numbers = encode_rows(cells, features, self.numeric.tolist())
        for column, variable in enumerate(features):
            if variable.name not in columns:  # not the state of missing cells either
                codes[column] = variable.card
        return codes, numbers

    def average_log_proba(self, codes: Codes, numbers: Floats) -> Floats:
        """ln P(class | row), averaged over the cells that say nothing; as `log_proba` elsewhere.

        In a model without rows such cells add nothing to the predictors.
        """
        partial = self._partial(codes, numbers)
        if self.rows is None or not partial.any():
            return self.log_proba(codes, numbers)
        out: Floats = np.empty((codes.shape[1], self.n_classes))
        out[~partial] = self.log_proba(codes[:, ~partial], numbers[:, ~partial])
        known = codes < self.schema.cards[:-1, None]
        some = known[:, partial], codes[:, partial], numbers[:, partial]
        out[partial] = np.log(self._average.of_rows(*some, self._missing_states))
        return out

    def log_proba(self, codes: Codes, numbers: Floats) -> Floats:
        """ln P(class | row), shape (rows, classes), of codes and numbers as `encode` gives them."""
        out: Floats = np.empty((codes.shape[1], self.n_classes))
        for low in range(0, len(out), BLOCK_ROWS):
            rows = slice(low, low + BLOCK_ROWS)
            eta: Floats = np.zeros((codes[:, rows].shape[1], self.n_classes))
            for share, member in zip(self.shares.tolist(), self.members, strict=True):
                eta += share * member.predictor(codes[:, rows], numbers[:, rows])
            eta -= eta.max(axis=1, keepdims=True)
            out[rows] = eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))
        share = 1 / (self.total + 1)
        smooth: Floats = np.logaddexp(out + np.log1p(-share), np.log(share / self.n_classes))
        return smooth

    def contributions(self, codes: Codes, numbers: Floats) -> Floats:
        """What each face adds to the log-odds, (1 + faces, rows, classes); the constant is first.

        Log-odds are those of `counterpane.additive.effects.log_odds`: of two classes, the log of
        P(class) / P(other class); of more, relative to their geometric mean. The sum over faces is
        that of `log_proba`, but for smoothing. Faces are purified where members tell what moved.
        """
        out: Floats = np.zeros((1 + len(self.faces), codes.shape[1], self.n_classes))
        place = {(): 0} | {face: 1 + f for f, face in enumerate(self.faces)}
        for share, member in zip(self.shares.tolist(), self.members, strict=True):
            out[0] += share * member.constant
            for face, part in member.pure_parts(codes, numbers):
                out[place[face]] += share * part
        return log_odds(out)

    @accepts(target=STRING | NONE)
    def explain(self, row: Any, target: str | None = None) -> Explanation:
        """What each interaction adds to the log-odds of the classes of one row, largest first.

        `row` is a mapping from names to cells, or a frame of one row; a column that it lacks is
        missing. See `counterpane.additive.effects.explanation` for the records. Columns that are
        not given are averaged over: an interaction counts for those of its columns that are given,
        and what is left is the record whose columns are None. Smoothing of probabilities shrinks
        all lines, those of nearly certain rows most; see `counterpane.additive.attribution`.
        """
        if target not in (None, self.target.name):
            raise ParameterError(
                Setting("target", target), f"; the model predicts {self.target.name!r} alone."
            )
        return self.explain_cells(*self.encode(one_row(row, self.schema.names)))

    def explain_cells(self, codes: Codes, numbers: Floats) -> Explanation:
        """As `explain`, of codes and numbers as `encode` gives them, of one row."""
        check_one(codes.shape[1])
        cells = [self._cell(c, code, numbers) for c, code in enumerate(codes[:, 0].tolist())]
        unknown = {c for c, code in enumerate(codes[:, 0].tolist()) if code >= self.schema[c].card}
        log_proba = self.average_log_proba(codes, numbers)[0]
        weights = np.ones(1)
        if self.rows is not None and self._partial(codes, numbers)[0]:
            known = np.array([c for c in range(len(self.features)) if c not in unknown])
            evidence = self._average.evidence(known, codes, numbers, self._missing_states)
            codes, numbers, weights = self._average.averaged_rows(evidence)
        # Of an interaction the columns that are given; one of others alone is left to the rest.
        lines: dict[Face, Floats] = {(): np.zeros((len(weights), self.n_classes))}
        for face, part in zip([(), *self.faces], self.contributions(codes, numbers), strict=True):
            given = tuple(c for c in face if c not in unknown)
            key = given if given or not face else NOT_GIVEN
            lines[key] = lines[key] + part if key in lines else part
        smoothing = 1 / (self.total + 1)
        values = attributed(np.array(list(lines.values())), weights, smoothing)
        told = {face: values[k] for k, face in enumerate(lines) if face != NOT_GIVEN}
        place = {face: f for f, face in enumerate(self.faces)}
        effects = self.effects
        classes = np.empty(self.n_classes, dtype=object)
        classes[:] = self.target.states
        return explanation(
            [tuple(self.schema.names[c] for c in face) for face in told],
            [tuple(cells[c] for c in face) for face in told],
            np.array(list(told.values())),
            [effects.share_of(place[f]) if effects and f in place else None for f in told],
            log_proba,
            classes,
            self.target.name,
            not_given([self.schema.names[c] for c in sorted(unknown)]) if unknown else "",
        )

    def _cell(self, c: int, code: int, numbers: Floats) -> State:
        """The state of a row in a column, its number if there is one, "?" where it is unknown."""
        numeric = self.numeric.tolist()
        if c in numeric and not np.isnan(numbers[numeric.index(c), 0]):
            number = float(numbers[numeric.index(c), 0])
            if self.schema[c].dated:
                return date_texts(np.array([number]))[0]
            return int(number) if number.is_integer() else number
        return (*self.schema[c].states, "?")[code]


def _member_of(arrays: Mapping[str, Array]) -> Member | BoostedMember:
    if "trees.column" in arrays:
        return BoostedMember.from_arrays(arrays)
    return Member.from_arrays(arrays)


def _write(model: AdditiveClassifier) -> dict[str, Array]:
    arrays: dict[str, Array] = {
        "total": np.array([model.total]),
        "members": np.array([len(model.members)], dtype=np.int64),
        "shares": model.shares,
    }
    for place, member in enumerate(model.members):
        arrays |= with_prefix(place, member.to_arrays())
    if model.effects is not None:
        arrays |= with_prefix("effects", model.effects.to_arrays())
    if model.rows is not None:
        arrays |= with_prefix("rows", model.rows.to_arrays())
    return arrays


def _read(schema: Schema, arrays: Arrays, record: LearningRecord | None) -> AdditiveClassifier:
    for name, array in arrays.items():
        number, _, rest = name.partition(".")
        if (number.isdigit() or not rest) and not np.isfinite(array).all():
            raise ParameterError(f"{name!r} holds a number that is not finite; all must be.")
    groups = by_prefix(arrays)
    members = [_member_of(groups[str(k)]) for k in range(int(arrays["members"][0]))]
    effects = Effects.from_arrays(groups["effects"]) if "effects" in groups else None
    rows = None
    if "rows" in groups:
        features = schema.select(range(len(schema) - 1))
        rows = TrainingRows.from_arrays(features, members[0].numeric, groups["rows"])
    return AdditiveClassifier(
        schema, members, float(arrays["total"][0]), shares=arrays.get("shares"), effects=effects,
        rows=rows, record=record,
    )  # fmt: skip


store_as(AdditiveClassifier.kind, _write, _read)
