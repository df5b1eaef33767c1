"""Fayyad and Irani's discretizer as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from counterpane.data.intervals import mdl_cuts
from counterpane.typing import Array, Floats, Ints


class MDLDiscretizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Codes of intervals that separate the classes, by minimum description length.

    Each column is cut on its own; see `counterpane.data.intervals.mdl_cuts` for the rule. A column
    unrelated to the class gets one interval. Weights are counts: a row of weight 2 is two rows.

    Attributes
    ----------
    cuts_ : list of array
        The rising cuts of each column.
    classes_ : array
        The classes.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : array of str
        Their names, if they had names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> [cuts.round(2).tolist() for cuts in MDLDiscretizer().fit(X, y).cuts_[2:]]
    [[2.45, 4.75], [0.8, 1.75]]
    """

    def fit(
        self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> MDLDiscretizer:
        """This discretizer with `cuts_` found from X (rows by columns, NaN is missing) and y."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, classes = np.unique(y, return_inverse=True)
        self.cuts_: list[Floats] = []
        for values in X.T:
            rows = ~np.isnan(values) & (weights > 0)
            self.cuts_.append(mdl_cuts(values[rows], classes[rows], weights[rows]))
        return self

    def transform(self, X: Any) -> Ints:
        """The interval of each cell, from 0; a missing cell gets the number of intervals."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        codes = np.empty(X.shape, dtype=np.int64)
        for values, cuts, out in zip(X.T, self.cuts_, codes.T, strict=True):
            out[:] = np.searchsorted(cuts, values, side="right")
            out[np.isnan(values)] = len(cuts) + 1
        return codes

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> Array:
        """The names of the columns, which stay as they are."""
        check_is_fitted(self)
        names: Array = _check_feature_names_in(self, input_features)
        return names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags
