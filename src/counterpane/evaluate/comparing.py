"""Several learners on one table: fitted to some rows, measured on the others."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from counterpane.data.table import Table
from counterpane.errors import CounterpaneError, ParameterError
from counterpane.evaluate.baselines import BASELINES, Baseline
from counterpane.evaluate.comparison import Comparison, LearnerFit, Pair
from counterpane.evaluate.density import log_likelihood, pll
from counterpane.evaluate.splits import FOLDS, SplitRows, fit_completely, held_out_masks
from counterpane.evaluate.structure import structural_hamming_distance
from counterpane.learners.driver import CTRL_C, StoppedEarly
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.progress import Report, TextBar
from counterpane.typing import Bools


def compare(
    learners: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: str | None = None,
    *,
    folds: int = FOLDS,
    holdout: float | None = None,
    discretize: Any = "quantile",
    baselines: bool | Sequence[str] = False,
    random_state: int = 0,
    progress: bool | Report = False,
) -> Comparison:
    """Measures of several learners on held-out rows, and the agreement of their edges.

    All learners are fitted to the same rows and measured on the same other rows. If a learner
    fails, its record has the error, and the others continue. Ctrl-C keeps the finished folds.

    Parameters
    ----------
    learners : mapping or sequence
        Learners of this library, named by a mapping or by their classes; they are not changed.
    X : table
        Anything that `read` takes. Missing cells are a state.
    y : str, optional
        The class in `X`. Classifiers need it; they take numeric columns as they are, and cut them
        anew in each fold.
    folds : int
        Each of so many parts of the rows is predicted by fits to the others.
    holdout : float, optional
        Instead of folds: the share of the rows that is predicted once.
    discretize : str or int or None
        How numbers are cut for learners that are no classifiers, as in `read`.
    baselines : bool or sequence of str
        Classifiers of scikit-learn on the same folds: all of `BASELINES`, or those named.
    random_state : int
        The seed of the folds.
    progress : bool or callable
        Whether to show a bar, or a function that is told of each fit.

    Returns
    -------
    Comparison
        Records of the learners, the best first.

    Examples
    --------
    >>> import counterpane as cp
    >>> table = cp.load_dataset("titanic")
    >>> result = compare([cp.ChowLiu(), cp.NaiveBayes()], table, "survived", folds=3)
    >>> [(r["method"], round(r["log_loss"], 2)) for r in result.records]
    [('NaiveBayes', 0.52), ('ChowLiu', 0.53)]
    """
    named = _with_baselines(_named(learners), baselines, y)
    rows = SplitRows(X, y, discretize)
    parts = held_out_masks(rows.n_rows, folds, holdout, random_state)
    fits: dict[str, list[LearnerFit]] = {name: [] for name in named}
    bar: Any = TextBar() if progress is True else nullcontext(progress or None)
    finished = 0
    with bar as report:
        try:
            for fold, tested in enumerate(parts):
                for place, (name, learner) in enumerate(named.items()):
                    if not fits[name] or fits[name][-1].failed is None:
                        fits[name].append(_fit_and_measure(learner, rows, tested))
                    if report is not None:
                        done = fold * len(named) + place + 1
                        report(f"comparing, {name}", done, len(parts) * len(named))
                finished += 1
        except KeyboardInterrupt:
            if not finished:
                raise
            fits = {name: measured[:finished] for name, measured in fits.items()}
            words = f"comparing was stopped ({CTRL_C}) after {finished} of {len(parts)} folds"
            stop = StoppedEarly(f"{words}; the measures are theirs.", reason=CTRL_C)
            warnings.warn(stop, stacklevel=2)
    return Comparison(fits, rows.names, y, rows.n_rows, finished, holdout, _network_distance)


def _named(learners: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    if not isinstance(learners, Mapping):
        names = [type(learner).__name__ for learner in learners]
        twice = [n if names.count(n) == 1 else f"{n} {i + 1}" for i, n in enumerate(names)]
        learners = dict(zip(twice, learners, strict=True))
    if not learners:
        raise ParameterError("there is no learner to compare; pass at least one.")
    return dict(learners)


def _with_baselines(
    named: dict[str, Any], baselines: bool | Sequence[str], y: str | None
) -> dict[str, Any]:
    """The learners, and the baselines after them; these need a class."""
    if baselines and y is None:
        raise ParameterError("baselines are classifiers, and need a class; name it with y=….")
    names = () if baselines is False else tuple(BASELINES) if baselines is True else baselines
    return named | {name: Baseline(name) for name in names}


def _fit_and_measure(learner: Any, rows: SplitRows, tested: Bools) -> LearnerFit:
    """The measures of a copy of a learner that was fitted to the rows that are not tested."""
    copy = type(learner)(**learner.get_params(deep=False))
    classifier = hasattr(copy, "predict_log_proba")
    began = time.monotonic()
    try:
        if classifier and rows.y is None:
            raise ParameterError(f"{type(copy).__name__} needs a class; name it with y=….")
        if classifier:
            fit_completely(copy, rows.columns_of(~tested), rows.y, rows.weights_of(~tested))
        else:
            fit_completely(copy, rows.table.take(~tested))
        seconds = time.monotonic() - began
        model = copy.model_
        held_out = rows.table.take(tested)
        measures = None
        if classifier:
            measures = rows.class_measures(copy, tested)
        elif rows.y is not None and model is not None:
            measures = rows.joint_class_measures(model, tested)
        return LearnerFit(
            seconds,
            None if classifier else _mean_or_none(pll, model, held_out),
            None if classifier else _mean_or_none(log_likelihood, model, held_out),
            measures,
            None if isinstance(copy, Baseline) else frozenset(_joined_pairs(copy)),
            model if isinstance(model, BayesianNetwork) and not classifier else None,
        )
    except CounterpaneError as error:
        return LearnerFit(time.monotonic() - began, failed=str(error))


def _mean_or_none(measure: Any, model: Any, rows: Table) -> float | None:
    """The mean of a measure; None if the model does not have it."""
    try:
        return float(measure(model, rows).mean)
    except (CounterpaneError, AttributeError):
        return None


def _joined_pairs(learner: Any) -> Iterator[Pair]:
    """The pairs of columns that a learner joins: by an edge or an interaction with the class."""
    if hasattr(learner, "interactions_"):
        groups = [(*r["columns"], learner.target_.name) for r in learner.interactions_]
    elif hasattr(learner, "hyperedges_"):
        groups = [(*face, learner.target_.name) for face in learner.hyperedges_]
    else:
        groups = list(learner.graph_.edges)
    for group in groups:
        for i, a in enumerate(group):
            for b in group[i + 1 :]:
                yield (a, b) if a < b else (b, a)


def _network_distance(a: LearnerFit, b: LearnerFit) -> int | None:
    """The structural Hamming distance of two networks; None for other models."""
    if a.network is None or b.network is None:
        return None
    return structural_hamming_distance(a.network, b.network)
