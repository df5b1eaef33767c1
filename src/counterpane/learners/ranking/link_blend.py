"""Scores of items by fields of bootstrap samples and a random walk together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from counterpane.data.schema import Schema
from counterpane.errors import ParameterError
from counterpane.learners.ranking.walk_scores import WalkScores
from counterpane.models.hybrid_random_field import HybridRandomField
from counterpane.models.record import LearningRecord
from counterpane.typing import Array, Codes, Floats


class LinkBlend(WalkScores):
    """score(j) = ln of the fields' mean P(x_j = 1 | rest) + `weight` · ln of the walk's score.

    The walk is that of `WalkScores`, whose `constants` keep its logarithm finite.
    """

    kind = "link_blend"

    def __init__(
        self,
        schema: Schema,
        pairs: Any,
        constants: Floats,
        damping: float,
        fields: Sequence[HybridRandomField] = (),
        weight: float = 1.0,
        *,
        record: LearningRecord | None = None,
    ) -> None:
        super().__init__(schema, pairs, constants, damping, record=record)
        if weight < 0 or not (fields or weight):
            raise ParameterError(f"{len(fields)} fields and weight={weight!r} of the walk.")
        self.fields = tuple(fields)
        self.weight = float(weight)

    def __repr__(self) -> str:
        return (
            f"LinkBlend({len(self.schema)} items, {len(self.fields)} fields, "
            f"weight={self.weight:g}, damping={self.damping:g})"
        )

    def link_scores(self, codes: Codes) -> Floats:
        """The score of each item for each column of `codes` (items, users): (users, items)."""
        scores = mean_log_chances(self.fields, codes)
        if self.weight:
            scores += self.weight * np.log(super().link_scores(codes))
        return scores

    def to_arrays(self) -> dict[str, Array]:
        """All that `from_arrays` needs beside the schema."""
        arrays = super().to_arrays() | {"weight": np.array([self.weight])}
        for number, field in enumerate(self.fields):
            arrays |= {f"field{number}.{name}": a for name, a in field.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(
        cls, schema: Schema, arrays: Mapping[str, Array], record: LearningRecord | None
    ) -> Self:
        """The scores that `to_arrays` described."""
        walk = WalkScores.from_arrays(schema, arrays, None)
        parts: dict[str, dict[str, Array]] = {}
        for name, array in arrays.items():
            owner, dot, rest = name.partition(".")
            if dot:
                parts.setdefault(owner, {})[rest] = array
        fields = [
            HybridRandomField.from_arrays(schema, parts[f"field{number}"], None)
            for number in range(len(parts))
        ]
        weight = float(arrays["weight"][0])
        return cls(schema, walk.pairs, walk.constants, walk.damping, fields, weight, record=record)


def mean_log_chances(fields: Sequence[HybridRandomField], codes: Codes) -> Floats:
    """ln of the mean over fields of P(x_j = 1 | rest), (users, items); zeros without a field."""
    total: Floats = np.zeros(codes.shape[::-1])
    if not fields:
        return total
    for field in fields:
        total += np.exp(field.engine.blanket.full_conditionals(codes)[:, 1::2])
    logs: Floats = np.log(total / len(fields))
    return logs
