"""Values of expressions: tables from a model, or from counts without a model.

Sums of products are carried out by the elimination that answers all other questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from counterpane.causes.expressions import Expression, Probability, Product, Quotient, Sum
from counterpane.counts.source import CountSource, Policy
from counterpane.data.schema import Schema, state_text
from counterpane.errors import DataError, ParameterError, Setting, shown_type
from counterpane.features import Potential
from counterpane.inference import marginal
from counterpane.models.joint import JointModel
from counterpane.typing import Floats

Tables: TypeAlias = Mapping[frozenset[str], Floats]
"""Joint probabilities of sets of columns; the axes of each are in the order of the schema."""

TOLERANCE = 1e-9  # of probabilities that must sum to 1


def probabilities_of(expression: Expression) -> Iterator[Probability]:
    """All probabilities in an expression."""
    if isinstance(expression, Probability):
        yield expression
    elif isinstance(expression, Product):
        for factor in expression.factors:
            yield from probabilities_of(factor)
    elif isinstance(expression, Sum):
        yield from probabilities_of(expression.term)
    else:
        yield from probabilities_of(expression.numerator)
        yield from probabilities_of(expression.denominator)


def tables_for(
    expression: Expression,
    source: JointModel | CountSource,
    *,
    equivalent_sample_size: float = 0.0,
    missing: Policy = "error",
) -> Tables:
    """The joint tables that an expression needs: by one query each, or by one batch of counts.

    `equivalent_sample_size` rows are added to each counted table, evenly over its cells.
    """
    sets = sorted({p.free for p in probabilities_of(expression)}, key=sorted)
    scopes = [source.schema.indices(sorted(names, key=source.schema.index)) for names in sets]
    if isinstance(source, JointModel):
        names = [[source.schema.names[v] for v in scope] for scope in scopes]
        return {
            columns: source.query(several, method="exact").probabilities
            for columns, several in zip(sets, names, strict=True)
        }
    if not isinstance(source, CountSource):
        raise ParameterError(
            f"{shown_type(source)} gives no probabilities; pass a model that answers "
            "questions, or a CountSource such as cp.MemoryCounts(table)."
        )
    if not 0 <= equivalent_sample_size < np.inf:
        raise ParameterError(
            Setting("equivalent_sample_size", equivalent_sample_size),
            " must be finite, not negative.",
        )
    tables = {}
    batch = source.counts(scopes, missing=missing)
    for place, columns in enumerate(sets):
        counts = np.asarray(batch[place], dtype=np.float64)
        if counts.sum() + equivalent_sample_size == 0:
            raise DataError(f"no row is complete in {', '.join(sorted(columns))}.")
        smooth = counts + equivalent_sample_size / counts.size
        tables[columns] = smooth / smooth.sum()
    return tables


def value_of(expression: Expression, tables: Tables, schema: Schema) -> Potential:
    """The logs of an expression over its free variables, which are positions of `schema`.

    Where a denominator is zero, the value is zero: `checked_effect` then finds that mass is lost.
    """
    if isinstance(expression, Probability):
        return _conditional(expression, tables, schema)
    if isinstance(expression, Quotient):
        above = value_of(expression.numerator, tables, schema)
        below = value_of(expression.denominator, tables, schema)
        inverse = np.where(below.log_values == -np.inf, -np.inf, -below.log_values)
        return _eliminated((), [above, Potential(below.scope, inverse)], schema)
    over, term = (
        (expression.over, expression.term) if isinstance(expression, Sum) else ((), expression)
    )
    factors = term.factors if isinstance(term, Product) else (term,)
    return _eliminated(over, [value_of(factor, tables, schema) for factor in factors], schema)


def _eliminated(over: Sequence[str], parts: list[Potential], schema: Schema) -> Potential:
    bound = set(schema.indices(over))
    keep = sorted({v for part in parts for v in part.scope} - bound)
    drawn = [p.log_values.shape[-1] for p in parts if p.scope[-1:] == (len(schema),)]
    cards, names = [*schema.cards.tolist(), *drawn[:1]], (*schema.names, "draws")
    shares, log_weight = marginal(parts, cards, keep, {}, names=names)
    with np.errstate(divide="ignore"):
        return Potential(keep, np.log(shares) + log_weight)


def _conditional(probability: Probability, tables: Tables, schema: Schema) -> Potential:
    scope = sorted(schema.indices(sorted(probability.free)))
    joint = tables[probability.free]
    left = tuple(k for k, v in enumerate(scope) if schema.names[v] in probability.variables)
    with np.errstate(divide="ignore"):
        logs = np.log(joint)
        if probability.given:
            total = np.broadcast_to(np.log(joint.sum(axis=left, keepdims=True)), logs.shape)
            logs = np.where(logs == -np.inf, -np.inf, logs - np.where(logs == -np.inf, 0, total))
    if logs.ndim > len(scope):  # draws, as a variable after all others
        scope = [*scope, len(schema)]
    return Potential(scope, logs)


def checked_effect(
    expression: Expression,
    tables: Tables,
    schema: Schema,
    treatment: Sequence[str],
    outcome: Sequence[str],
    codes: Mapping[str, int] | None = None,
    *,
    drawn: int = 0,
) -> Floats:
    """P(outcome | do(treatment)) of axes (treatment…, outcome…), each row checked to sum to 1.

    `codes` are the states of other variables that are free in the expression. Tables that are
    `drawn` from a posterior, along a last axis, are not checked: very small probabilities may be
    zero in them.
    """
    value = value_of(expression, tables, schema)
    value = value.at({schema.index(name): code for name, code in (codes or {}).items()})
    axes = schema.indices([*treatment, *outcome])
    table = np.exp(value.log_values)
    present = [v for v in (*axes, len(schema)) if v in value.scope]
    table = table.transpose([value.scope.index(v) for v in present])
    table = table[tuple(slice(None) if v in present else None for v in axes)]
    shape = tuple(schema.cards[list(axes)].tolist())
    table = np.broadcast_to(table, (*shape, *table.shape[len(axes) :]))
    sums = table.sum(axis=tuple(range(len(treatment), len(axes))))
    if not drawn and not (np.abs(sums - 1) <= 1e-6).all():
        raise DataError(_empty_cell(expression, tables, schema))
    with np.errstate(invalid="ignore"):
        middle = tuple(range(len(treatment), len(axes)))
        rows: Floats = table / np.expand_dims(sums, middle)
    return rows


def _empty_cell(expression: Expression, tables: Tables, schema: Schema) -> str:
    """A sentence that names the first combination of states that never occurs."""
    for probability in probabilities_of(expression):
        scope = sorted(schema.indices(sorted(probability.free)))
        left = tuple(k for k, v in enumerate(scope) if schema.names[v] in probability.variables)
        empty = np.argwhere(tables[probability.free].sum(axis=left) == 0)
        if probability.given and len(empty):
            rest = [v for k, v in enumerate(scope) if k not in left]
            states = ", ".join(
                f"{schema.names[v]}={state_text(schema[v].states[code])}"
                for v, code in zip(rest, empty[0].tolist(), strict=True)
            )
            return (
                f"{probability} is not known where {states}, which never occurs; merge states, "
                "adjust for other columns, or pass equivalent_sample_size=1."
            )
    return (
        f"{expression} does not sum to 1 on these tables; the data contradict the graph, or a "
        "combination of states that it needs never occurs."
    )
