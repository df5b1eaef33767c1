"""`compare_methods`: several methods on one table, judged on rows that they have not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from counterpane.evaluate.comparing import compare
from counterpane.evaluate.comparison import Comparison
from counterpane.learners.gap_policy import explicit_policy
from counterpane.workflow.choose import CLASSIFIERS, MANY_STATES, check_method, make_learner
from counterpane.workflow.inputs import ColumnChoices, read_input
from counterpane.workflow.learned import learning_notes
from counterpane.workflow.measuring import QUICK, SMALL

USUAL = ("chow-liu", "structure-search", "hill-climb", "ges", "dn-tree", "hybrid")
SAME_CELLS = "all methods must be measured on the same cells"
MAX_BASELINE_ROWS = 50_000
LEARNED_AGAIN = (
    "Each fold learns structure and intervals again; `learn` measures a classifier that is this "
    "large or slow by the folds that chose its structure, and can print a slightly lower log-loss."
)


def compare_methods(
    data: Any,
    target: str | None = None,
    methods: Sequence[str] | None = None,
    *,
    criterion: str | None = None,
    parameters: Mapping[str, Mapping[str, Any]]
    | Callable[[Sequence[str]], Mapping[str, Mapping[str, Any]]]
    | None = None,
    folds: int = 5,
    holdout: float | None = None,
    baselines: bool | None = None,
    random_state: int = 0,
    time_limit: float | None = None,
    n_jobs: int = 1,
    progress: bool = False,
    **options: Any,
) -> Comparison:
    """Compare learning methods on a table, as the command `counterpane compare` does.

    Parameters
    ----------
    data : path, frame, Table or CountSource
        A file, the name of an embedded data set, or a table, which is read as `learn` does.
    target : str, optional
        The column to predict.
    methods : sequence of str, optional
        Methods of `learn`; by default the usual ones, with classifiers if there is a target.
    criterion : str, optional
        The score of networks, such as "bic" or "bdeu".
    parameters : mapping, optional
        Parameters of the learners, by method.
    folds, holdout, random_state
        How rows are held out; see `counterpane.evaluate.compare`.
    baselines : bool, optional
        Whether to fit classifiers of scikit-learn; by default with a target, up to 50,000 rows.
    time_limit, n_jobs, progress : optional
        As for learners.
    **options
        Options of `learn` for columns (discretize, missing, bins, cuts, use, drop, categorical,
        weights) and for text files (encoding, delimiter, decimal, sheet, header).

    Returns
    -------
    Comparison
        Records of the methods, the best first.

    Examples
    --------
    >>> import counterpane as cp
    >>> result = cp.compare_methods("titanic", "survived", ["tan", "chow-liu"], baselines=False)
    >>> result.best
    'tan'
    """
    columns, text = ColumnChoices.split(options)
    for name in methods or ():
        check_method(name, target, auto=False)
    usual = [*(CLASSIFIERS if target is not None else ()), *USUAL]
    names = list(dict.fromkeys(methods or usual))
    given = parameters(names) if callable(parameters) else parameters or {}
    shared = {"missing": columns.missing, "n_jobs": n_jobs, "time_limit": time_limit}
    learners = {
        name: make_learner(name, criterion, shared | dict(given.get(name, {}))) for name in names
    }
    rows = read_input(
        data, target, columns, text, classes=target is not None, in_memory=True, progress=progress
    )
    if target is not None and rows.source is not None:
        rows.source.schema.index(target)
    how = columns.intervals()
    table = rows.to_table(target, how or "none", columns.bins)
    if baselines is None:
        baselines = target is not None and table.n_rows <= MAX_BASELINE_ROWS
    comparison = compare(
        learners,
        rows.raw() if columns.bins is None else table,
        target,
        folds=folds,
        holdout=holdout,
        discretize=how,
        baselines=baselines,
        random_state=random_state,
        progress=progress,
    )
    gaps = explicit_policy("state", table.schema.names, table.has_missing, None)
    notes = learning_notes(table.schema, rows, gaps._replace(why=SAME_CELLS).sentence)
    if target is not None and any(_uses_its_folds(comparison, name) for name in names):
        notes.append(LEARNED_AGAIN)
    return replace(comparison, notes=tuple(notes), preparation=rows.to_record())


def _uses_its_folds(comparison: Comparison, name: str) -> bool:
    """Whether `learn` measures a method by the folds that chose its structure."""
    seconds = max(fit.seconds for fit in comparison.fits[name])
    return name in MANY_STATES and (comparison.n_rows > SMALL or seconds > QUICK)
