"""Classifiers of other libraries, each as its users would run it, on frames with gaps.

Texts become one-hot columns, in which a gap is a value; numbers are standardized where it matters,
a gap being the median; boosting takes categories and gaps as they are. Every one is smoothed alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from c45 import C45
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from counterpane.data.discretize import MDLDiscretizer

Proba = np.ndarray
STRENGTHS = np.logspace(-3, 2, 11)
SVM_ROWS = 6000  # a kernel of more is not worth the wait
TUNING_ROWS = 5000  # rows on which the strength of the L1 penalty is chosen, where there are more


def smooth(p: Proba, rows: int) -> Proba:
    """(m p + 1/C) / (m + 1): what one more row, spread over all classes, makes of p."""
    return (rows * p + 1 / p.shape[1]) / (rows + 1)


class Rival:
    """A classifier by its maker, on columns prepared in one way; classes are codes 0 … C − 1."""

    def __init__(self, make: Callable[..., Any], prepare: str, *, tune: bool = False,
                 max_rows: int | None = None) -> None:  # fmt: skip
        self.make, self.prepare, self.tune, self.max_rows = make, prepare, tune, max_rows

    def predict_proba(self, X: pd.DataFrame, y: np.ndarray, T: pd.DataFrame, classes: int) -> Proba:
        """Smoothed P(class | row) of the rows `T`, after learning from X and y."""
        if self.max_rows is not None and len(y) > self.max_rows:
            rows = np.random.default_rng(0).choice(len(y), self.max_rows, replace=False)
            X, y = X.iloc[rows], y[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence, of rare classes, of feature names
            strength = {"C": self._strength(X, y, classes)} if self.tune else {}
            return smooth(self._fitted(X, y, T, classes, strength), len(y))

    def _strength(self, X: pd.DataFrame, y: np.ndarray, classes: int) -> float:
        """The strength of least log-loss in five inner folds."""
        if len(y) > TUNING_ROWS and self.make is l1:
            rows = np.random.default_rng(0).choice(len(y), TUNING_ROWS, replace=False)
            X, y = X.iloc[rows], y[rows]
        losses = np.zeros(len(STRENGTHS))
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            design = columns_for(self.prepare, X)
            A, B = design.fit_transform(X.iloc[train], y[train]), design.transform(X.iloc[test])
            for i, strength in enumerate(STRENGTHS):
                p = learned(self.make(C=strength), A, y[train], B, classes)
                losses[i] -= np.log(smooth(p, len(train))[np.arange(len(test)), y[test]]).sum()
        return float(STRENGTHS[losses.argmin()])

    def _fitted(self, X: pd.DataFrame, y: np.ndarray, T: pd.DataFrame, classes: int,
                options: dict[str, float]) -> Proba:  # fmt: skip
        design = columns_for(self.prepare, X)
        A, B = design.fit_transform(X, y), design.transform(T)
        return learned(self.make(**options), A, y, B, classes)


def learned(model: Any, A: Any, y: np.ndarray, B: Any, classes: int) -> Proba:
    """P(class | row of B), with a column for classes that y does not hold."""
    found = np.zeros((B.shape[0], classes))
    if len(np.unique(y)) == 1:
        found[:, y[0]] = 1.0
    else:
        model.fit(A, y)
        found[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(B)
    return found


def plain(X: pd.DataFrame) -> pd.DataFrame:
    """The same frame under names that LightGBM does not refuse."""
    return X.set_axis([f"c{i}" for i in range(X.shape[1])], axis=1)


def columns_for(prepare: str, X: pd.DataFrame) -> Any:
    """The transformer that a rival needs: "states" (one-hot), "scaled" numbers, or "plain"."""
    categories = [c for c in X if isinstance(X[c].dtype, pd.CategoricalDtype)]
    numbers = [c for c in X if c not in categories]
    if prepare == "plain":
        return FunctionTransformer(plain)
    one_hot = make_pipeline(
        OrdinalEncoder(
            encoded_missing_value=-1, handle_unknown="use_encoded_value", unknown_value=-2
        ),
        OneHotEncoder(handle_unknown="ignore"),
    )
    numeric = make_pipeline(MDLDiscretizer(), OneHotEncoder(handle_unknown="ignore"))
    if prepare == "scaled":
        numeric = make_pipeline(
            SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
        )
    return ColumnTransformer([("states", one_hot, categories), ("numbers", numeric, numbers)])


def l2(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=1000)


def l1(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, l1_ratio=1.0, solver="saga", tol=1e-3, max_iter=500)


def svm() -> SVC:
    return SVC(probability=True, random_state=0)


def linear_svm() -> SVC:
    return SVC(kernel="linear", probability=True, random_state=0)


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(500, random_state=0)


def histogram_boosting() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)


def tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(min_samples_leaf=2, random_state=0)


RIVALS = {
    "LR": Rival(l2, "states", tune=True),
    "LR-L1": Rival(l1, "states", tune=True),
    "LR-raw": Rival(l2, "scaled", tune=True),
    "SVM": Rival(svm, "scaled", max_rows=SVM_ROWS),
    "SVM-linear": Rival(linear_svm, "scaled", max_rows=SVM_ROWS),
    "RF": Rival(forest, "scaled"),
    "HGB": Rival(histogram_boosting, "plain"),
    "Tree": Rival(tree, "scaled"),
    "C4.5": Rival(C45, "plain"),
}
"""By the names of the report; two more join where they are installed."""

try:
    from lightgbm import LGBMClassifier
except ImportError:
    pass
else:
    RIVALS["LGBM"] = Rival(lambda: LGBMClassifier(verbose=-1, n_jobs=1, random_state=0), "plain")

try:
    from interpret.glassbox import ExplainableBoostingClassifier
except ImportError:
    pass
else:
    RIVALS["EBM"] = Rival(lambda: ExplainableBoostingClassifier(n_jobs=1, random_state=0), "plain")
