"""The base of all classifiers: any table and a class in, class probabilities out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

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
from counterpane.learners.base import Learner
from counterpane.learners.classifiers.training_data import (
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
from counterpane.learners.gap_policy import policy_of_source
from counterpane.models.base import prediction_frame
from counterpane.models.record import LearningRecord
from counterpane.typing import Array, Codes, Floats, State


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

    _many_states: ClassVar[bool] = False  # whether texts of more than 256 states are kept
    _by_counts: ClassVar[bool] = False  # whether `_learn` takes a `CountSource` too, the class last

    _n_rows: int | None = field(init=False)  # of a source whose distinct rows were fitted

    categorical: Iterable[str | int] | None = None
    max_states: int = 10
    max_bins: int | None = None

    @abstractmethod
    def _log_proba(self, codes: Codes, numbers: Floats) -> Floats:
        """ln P(class | row), shape (rows, classes), normalized.

        `codes` are (features, rows), where a code equal to the card of its column is a state that
        training did not see; `numbers` are as in `Training`.
        """

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """The training rows, or the counts; sets the attributes of the features and the class.

        `X` is a frame, an array, a path or a `Table`, and `y` an array of classes or the name of
        their column. It must be a name where `X` is a `CountSource`, a lazy frame or a folder of
        files, whose columns are states as in a `Table`.
        """
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; pass "
                "the classes, or the name of their column."
            )
        source = X if isinstance(X, CountSource) else read_blocks(X, y)
        if source is not None:
            return self._read_source(source, y, sample_weight)
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
            n_jobs=self.n_jobs,
        )
        self._preparation = X.preparation if isinstance(X, Table) else prepared.facts()
        training.table.frame_kind = X.frame_kind if isinstance(X, Table) else frame_kind_of(X)
        self._table = lambda: training.joint
        self._use(policy_of_columns(prepared.columns, weights, self.missing))
        places = [names.index(c.name) for c in prepared.columns]
        self._describe(training.table.schema, training.target, dtype, places, training.numeric)
        self.n_features_in_ = len(names)
        if named:
            self.feature_names_in_ = np.array(names, dtype=object)
        return training

    def _read_source(self, source: CountSource, y: Any, sample_weight: Any) -> Any:
        """The counts where these are enough, else the distinct rows."""
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
        if source.table is not None or not self._by_counts:
            training = self._read(source.rows(), y, None)
            self._n_rows = source.n_rows
            return training
        features = [i for i in range(len(source.schema)) if i != target]
        check_policy(self.missing)
        policy: Any = "state" if self.missing == "auto" else self.missing
        joint = reorder_columns(with_missing_policy(source, policy), [*features, target])
        schema, variable = joint.schema.select(range(len(features))), joint.schema[-1]
        self._preparation = {}
        self._use(policy_of_source(policy, source))
        self._describe(schema, variable, _dtype_of(variable.states), list(range(len(features))), ())
        self.n_features_in_ = len(schema)
        self.feature_names_in_ = np.array(schema.names, dtype=object)
        return joint

    def _describe(
        self,
        schema: Schema,
        target: Variable,
        dtype: Any,
        places: list[int],
        numeric: tuple[int, ...],
    ) -> None:
        """Set the attributes of the features, their places in the data, and the class."""
        self.schema_, self.target_ = schema, target
        self._places, self._numeric = places, numeric
        self._n_rows = None
        self.notes_ = preparation_notes(self._preparation, schema)
        classes = np.empty(target.card, dtype=object)
        classes[:] = target.states
        self.classes_ = classes.astype(dtype)

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
        data: dict[str, Any] = {"target": self.target_.name}
        if self._n_rows is not None:  # what was fitted were the distinct ones
            data["rows"] = self._n_rows
        return super()._record(source, seconds).with_parts(data=data)

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
