"""Measures of density: pseudo-likelihood, likelihood, and conditional marginals of groups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, shown_type
from counterpane.inference.gibbs import Gibbs, Sampler
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.joint import JointModel
from counterpane.seeds import random_generator
from counterpane.typing import Floats


class RowScore(NamedTuple):
    """The mean score of rows and its standard error; `rows` has the score of each row.

    For a `CountSource` these are its distinct rows, sorted, and the mean is that of all rows.
    The error is the standard deviation (of the population) / √n; n is the weight of all rows.
    It is infinite if a row is impossible.
    """

    mean: float
    standard_error: float
    rows: Floats


def pll(model: JointModel, X: Any) -> RowScore:
    """The mean pseudo-log-likelihood of rows: Σ_v ln P(x_v | rest of the row), natural logs.

    A Bayesian network sums out missing cells: the sum is then over the observed cells.

    Parameters
    ----------
    model : model
        A model of all columns.
    X : table or count source
        Rows with the columns of the model.

    Returns
    -------
    RowScore
        The mean, its standard error, and the score of each row.

    Examples
    --------
    >>> import counterpane as cp
    >>> table = cp.load_dataset("titanic")
    >>> score = pll(cp.ChowLiu().fit(table).model_, table)
    >>> round(score.mean, 2), bool(score.standard_error < 0.05)
    (-2.2, True)
    """
    table = _table(model, X, gaps=True)
    return row_score(model.pseudo_log_likelihood(table, total=True), table)


def log_likelihood(model: JointModel, X: Any) -> RowScore:
    """The mean log-probability of whole rows, natural logs; minus infinity if one is impossible.

    A Bayesian network sums out missing cells: it is then that of the observed cells.

    Parameters
    ----------
    model : model
        A model of all columns.
    X : table or count source
        Rows with the columns of the model.

    Returns
    -------
    RowScore
        The mean, its standard error, and the score of each row.

    Examples
    --------
    >>> import counterpane as cp
    >>> table = cp.load_dataset("titanic")
    >>> round(log_likelihood(cp.ChowLiu().fit(table).model_, table).mean, 2)
    -2.4
    """
    table = _table(model, X, gaps=True)
    return row_score(model.score_samples(table), table)


def normalized_pll(model: JointModel, X: Any) -> RowScore:
    """`pll` divided by the number of variables.

    Parameters
    ----------
    model : model
        A model of all columns.
    X : table or count source
        Rows with the columns of the model.

    Returns
    -------
    RowScore
        The mean, its standard error, and the score of each row.

    Examples
    --------
    >>> import counterpane as cp
    >>> table = cp.load_dataset("titanic")
    >>> round(normalized_pll(cp.ChowLiu().fit(table).model_, table).mean, 2)
    -0.55
    """
    table = _table(model, X, gaps=True)
    return row_score(model.pseudo_log_likelihood(table, total=True) / len(model.schema), table)


def cmll(
    model: JointModel,
    X: Any,
    *,
    groups: int | Sequence[Iterable[str]] = 4,
    method: Literal["gibbs", "exact"] = "gibbs",
    burn_in: int = 100,
    n_samples: int = 1000,
    prior: float = 1.0,
    random_state: int = 0,
    n_jobs: int = 1,
) -> RowScore:
    """The mean conditional marginal log-likelihood of rows, natural logs (Lowd 2012).

    The variables are divided into groups. For each row and group the evidence is the rest of the
    row; Σ ln P(x_v | evidence) over the variables of the group is summed over all groups.

    Parameters
    ----------
    model : model
        A model of all columns.
    X : table or count source
        Complete rows with the columns of the model.
    groups : int or sequence
        The groups by name, or their number; then they are drawn by `random_state`.
    method : "gibbs" or "exact"
        How marginals are computed: exactly, or by one Gibbs chain for each distinct evidence.
    burn_in, n_samples : int
        The sweeps of a chain.
    prior : float
        Sweeps of uniform probabilities that are added, so that no logarithm is infinite.
    random_state, n_jobs : int
        The seed, and the number of threads, on which results do not depend.

    Returns
    -------
    RowScore
        The mean, its standard error, and the score of each row.

    Examples
    --------
    >>> import counterpane as cp
    >>> table = cp.load_dataset("titanic")
    >>> model = cp.ChowLiu().fit(table).model_
    >>> exact = cmll(model, table, groups=2, method="exact")
    >>> bool(abs(cmll(model, table, groups=2).mean - exact.mean) < 0.01)
    True
    """
    if method not in ("gibbs", "exact") or not prior >= 0:
        raise ParameterError(
            f"method={method!r}, prior={prior!r}; 'gibbs' or 'exact', and no negative prior, are "
            "allowed."
        )
    table = _table(model, X)
    rng = random_generator(random_state)
    parts = _groups(model.schema, groups, rng)
    rows: Floats = np.zeros(table.n_rows)
    if method == "exact":
        for part in parts:
            rows += _exact_logs(model, table, part)
        return row_score(rows, table)
    settings = Gibbs(
        n_chains=1, burn_in=burn_in, n_samples=n_samples, random_state=rng, n_jobs=n_jobs
    )
    sampler = Sampler(model.engine.blanket, model.schema.names)
    for part in parts:
        rows += _sampled_logs(sampler, table, part, settings, prior)
    return row_score(rows, table)


def _table(model: JointModel, X: Any, *, gaps: bool = False) -> Table:
    """The rows as a table of the model's schema; of a source the distinct ones.

    With `gaps`, models that can sum missing cells out may be given some.
    """
    if not hasattr(model, "pseudo_log_likelihood"):
        raise ParameterError(
            f"{shown_type(model)} tells one column by the others, and no whole rows; measure "
            "its predict_proba, or learn a model of all columns."
        )
    X = X.rows() if isinstance(X, CountSource) else X
    same = isinstance(X, Table) and X.schema == model.schema
    table: Table = X if same else Table.from_frame(X, schema=model.schema)
    if table.has_missing.any() and not (gaps and isinstance(model, BayesianNetwork)):
        name = table.schema.names[int(np.argmax(table.has_missing))]
        raise DataError(f"column {name!r} has missing cells; complete rows are needed to score.")
    return table


def row_score(rows: Floats, table: Table) -> RowScore:
    """Return the mean of the scores of a table's rows, and its standard error."""
    weights = np.ones(rows.size) if table.weights is None else table.weights
    total = float(weights.sum())
    mean = float(rows @ weights) / total
    if mean == -math.inf:  # a row is impossible
        return RowScore(mean, math.inf, rows)
    variance = float((rows - mean) ** 2 @ weights) / total
    return RowScore(mean, math.sqrt(variance / total), rows)


