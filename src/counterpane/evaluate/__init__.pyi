from counterpane.evaluate.comparing import compare as compare
from counterpane.evaluate.comparison import Comparison as Comparison
from counterpane.evaluate.cost import CostEstimate as CostEstimate
from counterpane.evaluate.cost import estimate_cost as estimate_cost
from counterpane.evaluate.density import RowScore as RowScore
from counterpane.evaluate.density import cmll as cmll
from counterpane.evaluate.density import log_likelihood as log_likelihood
from counterpane.evaluate.density import normalized_pll as normalized_pll
from counterpane.evaluate.density import pll as pll
from counterpane.evaluate.independence import independence_accuracy as independence_accuracy
from counterpane.evaluate.independence import independence_questions as independence_questions
from counterpane.evaluate.measures import ClassMeasures as ClassMeasures
from counterpane.evaluate.ranking import Agreement as Agreement
from counterpane.evaluate.ranking import RankerScores as RankerScores
from counterpane.evaluate.ranking import compare_rankers as compare_rankers
from counterpane.evaluate.ranking import degree_of_agreement as degree_of_agreement
from counterpane.evaluate.ranking import mean_reciprocal_rank as mean_reciprocal_rank
from counterpane.evaluate.ranking import reciprocal_ranks as reciprocal_ranks
from counterpane.evaluate.splits import held_out_measures as held_out_measures
from counterpane.evaluate.structure import StructureComparison as StructureComparison
from counterpane.evaluate.structure import compare_structures as compare_structures
from counterpane.evaluate.structure import hamming_distance as hamming_distance
from counterpane.evaluate.structure import (
    structural_hamming_distance as structural_hamming_distance,
)
