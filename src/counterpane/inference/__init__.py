"""Questions to a set of potentials: the plan, exact answers, exact samples."""

from counterpane.inference.calibrate import Propagation
from counterpane.inference.exact import map_query, marginal, run
from counterpane.inference.junction import CliqueTree
from counterpane.inference.plan import Plan, plan_query
from counterpane.inference.rows import query_rows
from counterpane.inference.sampling import sample

__all__ = [
    "CliqueTree",
    "Plan",
    "Propagation",
    "map_query",
    "marginal",
    "plan_query",
    "query_rows",
    "run",
    "sample",
]
