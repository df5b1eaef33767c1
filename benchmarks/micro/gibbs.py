"""Variable updates a second of Gibbs chains, by the number of features, on one thread.

Dependency networks of trees and of logistic regressions are learned from NLTCS (16 variables) and
Plants (69), with more and more features, and converted to Markov networks. An update draws one
variable from its conditional; chains run without evidence, and then as `cmll` runs them: one for
each of some test rows and each quarter of the variables, given the others. Processor time, without
what is compiled once for a model, which is told apart. Needs COUNTERPANE_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import counterpane as cp
from counterpane.inference.gibbs import Gibbs, Sampler
from harness import publish, seconds

FOLDER = Path(os.environ["COUNTERPANE_DATA"]) / "density"
LEARNERS = [
    *(("tree", {"kappa": kappa}) for kappa in (1e-120, 1e-60, 1e-30, 1e-12, 1e-4, 0.1)),
    *(("logistic", {"l1": l1}) for l1 in (200.0, 5.0)),
]
ROWS = 60  # test rows given


def tables(name: str) -> tuple[cp.Table, cp.Table]:
    with np.load(FOLDER / f"{name}.npz") as file:
        n = int(file["n_vars"])
        codes = [np.unpackbits(file[part], axis=1, count=n).T for part in ("train", "test")]
    schema = cp.Schema.from_cards([2] * n)
    return tuple(cp.Table(schema, c) for c in codes)  # type: ignore[return-value]


def n_features(model: Any) -> int:
    """Features of a Markov network; leaves and weights of a dependency network."""
    parts = model.engine.blanket.parts
    leaves = int((parts.nodes[:, 0] < 0).sum())
    return int(parts.rule_weights.size) + leaves


def measure(model: Any, test: cp.Table, sweeps: int) -> dict[str, float]:
    """Millions of updates a second without and with evidence, and what is compiled first."""
    n = len(model.schema)
    blanket = model.engine.blanket
    sampler = Sampler(blanket)
    settings = Gibbs(n_chains=1, burn_in=0, n_samples=sweeps)
    nothing = np.full((1, 1), 2)
    sampler.rows([0], nothing, settings=Gibbs(n_chains=1, n_samples=1))
    free = seconds(lambda: sampler.rows([0], nothing, settings=settings), repeat=2)
    quarters = np.array_split(np.random.default_rng(0).permutation(n), 4)
    rows = np.unique(test.codes[:, : 4 * ROWS], axis=1)
    rows = rows[:, np.random.default_rng(1).permutation(rows.shape[1])[:ROWS]]
    given, updates = 0.0, 0
    usual = Gibbs(n_chains=1)
    for quarter in quarters:
        rest = np.setdiff1d(np.arange(n), quarter)
        told = np.unique(rows[rest], axis=1)
        given += seconds(lambda r=rest, t=told: sampler.rows(r, t, settings=usual), repeat=2)
        updates += told.shape[1] * quarter.size * (usual.burn_in + usual.n_samples)
    return {
        "updates_free": n * sweeps / free / 1e6,
        "updates_given": updates / given / 1e6,
        "compile_ms": 1e3 * seconds(lambda: Sampler(blanket), repeat=2),
        "tables": int(sampler._factors.scopes.owners.size),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["nltcs", "plants"])
    options = parser.parse_args()
    details = []
    for name in options.sets:
        train, test = tables(name)
        for local, settings in LEARNERS:
            network = cp.DependencyNetworkLearner(local, **settings).fit(train).model_
            converted = cp.to_markov_network(network, data=train)
            for kind, model in (("dependency", network), ("Markov", converted)):
                found = measure(model, test, 3_000_000 // len(train.schema))
                details.append(
                    {"set": name, "network": kind, "local": local, **settings,
                     "features": n_features(model), **found}
                )  # fmt: skip
                print(details[-1], flush=True)
    publish("gibbs", summary(details), details)


def summary(details: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The slowest Markov network of NLTCS with at most 1,000 features, and the largest."""
    mine = [r for r in details if r["set"] == "nltcs" and r["network"] == "Markov"]
    small = [r["updates_free"] for r in mine if r["features"] <= 1000]
    rows = []
    if small:
        what = "NLTCS converted, up to 1,000 features, no evidence: the slowest"
        rows.append(
            {"what": what, "value": min(small), "unit": "M updates/s", "limit": 20.0, "sign": "≥"}
        )
    for r in details:
        if r["network"] == "Markov":
            what = f"{r['set']} converted, {r['local']}, {r['features']:,} features"
            for key, told in (("updates_free", "no evidence"), ("updates_given", "3/4 given")):
                rows.append({"what": f"{what}, {told}", "value": r[key], "unit": "M updates/s"})
    return rows


if __name__ == "__main__":
    main()
