"""Several columns of classes at once: joined to one class of all their joint states, and split."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.data.columns import Column, Labels
from counterpane.data.encoding import encode_column
from counterpane.data.schema import Variable
from counterpane.data.table import Table
from counterpane.errors import DataError
from counterpane.learners.classifiers.training_data import (
    class_labels,
    column_called,
    read_features,
)
from counterpane.typing import Array, Floats, Ints


class ClassVector(NamedTuple):
    """Some class columns; a joint class is a state of each, the last one running fastest."""

    variables: tuple[Variable, ...]

    @property
    def name(self) -> str:
        """The name of the joint class."""
        return ", ".join(v.name for v in self.variables)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of states of each column."""
        return tuple(v.card for v in self.variables)

    @property
    def classes(self) -> Array:
        """The joint classes: an array of tuples of states."""
        joint: Array = np.empty(int(np.prod(self.shape)), dtype=object)
        joint[:] = list(product(*(v.states for v in self.variables)))
        return joint

    def codes(self, columns: Sequence[Column]) -> Ints:
        """The joint class of each row, by the columns' names; −1 where a state is not known."""
        joint: Ints = np.zeros(1, dtype=np.int64)
        known = np.ones(1, dtype=np.bool_)
        for variable in self.variables:
            part = encode_column(column_called(columns, variable.name, True), variable, "unknown")
            known = known & (part < variable.card)
            joint = joint * variable.card + part
        return np.where(known, joint, -1)

    def labels(self, columns: Sequence[Column], taken: Sequence[str]) -> Labels:
        """The joint class as a column, under a name that is not taken."""
        name = self.name
        while name in taken:
            name += "_"
        texts = tuple(", ".join(map(str, states)) for states in self.classes)
        if len(set(texts)) < len(texts):
            texts = tuple(", ".join(map(repr, states)) for states in self.classes)
        return Labels(name, texts, self.codes(columns), declared=True)

    def states(self, codes: Ints) -> Array:
        """The state of each column for joint classes, shape (rows, columns)."""
        places = np.unravel_index(codes, self.shape)
        found: Array = np.empty((len(codes), len(self.shape)), dtype=object)
        for k, (variable, place) in enumerate(zip(self.variables, places, strict=True)):
            found[:, k] = np.array(variable.states, dtype=object)[place]
        return found

    def marginals(self, proba: Floats) -> dict[str, Floats]:
        """P(state) of each column by name, from P(joint class) of shape (rows, classes)."""
        table = proba.reshape(-1, *self.shape)
        axes = range(1, table.ndim)
        return {
            v.name: table.sum(axis=tuple(a for a in axes if a != k + 1))
            for k, v in enumerate(self.variables)
        }


def names_of_classes(y: Any) -> tuple[str, ...] | None:
    """The names, if `y` is a list or tuple of different texts: maybe of columns, maybe classes."""
    if not isinstance(y, list | tuple) or len(y) < 2 or not all(isinstance(n, str) for n in y):
        return None
    return tuple(y) if len(set(y)) == len(y) else None


def join_classes(
    X: Any, names: Sequence[str]
) -> tuple[list[Column], ClassVector, Array | None] | None:
    """(features and the joint class as the last column, the vector, weights of a table).

    None where `X` has not all these columns, so that the names are classes of its rows.
    """
    if isinstance(X, CountSource):
        X = X.rows()
    named, columns = read_features(X)
    present = {c.name for c in columns} if named else set()
    if not present.issuperset(names):
        return None
    labels = [class_labels(column_called(columns, name, named)) for name in names]
    vector = ClassVector(tuple(Variable(c.name, c.states) for c in labels))
    features = [c for c in columns if c.name not in names]
    if not features:
        raise DataError(f"X has no column but the classes {', '.join(map(repr, names))}.")
    joint = vector.labels(labels, [c.name for c in features])
    return [*features, joint], vector, X.weights if isinstance(X, Table) else None
