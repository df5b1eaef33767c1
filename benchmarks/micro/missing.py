"""What is lost with missing cells, by what is done about them.

Tables are sampled from known networks and lose cells: completely at random (MCAR), by the state of
another column that is never lost (MAR), or by what the cell itself held (MNAR). Each is given to
`StructureSearch` with every policy; "none lost" is the same table before. Structural Hamming
distance to the truth (of classes), the divergence from the truth in nats a row (on complete rows;
where missing is a state, given that none is missing), and processor seconds on one thread, each the
mean of three tables. Then the edges that EM finds between independent columns. Needs
COUNTERPANE_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import counterpane as cp
from counterpane.errors import CounterpaneError
from counterpane.evaluate import structural_hamming_distance
from harness import publish

FOLDER = Path(os.environ["COUNTERPANE_DATA"]) / "networks"
NETWORKS = ("asia", "child", "insurance", "alarm")
SHARES = {"MCAR 5 %": 0.05, "MCAR 10 %": 0.1, "MCAR 20 %": 0.2, "MCAR 30 %": 0.3}
MECHANISMS = (*SHARES, "MAR", "MNAR")
POLICIES: dict[str, dict[str, str]] = {
    "none lost": {"missing": "error"},
    "em": {"missing": "em"},
    "nal": {"criterion": "nal", "missing": "available"},
    "state": {"missing": "state"},
    "drop": {"missing": "drop"},
}
TABLES = 3
INDEPENDENT = (2, 2, 3, 2, 4, 2, 3, 2, 2)  # states of columns that have nothing to do with another
TEST_ROWS = 10_000


def lose(table: cp.Table, mechanism: str, rng: np.random.Generator) -> cp.Table:
    """`table` with cells lost at random, or by a cause that is in its most frequent state.

    Then a column loses 40 % of its cells where the cause is, 10 % elsewhere. MNAR: each is its own
    cause. MAR: every fourth column loses nothing, and each other one has one of them as its cause.
    """
    shape = table.codes.shape
    share = np.full(shape, SHARES.get(mechanism, 0.0))
    safe = np.arange(0, shape[0], 4)
    for v in range(shape[0] if mechanism not in SHARES else 0):
        cause = table.codes[v if mechanism == "MNAR" else rng.choice(safe)]
        if mechanism == "MNAR" or v not in safe:
            share[v] = np.where(cause == np.bincount(cause).argmax(), 0.4, 0.1)
    lost = rng.random(shape) < share
    return cp.Table(table.schema, np.where(lost, table.schema.cards[:, None], table.codes))


def log_prob(model: cp.BayesianNetwork, test: cp.Table) -> float:
    """Mean ln P(row), given that no cell is missing where missing is a state."""
    rows = cp.Table.from_frame(test, schema=model.schema)
    known = {
        v.name: [0.0 if s is None else 1.0 for s in v.states]
        for v in model.schema
        if None in v.states
    }
    given = model.log_evidence({}, virtual_evidence=known) if known else 0.0
    return float(model.score_samples(rows).mean()) - given


def measure(name: str, rows: int, mechanism: str) -> list[dict[str, Any]]:
    """A record for each policy."""
    network = cp.load(FOLDER / f"{name}.bif.gz")
    test = network.sample(TEST_ROWS, random_state=10_000)
    truth = float(network.score_samples(test).mean())
    found: dict[str, list[tuple[float, float, float]]] = {policy: [] for policy in POLICIES}
    for seed in range(TABLES):
        whole = network.sample(rows, random_state=seed)
        given = lose(whole, mechanism, np.random.default_rng([seed, 1]))
        for policy, options in POLICIES.items():
            learner: Any = cp.StructureSearch(**options)  # type: ignore[arg-type]
            began = time.process_time()
            try:
                model = learner.fit(whole if policy == "none lost" else given).model_
            except CounterpaneError:  # no complete row is left
                continue
            spent = time.process_time() - began
            distance = structural_hamming_distance(model, network)
            found[policy].append((distance, truth - log_prob(model, test), spent))
    where = {"network": name, "rows": rows, "lost": mechanism}
    return [
        {**where, "policy": policy, "distance": d, "divergence": k, "seconds": s}
        for policy, runs in found.items()
        if len(runs) == TABLES
        for d, k, s in [np.mean(runs, axis=0).tolist()]
    ]


def false_edges(share: float, tables: int = 20, rows: int = 1500) -> dict[str, Any]:
    """Edges between independent columns that lost a share of their cells, the mean of tables."""
    cards = np.array(INDEPENDENT)
    edges = 0
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        codes = np.array([rng.integers(0, c, rows) for c in cards], dtype=np.uint8)
        for column, card in zip(codes, cards, strict=True):
            column[rng.random(rows) < share] = card
        table = cp.Table(cp.Schema.from_cards(INDEPENDENT), codes)
        edges += (
            cp.StructureSearch(missing="em" if share else "error").fit(table).model_.dag.n_edges
        )
    what = f"false edges, {share:.0%} missing of independent columns, em"
    return {"what": what, "value": edges / tables, "unit": "edges"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 rows only")
    sizes = (1000,) if parser.parse_args().quick else (1000, 5000)
    for options in POLICIES.values():  # warm
        some = cp.load(FOLDER / "asia.bif.gz").sample(300, random_state=0)
        if options["missing"] != "error":
            some = lose(some, "MCAR 20 %", np.random.default_rng(1))
        cp.StructureSearch(**options).fit(some)  # type: ignore[arg-type]
    details = []
    for name in NETWORKS:
        for rows in sizes:
            for mechanism in MECHANISMS:
                details += measure(name, rows, mechanism)
                for record in details[-len(POLICIES) :]:
                    print(record, flush=True)
    independent = [false_edges(share) for share in (0.0, 0.1, 0.3, 0.5)]
    publish("missing", summary(details) + independent, details)


def summary(details: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over networks and sizes, where the policy could learn all of them."""
    whole = sum(r["policy"] == "none lost" and r["lost"] == "MAR" for r in details)
    out = []
    for measured, unit in (("distance", "edges"), ("divergence", "nats a row"), ("seconds", "s")):
        for mechanism in MECHANISMS:
            for policy in POLICIES:
                values = [
                    r[measured] for r in details if r["lost"] == mechanism and r["policy"] == policy
                ]
                if len(values) == whole:
                    what = f"{measured}, {mechanism}, {policy}"
                    out.append({"what": what, "value": float(np.mean(values)), "unit": unit})
    return out


if __name__ == "__main__":
    main()
