"""Weights of known features by pseudo-likelihood.

Besag (1975); as Libra's mnlearnw (Lowd & Rooshenas, JMLR 2015) with a Gaussian prior or an L1
penalty on each weight, both on the scale of sums over rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any, Literal, NamedTuple

import numpy as np

import counterpane
from counterpane.checks import BOOLEAN, CHOICE, FUNCTION, INTEGER, NONE, NUMBER, NUMBERS, accepts
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.open import read
from counterpane.counts.source import CountSource, Policy
from counterpane.counts.view import with_missing_policy
from counterpane.data.schema import Schema
from counterpane.errors import DataError, ParameterError, shown_type
from counterpane.features import Potential, Rules, Tree
from counterpane.features.conditions import number_groups
from counterpane.learners.base import digest
from counterpane.learners.markov.pseudo_likelihood import (
    PseudoLikelihood,
    WeightFit,
    maximize_likelihood,
)
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.joint import JointModel
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.record import DataRecord, LearnerRecord, LearningRecord, WeightSearch
from counterpane.progress import Control, Report, TextBar
from counterpane.ragged import flatten, offsets_of, segment_sums, split
from counterpane.typing import Floats, Ints

PRIOR_SDS = (0.05, 0.1, 0.2, 0.5, 1.0)
L1_PENALTIES = (100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1)


Part = Potential | Rules


class TriedPrior(NamedTuple):
    """A prior with the weights fitted by it."""

    prior_sd: float
    l1: float
    fitted: WeightFit
    validation: float  # mean PLL of a row, 0 without validation rows


@accepts(
    prior_sd=NUMBER | NUMBERS,
    l1=NUMBER | NUMBERS,
    start=CHOICE,
    tolerance=NUMBER,
    max_steps=INTEGER,
    missing=CHOICE,
    time_limit=NUMBER | NONE,
    n_jobs=INTEGER,
    progress=BOOLEAN | FUNCTION,
)
def fit_weights(
    model: JointModel | Sequence[Part],
    X: Any,
    *,
    prior_sd: float | Sequence[float] = 1.0,
    l1: float | Sequence[float] = 0.0,
    start: Literal["zero", "model"] = "zero",
    tolerance: float = 1e-5,
    max_steps: int = 100,
    validation: Any = None,
    sample_weight: Any = None,
    missing: Literal["drop", "error"] = "error",
    time_limit: float | None = None,
    n_jobs: int = 1,
    progress: bool | Report = False,
) -> MarkovNetwork:
    """The Markov network of a model's features with the weights of the largest pseudo-likelihood.

    Maximizes Σ rows weight · Σ v ln P(x_v | rest) − Σ w² / (2 · prior_sd²) − l1 · Σ |w| by L-BFGS,
    by OWL-QN if l1 > 0. Features that hold in the same rows are merged; rules with weight zero by
    L1 are left out.

    Parameters
    ----------
    model : MarkovNetwork, DependencyNetwork, BayesianNetwork or list
        Only the features are used (tables, rules, the leaves of trees); or a list of potentials and
        rules over the columns of `X`.
    X : frame, array, path, Table or CountSource
        The rows; those of a source are streamed if they do not fit into memory.
    prior_sd, l1 : float or sequence of float
        The prior and the penalty; prior_sd=inf means no prior. With `validation`, several values of
        prior_sd (by default `PRIOR_SDS`), or of l1 if it is not zero, are tried, the strongest
        prior first; each search starts from the weights of the previous one, and the loop ends when
        the validation rows become less probable.
    start : {"zero", "model"}
        The first weights.
    tolerance : float
        A search ends when no slope is above it, in nats per row.
    max_steps : int
        The largest number of steps of a search.
    validation : like X, optional
        Rows by which the prior is chosen.
    sample_weight : array, optional
        Weights of the rows.
    missing : {"error", "drop"}
        What missing cells lead to.
    time_limit : float, optional
        Seconds in total; when they are over, or with Ctrl-C, the result is the best so far, with a
        warning.
    n_jobs : int
        Number of threads.
    progress : bool or callable
        Whether progress is shown.

    Returns
    -------
    MarkovNetwork
        `record` has the prior, the steps, and whether the search converged.

    Examples
    --------
    >>> import counterpane as cp
    >>> pair = cp.load_dataset("titanic").select(["sex", "survived"])
    >>> model = cp.fit_weights([Potential((0, 1), np.zeros((2, 2)))], pair, prior_sd=100.0)
    >>> round(model.query("survived", {"sex": "female"})["yes"], 3)
    0.732
    """
    began = time.monotonic()
    _check_numbers(tolerance=tolerance, max_steps=max_steps)
    if time_limit is not None:
        _check_numbers(time_limit=time_limit)
    pairs = _candidates(prior_sd, l1, validation is not None)
    network = model if isinstance(model, JointModel) else None
    schema = None if network is None else network.schema
    source = _source(X, schema, sample_weight, missing, n_jobs)
    features = _checked_parts(model) if network is None else features_of(network)
    parts = merge_equal(source.schema.cards, features)
    weights = _first_weights(parts, start)
    objective = PseudoLikelihood(source, parts, n_jobs=n_jobs)
    held_out = None
    if validation is not None:
        rows = _source(validation, source.schema, None, missing, n_jobs)
        held_out = PseudoLikelihood(rows, parts, n_jobs=n_jobs)
    with ExitStack() as stack:
        report = stack.enter_context(TextBar()) if progress is True else progress or None
        objective.ctl = ctl = Control.within(time_limit, report)
        limits = {"tolerance": tolerance, "max_steps": max_steps, "ctl": ctl}
        tried = _try_priors(objective, held_out, pairs, weights, limits)
    stopped = tried[-1].fitted.stopped
    if stopped is not None:
        warnings.warn(stopped, stacklevel=2)
    best = max(tried, key=lambda prior: prior.validation)
    structure = repr(network or f"{len(features)} potentials and rules")
    record = _record(source, tried, best, structure, round(time.monotonic() - began, 3))
    weighted = with_weights(parts, best.fitted.weights)
    if best.l1 > 0:
        weighted = [
            p.take(np.flatnonzero(p.weights)) if isinstance(p, Rules) else p for p in weighted
        ]
    return MarkovNetwork(source.schema, weighted, record=record)


def _try_priors(
    objective: PseudoLikelihood,
    held_out: PseudoLikelihood | None,
    pairs: Sequence[tuple[float, float]],
    weights: Floats,
    limits: dict[str, Any],
) -> list[TriedPrior]:
    """The fits of all priors; ends when a prior that is looser in one respect only does worse."""
    tried: list[TriedPrior] = []
    for sd, l1 in pairs:
        fitted = maximize_likelihood(objective, prior_sd=sd, l1=l1, start=weights, **limits)
        weights = fitted.weights
        tried.append(TriedPrior(sd, l1, fitted, _mean_pll(held_out, weights)))
        one_way = len({sd for sd, _ in pairs}) == 1 or len({l1 for _, l1 in pairs}) == 1
        worse = len(tried) > 1 and tried[-1].validation < tried[-2].validation
        if fitted.stopped is not None or (one_way and worse):
            break
    return tried


def _candidates(prior_sd: Any, l1: Any, tune: bool) -> list[tuple[float, float]]:
    """The pairs (prior_sd, l1) to try, the tightest first."""
    sds = np.atleast_1d(np.asarray(prior_sd, dtype=np.float64))
    penalties = np.atleast_1d(np.asarray(l1, dtype=np.float64))
    if not (sds.size and (sds > 0).all()):
        raise ParameterError(f"prior_sd={prior_sd!r}; standard deviations above zero are needed.")
    if not (penalties.size and (penalties >= 0).all() and np.isfinite(penalties).all()):
        raise ParameterError(f"l1={l1!r}; finite penalties, not below zero, are needed.")
    if tune and np.ndim(prior_sd) == np.ndim(l1) == 0:
        if penalties[0] > 0:
            penalties = np.array(L1_PENALTIES)
        else:
            sds = np.array(PRIOR_SDS)
    if not tune and sds.size * penalties.size > 1:
        raise ParameterError(
            f"prior_sd={prior_sd!r} and l1={l1!r} leave a choice; pass validation rows to make it "
            "by, or one number each."
        )
    return [(float(sd), float(p)) for p in np.sort(penalties)[::-1] for sd in np.sort(sds)]


def _check_numbers(**numbers: float) -> None:
    for name, number in numbers.items():
        if not number > 0:
            raise ParameterError(f"{name}={number!r}; a number above zero is needed.")


def _checked_parts(parts: Any) -> list[Part]:
    """The parts that were passed instead of a model."""
    if not isinstance(parts, Sequence) or not all(isinstance(p, Potential | Rules) for p in parts):
        raise ParameterError(
            f"features cannot be read from {shown_type(parts)}; pass a network, or a list of "
            "potentials and rules."
        )
    return list(parts)


def _source(
    X: Any, schema: Schema | None, sample_weight: Any, missing: Policy, n_jobs: int
) -> CountSource:
    """The rows of `X`, coded by `schema`."""
    if missing not in ("drop", "error"):
        raise ParameterError(f"missing={missing!r}; 'drop' or 'error' is allowed.")
    if isinstance(X, CountSource):
        if sample_weight is not None:
            raise ParameterError("sample_weight cannot be joined to a count source.")
        if schema is not None and X.schema != schema:
            raise DataError("the source has another schema than the model; encode it by that one.")
        rows = X if X.table is None else X.table
    else:
        rows = read(X, schema=schema, weights=sample_weight)
    if isinstance(rows, CountSource):
        return with_missing_policy(rows, missing)
    return MemoryCounts(rows.resolve_missing(missing), n_jobs=n_jobs)


def _first_weights(parts: Sequence[Part], start: str) -> Floats:
    weights = weights_of_parts(parts)
    if start == "zero":
        return np.zeros(weights.size)
    if start != "model":
        raise ParameterError(f"start={start!r}; 'zero' or 'model' is allowed.")
    if not np.isfinite(weights).all():
        raise ParameterError(
            "the model holds a weight of -infinity, from which no slope leads; start='zero' learns "
            "the weights of its features afresh."
        )
    return weights


def _mean_pll(objective: PseudoLikelihood | None, weights: Floats) -> float:
    if objective is None:
        return 0.0
    value, _ = objective(weights)
    return -value / float(objective.source.total_weight or 1.0)


def _record(
    source: CountSource,
    tried: Sequence[TriedPrior],
    best: TriedPrior,
    structure: str,
    seconds: float,
) -> LearningRecord:
    """How the weights were learned."""
    fitted = best.fitted
    each = tuple((c.prior_sd, c.l1, c.validation) for c in tried)
    return LearningRecord(
        learner=LearnerRecord(
            text=f"fit_weights(prior_sd={best.prior_sd:g}, l1={best.l1:g})",
            seconds=seconds,
            versions={"counterpane": counterpane.__version__},
        ),
        data=DataRecord(source.n_rows, source.total_weight, digest(source)),
        weights=WeightSearch(
            structure,
            objective=-fitted.objective,
            steps=fitted.steps,
            converged=fitted.converged,
            tried=each if len(each) > 1 else (),
        ),
    )


def features_of(model: JointModel) -> list[Part]:
    """The tables and rules of a network; a tree gives a rule for each leaf and state."""
    if isinstance(model, MarkovNetwork):
        return [*model.potentials, *model.rules]
    if isinstance(model, BayesianNetwork):
        return list(model.to_potentials())
    if isinstance(model, DependencyNetwork):
        parts = (part for conditional in model.conditionals for part in conditional)
        return [part.to_rules() if isinstance(part, Tree) else part for part in parts]
    raise ParameterError(
        f"{shown_type(model)} has no features to weigh; pass a Markov, dependency or Bayesian "
        "network, or a list of potentials and rules."
    )


def merge_equal(cards: Ints, parts: Iterable[Part]) -> list[Part]:
    """Tables and rules with the same sum as `parts`, no two of which hold in the same rows.

    Tables over the same variables are merged, and so are rules with equivalent conditions; a rule
    that names one cell of a table is added to the table. Rules that hold in every row change no
    conditional and are left out. Log-values and weights are summed.

    >>> same = [(0.5, [(0, 1, False), (1, 2, False)]), (0.25, [(1, 2, False), (0, 0, True)])]
    >>> merge_equal(np.array([2, 3]), [Rules.from_list([2, 3], same)])[0].weights.tolist()
    [0.75]
    """
    features = list(parts)
    tables: dict[frozenset[int], Potential] = {}
    for part in features:
        if isinstance(part, Potential) and part.scope:
            key = frozenset(part.scope)
            tables[key] = _sum(tables[key], part) if key in tables else part
    rules = _distinct_rules(cards, [part for part in features if isinstance(part, Rules)])
    if tables and len(rules):
        rules = _absorb(tables, rules)
    return [*tables.values(), rules] if len(rules) else list(tables.values())


def weights_of_parts(parts: Sequence[Part]) -> Floats:
    """Log-values of the tables, end to end, then the weights of the rules."""
    return flatten((_weights(part) for part in _tables_first(parts)), np.float64)


def with_weights(parts: Sequence[Part], weights: Floats) -> list[Part]:
    """The same features with other weights, in the order of `weights_of_parts`; tables first."""
    ordered = _tables_first(parts)
    pieces = split(weights, offsets_of(_weights(part).size for part in ordered))
    return [
        Potential(part.scope, piece.reshape(part.log_values.shape))
        if isinstance(part, Potential)
        else Rules(part.cards, piece, *part.conditions)
        for part, piece in zip(ordered, pieces, strict=True)
    ]


def _tables_first(parts: Sequence[Part]) -> list[Part]:
    return sorted(parts, key=lambda part: isinstance(part, Rules))


def _weights(part: Part) -> Floats:
    return part.weights if isinstance(part, Rules) else part.log_values


def _sum(table: Potential, other: Potential) -> Potential:
    """The sum of two tables over the same variables."""
    axes = [other.scope.index(v) for v in table.scope]
    return Potential(table.scope, table.log_values + other.log_values.transpose(axes))


def _distinct_rules(cards: Ints, parts: Sequence[Rules]) -> Rules:
    """The rules that hold in different rows, in the order of their first occurrence."""
    rules = Rules(
        cards, weights_of_parts(parts), offsets_of(flatten(np.diff(p.offsets) for p in parts)),
        flatten(p.variables for p in parts), flatten(p.values for p in parts),
        flatten((p.negated for p in parts), np.bool_),
    )  # fmt: skip
    conditions = rules.conditions.simplified(cards)
    sums = segment_sums(conditions.fingerprints(cards), conditions.offsets)
    groups, first = number_groups(*sums)
    weights = np.bincount(groups, rules.weights, minlength=first.size)
    order = np.argsort(first)
    order = order[np.diff(conditions.offsets)[first[order]] > 0]
    return Rules(cards, weights[order], *conditions.take(first[order]))


def _absorb(tables: dict[frozenset[int], Potential], rules: Rules) -> Rules:
    """Add to `tables` the rules that name one of their cells; returns the other rules."""
    others = np.ones(len(rules), dtype=bool)
    for scope, members in rules.by_scope():
        table = tables.get(frozenset(scope))
        if table is None:
            continue
        values = table.log_values.copy()
        for rule in members:
            own = slice(rules.offsets[rule], rules.offsets[rule + 1])
            if not rules.negated[own].any():
                states = dict(zip(rules.variables[own], rules.values[own], strict=True))
                values[tuple(states[v] for v in table.scope)] += rules.weights[rule]
                others[rule] = False
        tables[frozenset(scope)] = Potential(table.scope, values)
    return rules.take(np.flatnonzero(others))
