"""Parameters of a known structure."""

from __future__ import annotations

from typing import Any

from counterpane.counts.source import CountSource, Policy
from counterpane.graphs import Dag
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.progress import Control


def fit_parameters(
    source: CountSource,
    dag: Dag,
    *,
    equivalent_sample_size: float = 1.0,
    missing: Policy = "error",
    provenance: dict[str, Any] | None = None,
    ctl: Control | None = None,
) -> BayesianNetwork:
    """The network of `dag` with the posterior mean under a BDeu prior, from one batch of counts.

    With missing="drop" each family's parameters come from the rows that are complete in it.

    >>> import counterpane as cp
    >>> source = cp.MemoryCounts(cp.load_dataset("titanic"))  # status, age, sex, survived
    >>> model = fit_parameters(source, cp.Dag(4, [(2, 3)]))
    >>> round(model.query("survived", {"sex": "female"})["yes"], 3)
    0.732
    """
    families = [(*dag.parents(i), i) for i in range(dag.n)]
    counts = source.counts(families, missing=missing, ctl=ctl)
    return BayesianNetwork.from_counts(
        source.schema,
        dag,
        list(counts),
        equivalent_sample_size=equivalent_sample_size,
        provenance=provenance,
    )
