"""How good a result is, beside a truth or another result."""

from counterpane.evaluate.questions import independence_accuracy, independence_questions
from counterpane.evaluate.structure import (
    StructureComparison,
    compare_structures,
    hamming_distance,
    structural_hamming_distance,
)

__all__ = [
    "StructureComparison",
    "compare_structures",
    "hamming_distance",
    "independence_accuracy",
    "independence_questions",
    "structural_hamming_distance",
]
