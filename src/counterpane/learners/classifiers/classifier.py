"""The base of all classifiers: any table and a class in, class probabilities out."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Self, Unpack

import numpy as np

from counterpane.checks import INTEGER, ITERABLE, NONE, Constraints
from counterpane.counts.open import read, read_blocks
from counterpane.counts.source import CountSource
from counterpane.counts.view import reorder_columns, with_missing_policy
from counterpane.data.columns import Column, Numbers, check_usable, n_rows
from counterpane.data.encoding import encode_column, encode_rows
from counterpane.data.export import frame_kind_of
from counterpane.data.prepare import Prepared, preparation_notes
from counterpane.data.schema import Schema, Variable
from counterpane.data.table import Table
from counterpane.data.weights import check_weights
from counterpane.errors import DataError, NotFittedError, ParameterError
from counterpane.learners.base import Learner, LearnerOptions
from counterpane.learners.classifiers.training_data import (
    Training,
    check_policy,
    check_sizes,
    class_labels,
    column_called,
    column_names,
    column_of_classes,
    make_training,
    policy_of_columns,
    prepare_features,
    read_features,
)
from counterpane.learners.gap_policy import GapPolicy, policy_of_source
from counterpane.models.base import prediction_frame
from counterpane.models.record import LearningRecord
from counterpane.typing import Array, Codes, Floats, State


class ClassifierOptions(LearnerOptions, total=False):
    """The parameters that all classifiers share; see `Classifier`."""

    categorical: Iterable[str | int] | None
    max_states: int
    max_bins: int | None


class Classifier(Learner):
    """A learner of P(class | row) with the interface of scikit-learn.

    Texts, booleans and declared categories are states; numbers are cut into intervals by minimum
    description length against the class, on the training rows alone (one interval if no cut is
    worth it). Whole numbers of at most `max_states` different values are states as well. To decide
    otherwise, name in `categorical` the columns (by name or position) that are states: every other
    column of numbers is then cut. `max_bins` limits the intervals of a column. A `Table` has states
    only.

    With discretize="auto" the columns are first prepared, as the command does: texts that are
    numbers or dates are converted, and ids, constants and columns with too many states are left out
    (unless named in `categorical`); `notes_` lists this. "mdl" takes all columns as they are.
    Any other value discretizes as `counterpane.read` does.

    If training rows have missing cells, these are a state (`missing`; "auto" is "state"). A state
    that was not seen in training has no effect on predictions. Rows of weight zero are ignored.

    Results: `classes_` (sorted, or as the categories were declared, also those without a row),
    `n_features_in_`, `feature_names_in_` (where `X` had names), `schema_` of the features,
    `target_`, the variable of the class.
    """

    # Learns from counts alone, the class last, and sets the results; None where rows are needed.
    _learn_counts: Callable[[CountSource], None] | None = None
    _many_states = False  # whether texts of more than 256 states are kept: effects are penalized

    _constraints: ClassVar[Constraints] = {
        "categorical": ITERABLE | NONE,
        "max_states": INTEGER,
        "max_bins": INTEGER | NONE,
    }

    def __init__(
        self,
        *,
        categorical: Iterable[str | int] | None = None,
        max_states: int = 10,
        max_bins: int | None = None,
        **options: Unpack[LearnerOptions],
    ) -> None:
        super().__init__(**options)
        self.categorical = categorical
        self.max_states = max_states
        self.max_bins = max_bins

    def __init_subclass__(cls, **options: Any) -> None:
        """Set the signature to the parameters of all bases, for `help` and `inspect`."""
        super().__init_subclass__(**options)
        parameters: dict[str, inspect.Parameter] = {}
        for owner in cls.__mro__[:-1]:
            if "__init__" in vars(owner):
                for p in list(inspect.signature(vars(owner)["__init__"]).parameters.values())[1:]:
                    if p.kind is not p.VAR_KEYWORD:
                        parameters.setdefault(p.name, p)
        ordered = sorted(parameters.values(), key=lambda p: p.kind)
        cls.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]

    @abstractmethod
    def _learn(self, training: Training) -> None:
        """Learn from the rows and set the results."""

    @abstractmethod
    def _log_proba(self, codes: Codes, numbers: Floats) -> Floats:
        """ln P(class | row), shape (rows, classes), normalized.

        `codes` are (features, rows), where a code equal to the card of its column is a state that
        training did not see; `numbers` are as in `Training`.
        """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from `X` (a frame, an array, a path, a `Table`) and `y`, an array of classes.

        `y` may also be the name of the column of `X` that holds the classes, as it must where `X`
        is a `CountSource`, a lazy frame or a folder of files, whose columns are states as in a
        `Table`.
        """
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; pass "
                "the classes, or the name of their column."
            )
        source = X if isinstance(X, CountSource) else read_blocks(X, y)
        if source is not None:
            return self._fit_source(source, y, sample_weight)
        if not isinstance(X, Table) and not _cuts_by_class(self.discretize):
            X = read(X, discretize=self.discretize, target=y if isinstance(y, str) else None)
        auto = not isinstance(X, Table) and self.discretize == "auto"
        unusable: dict[str, str] | None = {} if auto else None
        named, columns = read_features(X, unusable)
        dtype: Any = object
        if isinstance(y, str):
            check_usable([y], unusable or {})
            column = column_called(columns, y, named)
            columns = [c for c in columns if c is not column]
            if isinstance(column, Numbers):
                dtype = object if column.dated else column.distinct.dtype
            elif isinstance(X, Table):
                dtype = _dtype_of(column.states)
        else:
            column, dtype = column_of_classes(y, [c.name for c in columns])
        target = class_labels(column)
        check_sizes(columns, n_rows(column))
        weights = X.weights if isinstance(X, Table) else None
        if sample_weight is not None:
            weights = check_weights(sample_weight, n_rows(column))
        names = [*(c.name for c in columns), *(unusable or ())]
        categorical = column_names(names, self.categorical)
        prepared = Prepared(columns)
        if auto:
            many = self._many_states
            prepared = prepare_features(columns, unusable, categorical, many_states=many)
        training = make_training(
            prepared.columns,
            target,
            weights,
            categorical=categorical,
            max_states=self.max_states,
            max_bins=self.max_bins,
            missing=self.missing,
        )
        self._preparation = X.preparation if isinstance(X, Table) else prepared.facts()
        self._notes = preparation_notes(self._preparation, training.table.schema)
        self._places = [names.index(c.name) for c in prepared.columns]
        kind = X.frame_kind if isinstance(X, Table) else frame_kind_of(X)
        training.table.frame_kind = kind
        self._table = lambda: training.joint
        return self._fit_named(
            names if named else None,
            (training.table.schema, training.target, training.numeric, dtype),
            lambda: self._learn(training),
            policy_of_columns(prepared.columns, weights, self.missing),
            n_features=len(names),
        )

    def _fit_source(self, source: CountSource, y: Any, sample_weight: Any) -> Self:
        """Learn from counts where these are enough, else from the distinct rows."""
        if sample_weight is not None:
            raise ParameterError("sample_weight cannot be joined to a count source.")
        if not isinstance(y, str):
            raise DataError(
                f"y is of type {type(y).__name__}; of a count source, whose rows have no order, y "
                "names the column of classes."
            )
        target = source.schema.index(y)
        if source.counts([(target,)], missing="state")[0][-1] > 0:
            raise DataError(f"the class {y!r} of some rows is missing; drop rows without a class.")
        if len(source.schema) == 1:
            check_sizes([], 1)
        by_counts = self._learn_counts
        if source.table is not None or by_counts is None:
            self.fit(source.rows(), y)
            # The rows that were fitted were the distinct ones.
            self.model_.record = self.model_.record.with_parts(data={"rows": source.n_rows})
            return self
        features = [i for i in range(len(source.schema)) if i != target]
        check_policy(self.missing)
        policy: Any = "state" if self.missing == "auto" else self.missing
        joint = reorder_columns(with_missing_policy(source, policy), [*features, target])
        schema = joint.schema.select(range(len(features)))
        self._preparation, self._notes = {}, preparation_notes({}, schema)
        self._places = list(range(len(features)))
        return self._fit_named(
            list(schema.names),
            (schema, joint.schema[-1], (), _dtype_of(joint.schema[-1].states)),
            lambda: by_counts(joint),
            policy_of_source(policy, source),
        )

    def _fit_named(
        self,
        names: list[str] | None,
        described: tuple[Schema, Variable, tuple[int, ...], Any],
        learn: Callable[[], None],
        gaps: GapPolicy,
        n_features: int | None = None,
    ) -> Self:
        """Set the attributes of features and class, and learn; a fit that fails changes nothing."""
        before = dict(vars(self))
        try:
            vars(self).pop("feature_names_in_", None)
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
            self.schema_, self.target_, self._numeric, dtype = described
            self.n_features_in_ = len(self.schema_) if n_features is None else n_features
            classes = np.empty(self.target_.card, dtype=object)
            classes[:] = self.target_.states
            self.classes_ = classes.astype(dtype)
            self._use(gaps)
            learn()
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise
        return self

    def predict_log_proba(self, X: Any) -> Floats:
        """ln P(class | row), shape (rows, classes), in the order of `classes_`."""
        self._check_fitted()
        return self._of_columns(*self._new_rows(X))

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row), shape (rows, classes), in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        log_proba = self.predict_log_proba(X)
        classes: Array = self.classes_[log_proba.argmax(axis=1)]
        return classes

    def predict_frame(self, X: Any) -> Any:
        """`predicted`, the most probable class of each row, and P(class), as a frame as `X` is.

        Pandas in, pandas out, with the same index; likewise polars and pyarrow.
        """
        return prediction_frame(X, self.target_, self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose most probable class is `y`: classes, or the name of a column."""
        self._check_fitted()
        if isinstance(X, CountSource):
            X = X.rows()
        if isinstance(X, Table) and sample_weight is None:
            sample_weight = X.weights
        named, columns = self._new_rows(X)
        column = (
            column_called(columns, y, named) if isinstance(y, str) else column_of_classes(y, ())[0]
        )
        predicted = self._of_columns(named, columns).argmax(axis=1)
        right = predicted == encode_column(column, self.target_, "unknown")
        weights = None if sample_weight is None else check_weights(sample_weight, len(right))
        return float(np.average(right, weights=weights))

    def _importances_of(self, sizes: Floats) -> Floats:
        """Sizes of the features of the model as shares, in the order of the training columns.

        A column that is not in the model has 0; all have 0 if no column matters.
        """
        importances: Floats = np.zeros(self.n_features_in_)
        importances[self._places] = sizes
        total = float(importances.sum())
        return importances / total if total > 0 else importances

    def _of_columns(self, named: bool, columns: Sequence[Column]) -> Floats:
        """ln P(class | row) of columns."""
        codes, numbers = self._encoded(named, columns)
        if not codes.shape[1]:
            return np.empty((0, len(self.classes_)))
        return self._log_proba(codes, numbers)

    def _new_rows(self, X: Any) -> tuple[bool, list[Column]]:
        """Whether `X` names its columns, and those columns; others of odd kinds are ignored."""
        unusable: dict[str, str] = {}
        named, columns = read_features(X, unusable)
        check_usable(self.schema_.names, unusable)
        return named, columns

    def _encoded(self, named: bool, columns: Sequence[Column]) -> tuple[Codes, Floats]:
        """The codes and numbers of columns, found by name where there are names."""
        if named and hasattr(self, "feature_names_in_"):
            by_name = {c.name: c for c in columns}
            for name in self.schema_.names:
                if name not in by_name:
                    raise DataError(
                        f"X has no column {name!r}, and {type(self).__name__} was fitted with one; "
                        "add it, with missing cells if nothing is known."
                    )
            columns = [by_name[name] for name in self.schema_.names]
        elif len(columns) != self.n_features_in_:
            raise DataError(
                f"X has {len(columns)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        else:
            columns = [columns[place] for place in self._places]
        return encode_rows(columns, tuple(self.schema_), self._numeric)

    def _check_fitted(self) -> None:
        if "classes_" not in vars(self):
            from sklearn.exceptions import (
                NotFittedError as SklearnNotFitted,  # slow, and only needed here
            )

            kind = type("NotFittedError", (NotFittedError, SklearnNotFitted), {})
            raise kind(f"this {type(self).__name__} is not fitted yet; call fit first.")

    def _record(self, source: CountSource, seconds: float) -> LearningRecord:
        return super()._record(source, seconds).with_parts(data={"target": self.target_.name})

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags  # slow to import

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(categorical=True, string=True, allow_nan=True),
        )


def _cuts_by_class(discretize: Any) -> bool:
    return isinstance(discretize, str) and discretize in ("auto", "mdl")


def _dtype_of(states: Sequence[State]) -> Any:
    """The type of an array of classes: whole numbers stay such, as they do in a frame."""
    if {type(state) for state in states} != {int}:
        return object
    dtype = np.array(states).dtype
    return dtype if dtype.kind in "iu" else object  # those of more than 64 bits are objects