def _groups(
    schema: Schema, groups: int | Sequence[Iterable[str]], rng: np.random.Generator
) -> list[list[int]]:
    """The variables of each group; drawn first of all, so that all models get the same ones."""
    n = len(schema)
    if isinstance(groups, (int, np.integer)):
        if groups < 1:
            raise ParameterError(f"groups={groups}; at least one is needed.")
        drawn = np.array_split(rng.permutation(n), min(int(groups), n))
        return [np.sort(part).tolist() for part in drawn]
    parts = [list(schema.indices(list(names))) for names in groups]
    if sorted(v for part in parts for v in part) != list(range(n)):
        raise ParameterError("the groups must name each variable of the model once.")
    return parts


def _exact_logs(model: JointModel, table: Table, part: list[int]) -> Floats:
    """Σ_v ln P(x_v | the rest of the row but for `part`), v in `part`, shape (n_rows,)."""
    names = table.schema.names
    rest = [name for v, name in enumerate(names) if v not in part]
    evidence = table.select(rest or [names[part[0]]])
    out: Floats = np.zeros(table.n_rows)
    for v in part:
        if rest:
            shares = model.query_many(names[v], evidence, method="exact").probabilities
        else:
            shares = np.tile(model.query(names[v], method="exact").probabilities, (out.size, 1))
        observed = np.take_along_axis(shares, table.codes[v].astype(np.int64)[:, None], axis=1)[
            :, 0
        ]
        with np.errstate(divide="ignore"):
            out += np.log(observed)
    return out


def _sampled_logs(
    sampler: Sampler, table: Table, part: list[int], settings: Gibbs, prior: float
) -> Floats:
    """The same by Gibbs sampling."""
    cards = table.schema.cards
    rest = [v for v in range(cards.size) if v not in part]
    means, _ = sampler.rows(rest, table.codes[rest], settings=settings)
    places = (np.cumsum(cards) - cards)[part] + table.codes[part].T
    observed = np.take_along_axis(means, places.astype(np.int64), axis=1)
    size = settings.n_samples
    with np.errstate(divide="ignore"):
        logs = np.log((observed * size + prior / cards[part]) / (size + prior))
    total: Floats = logs.sum(axis=1)
    return total
