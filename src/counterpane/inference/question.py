"""Evidence in the terms of potentials: codes and weights of variables by position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from counterpane.features import Potential
from counterpane.typing import Floats


class CodedEvidence(NamedTuple):
    """Evidence in codes: variable → code, and variable → weights of its states."""

    codes: Mapping[int, int]
    weights: Mapping[int, Floats]

    @property
    def variables(self) -> set[int]:
        """All variables with evidence."""
        return {*self.codes, *self.weights}

    def weight_potentials(self) -> list[Potential]:
        """The logs of the weights as potentials."""
        with np.errstate(divide="ignore"):
            return [Potential((v,), np.log(weights)) for v, weights in self.weights.items()]

    def without(self, variable: int) -> CodedEvidence:
        """The evidence on the other variables."""
        return CodedEvidence(
            {v: code for v, code in self.codes.items() if v != variable},
            {v: weights for v, weights in self.weights.items() if v != variable},
        )


NO_EVIDENCE = CodedEvidence({}, {})
