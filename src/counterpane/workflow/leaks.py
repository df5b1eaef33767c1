"""Columns that nearly tell the class, which may not be known when one predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from counterpane.models.record import ClassFigures

LITTLE = 0.1  # of the log-loss of the class shares, and of the variance of the log-odds


def leaking_column(interactions: Sequence[Mapping[str, Any]], figures: ClassFigures | None) -> str:
    """The column that explains nearly all of a class that is nearly certain; else empty."""
    if figures is None or figures.log_loss is None:
        return ""
    largest = max(interactions, key=lambda part: part.get("explained", 0.0), default={})
    certain = figures.log_loss.value <= LITTLE * figures.prior.log_loss
    names = largest.get("columns", ())
    only = len(names) == 1 and largest.get("explained", 0.0) >= 1 - LITTLE
    return str(names[0]) if certain and only else ""
