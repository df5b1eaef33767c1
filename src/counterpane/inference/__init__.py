"""Questions to a set of potentials: the plan, exact answers, exact samples."""

from counterpane.inference.exact import map_query, marginal, run
from counterpane.inference.plan import Plan, plan_query
from counterpane.inference.sampling import sample

__all__ = ["Plan", "map_query", "marginal", "plan_query", "run", "sample"]
