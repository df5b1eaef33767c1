"""Questions to a set of potentials: the plan, exact answers and samples, and estimates."""

from counterpane.inference.calibrate import Propagation
from counterpane.inference.exact import map_query, marginal, run
from counterpane.inference.gibbs import Gibbs, Sampler
from counterpane.inference.junction import CliqueTree
from counterpane.inference.maximum import ICM, MaxProduct
from counterpane.inference.mean_field import MeanField
from counterpane.inference.plan import Plan, plan_query
from counterpane.inference.propagation import BeliefPropagation
from counterpane.inference.rows import query_rows
from counterpane.inference.sampling import sample

__all__ = [
    "ICM",
    "BeliefPropagation",
    "CliqueTree",
    "Gibbs",
    "MaxProduct",
    "MeanField",
    "Plan",
    "Propagation",
    "Sampler",
    "map_query",
    "marginal",
    "plan_query",
    "query_rows",
    "run",
    "sample",
]
