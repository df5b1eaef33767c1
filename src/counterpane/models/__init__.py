"""Models: final distributions that answer questions."""

from counterpane.models.answer import Answer
from counterpane.models.base import Model
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.hybrid_random_field import HybridRandomField
from counterpane.models.joint import JointModel
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.mixture import Mixture

__all__ = [
    "Answer",
    "BayesianNetwork",
    "DependencyNetwork",
    "HybridRandomField",
    "JointModel",
    "MarkovNetwork",
    "Mixture",
    "Model",
]
