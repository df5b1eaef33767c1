"""Inference from a set of potentials: plans, exact answers and samples, approximations."""

from counterpane.inference.calibration import JunctionMarginals, query_rows
from counterpane.inference.exact_run import ExactPlan, ExactRun, map_query, marginal
from counterpane.inference.gibbs import Gibbs, Sampler
from counterpane.inference.join_graph import (
    BeliefPropagation,
    ClusterRun,
    JoinGraph,
    WeightBounds,
)
from counterpane.inference.junction import CliqueTree
from counterpane.inference.limits import Limits, limited
from counterpane.inference.map import ICM, MaxProduct
from counterpane.inference.mean_field import MeanField

__all__ = [
    "ICM",
    "BeliefPropagation",
    "CliqueTree",
    "ClusterRun",
    "ExactPlan",
    "ExactRun",
    "Gibbs",
    "JoinGraph",
    "JunctionMarginals",
    "Limits",
    "MaxProduct",
    "MeanField",
    "Sampler",
    "WeightBounds",
    "limited",
    "map_query",
    "marginal",
    "query_rows",
]
