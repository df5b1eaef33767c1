"""Scores of items by fields of bootstrap samples and a random walk together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpane.data.schema import Schema
from counterpane.errors import ParameterError
from counterpane.learners.ranking.link_scores import pairs_of
from counterpane.learners.ranking.walk_scores import WalkScores, walk_arrays
from counterpane.models.arrays import (
    Arrays,
    arrays_of,
    by_prefix,
    model_from_arrays,
    store_as,
    with_prefix,
)
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


def mean_log_chances(fields: Sequence[HybridRandomField], codes: Codes) -> Floats:
    """ln of the mean over fields of P(x_j = 1 | rest), (users, items); zeros without a field."""
    total: Floats = np.zeros(codes.shape[::-1])
    if not fields:
        return total
    for field in fields:
        total += np.exp(field.engine.blanket.full_conditionals(codes)[:, 1::2])
    logs: Floats = np.log(total / len(fields))
    return logs


def _write(model: LinkBlend) -> dict[str, Array]:
    arrays = walk_arrays(model) | {"weight": np.array([model.weight])}
    for number, field in enumerate(model.fields):
        arrays |= with_prefix(f"field{number}", arrays_of(field))
    return arrays


def _read(schema: Schema, arrays: Arrays, record: LearningRecord | None) -> LinkBlend:
    parts = {name: part for name, part in by_prefix(arrays).items() if "" not in part}
    kind = HybridRandomField.kind
    fields = [model_from_arrays(kind, schema, parts[f"field{k}"], None) for k in range(len(parts))]
    return LinkBlend(
        schema, pairs_of(schema, arrays), arrays["constants"], float(arrays["damping"][0]), fields,
        float(arrays["weight"][0]), record=record,
    )  # fmt: skip


store_as(LinkBlend.kind, _write, _read)
