"""Measures of models, rankings and structures; learners compared on held-out rows."""

from counterpane.evaluate.compare import compare, held_out_measures
from counterpane.evaluate.comparison import Comparison
from counterpane.evaluate.density import RowScore, cmll, log_likelihood, normalized_pll, pll
from counterpane.evaluate.independence import independence_accuracy, independence_questions
from counterpane.evaluate.ranking import (
    Agreement,
    compare_rankers,
    degree_of_agreement,
    mean_reciprocal_rank,
    reciprocal_ranks,
)
from counterpane.evaluate.structure import (
    StructureComparison,
    compare_structures,
    hamming_distance,
    structural_hamming_distance,
)
from counterpane.learn.classifiers.class_measures import ClassMeasures

__all__ = [
    "Agreement",
    "ClassMeasures",
    "Comparison",
    "RowScore",
    "StructureComparison",
    "cmll",
    "compare",
    "compare_rankers",
    "compare_structures",
    "degree_of_agreement",
    "hamming_distance",
    "held_out_measures",
    "independence_accuracy",
    "independence_questions",
    "log_likelihood",
    "mean_reciprocal_rank",
    "normalized_pll",
    "pll",
    "reciprocal_ranks",
    "structural_hamming_distance",
]
