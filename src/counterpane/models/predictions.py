"""Predictions of a class as a frame of the kind that the rows came in."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers
from counterpane.data.export import frame_like
from counterpane.data.schema import Variable, state_text
from counterpane.typing import Floats


def prediction_frame(frame: Any, target: Variable, probabilities: Floats) -> Any:
    """The most probable class of each row, `predicted`, and P(class) of each class, as a frame."""
    none = np.zeros(len(probabilities), dtype=bool)
    best = probabilities.argmax(axis=1)
    columns: list[Column] = [Labels("predicted", target.states, best, declared=True)]
    for state, share in zip(target.states, probabilities.T, strict=True):
        columns.append(Numbers(f"P({state_text(state)})", share, none))
    return frame_like(frame, columns)
