"""The data of a report: rows as given and in the model's states, and links measured on them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterpane.additive.effects import Effects, measure_effects
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.data.columns import Column, known_columns, n_rows
from counterpane.data.encoding import as_states
from counterpane.data.reading import read_columns
from counterpane.data.schema import Schema, formats_of
from counterpane.data.table import Table
from counterpane.errors import DataError
from counterpane.independence.edge_strength import corrected_information, corrected_informations
from counterpane.tools.links import (
    BITS,
    PAIR_BITS,
    ModelLinks,
    edge_links,
    interaction_links,
    model_links,
    ranked_links,
    strengths_of,
)
from counterpane.typing import Bools, Floats, Ints

MOST_ROWS = 100_000
MOST_CELLS = 2 * 10**7
MOST_MEASURED = 20_000  # links of an undirected model that are measured in the data
ENTRIES = 2**23  # contributions of faces that are held at a time


@dataclass(frozen=True, eq=False)
class ReportRows:
    """Rows with the columns of a model: `raw` as given, `table` in the model's states.

    `raw` is None if they were given in the model's states. `n_given` is the number of rows before
    some were chosen because there are too many.
    """

    raw: list[Column] | None
    table: Table
    n_given: int

    @cached_property
    def columns(self) -> list[Column]:
        """The columns as given."""
        return [*self.table.labels()] if self.raw is None else self.raw

    @cached_property
    def complete(self) -> Bools:
        """Which rows have a known state in every column."""
        known: Bools = np.logical_and.reduce(
            self.table.codes < self.table.schema.cards[:, None], axis=0
        )
        return known

    @cached_property
    def shares(self) -> list[Floats]:
        """The share of each state among the cells that are known, by column."""
        return shares_of(self.table)

    def take(self, rows: Ints) -> ReportRows:
        """Some of the rows, by position."""
        raw = None if self.raw is None else [c.take(rows) for c in self.raw]
        return ReportRows(raw, self.table.take(rows), self.n_given)


def shares_of(table: Table) -> list[Floats]:
    """The share of each state among the cells that are known, by column."""
    counted = [
        np.bincount(codes, table.weights, card + 1)[:card]
        for codes, card in zip(table.codes, table.schema.cards.tolist(), strict=True)
    ]
    return [counts / max(float(counts.sum()), 1e-300) for counts in counted]


def report_rows(data: Any, schema: Schema, target: str | None = None) -> ReportRows:
    """The rows of anything that holds a table, for the model of a schema.

    Of very many rows some are taken, evenly spaced. A value that the model does not know is
    missing.
    """
    if isinstance(data, CountSource) and data.table is not None:
        data = data.table
    if isinstance(data, CountSource):
        raise DataError(
            f"a report needs rows, and {type(data).__name__} only counts them; pass a frame, a "
            "file or a Table of some of them."
        )
    most = max(min(MOST_ROWS, MOST_CELLS // len(schema)), 1)
    if isinstance(data, Table) and data.schema == schema:
        return ReportRows(None, _evenly(data, most), data.n_rows)
    weights = data.weights if isinstance(data, Table) else None
    if isinstance(data, str | os.PathLike):
        data = read_columns(data, formats=formats_of(schema))
    columns: list[Column] = (
        list(data.labels()) if isinstance(data, Table) else known_columns(data, schema)
    )
    by_name = {c.name: c for c in columns}
    lacking = [name for name in schema.names if name not in by_name]
    if lacking:
        more = f" and {len(lacking) - 1} more of the model's columns" if len(lacking) > 1 else ""
        raise DataError(
            f"the data lacks the column {lacking[0]!r}{more}; pass rows with all columns of the "
            "model, or make the report without data."
        )
    columns = [  # a class of intervals is learned again as such
        as_states(by_name[v.name], v) if v.cuts and v.name == target else by_name[v.name]
        for v in schema
    ]
    n = n_rows(columns[0])
    if n > most:
        chosen = np.linspace(0, n - 1, most).astype(np.int64)
        columns = [c.take(chosen) for c in columns]
        weights = None if weights is None else weights[chosen]
    table = Table.from_frame(columns, schema=schema, weights=weights, unseen="missing")
    return ReportRows(columns, table, n)


def _evenly(table: Table, most: int) -> Table:
    if table.n_rows <= most:
        return table
    return table.take(np.linspace(0, table.n_rows - 1, most).astype(np.int64))


def measured_links(
    model: Any, target: str | None, rows: ReportRows | None, marginals: Sequence[Any]
) -> ModelLinks:
    """The links of a model; strengths that it does not store are measured on `rows`."""
    links: ModelLinks = model_links(model, target=target, marginals=marginals)
    if rows is None or links.stored:
        return links
    if links.shape == "dag":
        return _counted_edges(model, rows) or links
    if links.shape == "faces":
        return interaction_links(model, _effects_on(model, rows))
    if len(links.links) > MOST_MEASURED:
        return links
    bits = group_information(rows.table, [k.scope for k in links.links])
    measured = [k._replace(strength=b) for k, b in zip(links.links, bits, strict=True)]
    return ranked_links(measured, links.shape, PAIR_BITS)


def _counted_edges(model: Any, rows: ReportRows) -> ModelLinks | None:
    """The edges of a network with their strengths on rows; None if it has no edges."""
    scopes = [(*model.dag.parents(x), x) for x in range(model.dag.n)]
    counted = MemoryCounts(rows.table).counts(scopes, missing="drop")
    edges = strengths_of(model, list(counted))
    return ranked_links(edge_links(model, edges), "dag", BITS) if edges else None


def _effects_on(model: Any, rows: ReportRows) -> Effects:
    """The effects of a classifier's interactions on some rows."""
    most = max(ENTRIES // ((1 + len(model.faces)) * model.n_classes), 1)
    chosen = np.linspace(0, rows.table.n_rows - 1, min(most, rows.table.n_rows))
    some = rows.take(chosen.astype(np.int64))
    contributions = model.contributions(*model.encode(some.columns))[1:]
    uniform = np.full(model.n_classes, 1 / model.n_classes)
    weights = some.table.weights
    each: Floats = np.ones(some.table.n_rows) if weights is None else np.asarray(weights, float)
    return measure_effects(contributions, each, uniform)


def pair_information(table: Table, scope: Sequence[int], rest: Sequence[int]) -> float:
    """The mutual information of two groups of columns in the rows that know both.

    In bits per row, corrected for chance; see `counterpane.independence.edge_strength`.
    """
    cards = table.schema.cards
    both = [*scope, *rest]
    known = (table.codes[both] < cards[both, None]).all(axis=0)
    if not known.any():
        return 0.0
    weights = None if table.weights is None else table.weights[known]
    a, b = _cells(table, scope)[known], _cells(table, rest)[known]
    wide = int(b.max()) + 1
    joint = np.bincount(a * wide + b, weights, (int(a.max()) + 1) * wide)
    return corrected_information(joint.reshape(-1, wide))


def group_information(table: Table, scopes: Sequence[Sequence[int]]) -> list[float]:
    """How much the columns of each scope tell about each other: Σ_k I(column k; those before it).

    Of two columns it is their mutual information.
    """
    pairs = [scope for scope in scopes if len(scope) == 2]
    counted = MemoryCounts(table).counts(pairs, missing="drop")
    bits = iter(corrected_informations(counted))
    return [
        next(bits)
        if len(scope) == 2
        else sum(pair_information(table, scope[:k], scope[k : k + 1]) for k in range(1, len(scope)))
        for scope in scopes
    ]


def _cells(table: Table, scope: Sequence[int]) -> Ints:
    """One number for each row's joint state of some columns, numbered as they occur."""
    codes = table.codes[list(scope)]
    if len(scope) == 1:
        single: Ints = codes[0].astype(np.int64)
        return single
    numbers: Ints = np.unique(codes, axis=1, return_inverse=True)[1].reshape(-1)
    return numbers
