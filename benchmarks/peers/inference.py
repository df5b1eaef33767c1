"""Questions to known networks, beside pyAgrum's LazyPropagation and pgmpy's elimination.

One process, one thread. pgmpy, where it is installed, joins on ALARM.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1]))
from counterpane.data import Table
from counterpane.models import BayesianNetwork
from harness import publish, seconds
from peers.tools import FOLDER, opened

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pyagrum

N_GIVEN = 5
N_PGMPY = 200  # rows that pgmpy is asked for; its time is scaled to all
N_ROWS = 10_000


def in_pyagrum(network: BayesianNetwork) -> Any:
    """The same network from the same tables; pyAgrum's own reader keeps single precision."""
    other = pyagrum.BayesNet()
    names = network.schema.names
    for variable in network.schema:
        other.add(pyagrum.LabelizedVariable(variable.name, "", [str(s) for s in variable.states]))
    for parent, child in network.dag.edges:
        other.addArc(names[parent], names[child])
    for i, name in enumerate(names):
        axes = [names.index(n) for n in reversed(other.cpt(name).names)]
        family = [*network.dag.parents(i), i]
        table = network.tables[i].transpose([family.index(v) for v in axes])
        other.cpt(name)[:] = np.ascontiguousarray(table)
    return other


def in_pgmpy(network: BayesianNetwork) -> Any:
    """pgmpy's variable elimination on the same network; None where pgmpy is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from pgmpy.factors.discrete import TabularCPD
            from pgmpy.inference import VariableElimination
            from pgmpy.models import DiscreteBayesianNetwork
        except ImportError:
            return None
    names, cards = network.schema.names, network.schema.cards.tolist()
    other = DiscreteBayesianNetwork([(names[p], names[c]) for p, c in network.dag.edges])
    for i, table in enumerate(network.tables):
        parents = network.dag.parents(i)
        family = [*parents, i]
        other.add_cpds(
            TabularCPD(
                names[i], cards[i], table.reshape(-1, cards[i]).T, [names[p] for p in parents],
                [cards[p] for p in parents],
                state_names={names[v]: list(network.schema[v].states) for v in family},
            )
        )  # fmt: skip
    return VariableElimination(other)


def random_evidence(network: BayesianNetwork, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    row = network.sample(1, random_state=rng).codes[:, 0]
    chosen = rng.choice(len(network.schema), N_GIVEN, replace=False).tolist()
    return {network.schema.names[v]: network.schema[v].states[row[v]] for v in chosen}


def compared(
    what: str, ours: float, peer: float, limit: float | None = None, *, peer_name: str = "pyAgrum"
) -> list[dict[str, Any]]:
    asked = {} if limit is None else {"limit": limit, "sign": "≥"}
    return [
        {"what": what, "value": 1e3 * ours, "unit": "ms"},
        {"what": f"{what}: {peer_name}", "value": 1e3 * peer, "unit": "ms"},
        {"what": f"{what}: times as fast", "value": peer / ours, "unit": "×", **asked},
    ]


def all_marginals(name: str, n_evidence: int = 7) -> list[dict[str, Any]]:
    """The marginals of all variables given 5 of them; the median over several sets of evidence."""
    network = opened(name)
    other = in_pyagrum(network)

    def peer(evidence: dict[str, Any]) -> list[Any]:
        propagation = pyagrum.LazyPropagation(other)
        propagation.setEvidence(evidence)
        propagation.makeInference()
        free = [n for n in network.schema.names if n not in evidence]
        return [propagation.posterior(n).toarray() for n in free]

    times = []
    for seed in range(n_evidence):
        evidence = random_evidence(network, seed)
        pairs = zip(network.marginals(evidence).values(), peer(evidence), strict=True)
        assert max(np.abs(a.probabilities - p).max() for a, p in pairs) < 1e-9
        ours = seconds(lambda e=evidence: network.marginals(e), repeat=20)
        times.append((ours, seconds(lambda e=evidence: peer(e), repeat=3)))
    ours, theirs = np.median(times, axis=0)
    return compared(f"{name}: all marginals, {N_GIVEN} given", ours, theirs, 1.0)


def beside_pgmpy() -> list[dict[str, Any]]:
    """All marginals of ALARM, and a loop over rows, by pgmpy."""
    network = opened("alarm")
    other = in_pgmpy(network)
    if other is None:
        return []
    names = network.schema.names
    evidence = random_evidence(network, 0)
    free = [n for n in names if n not in evidence]

    def ask(asked: str, given: dict[str, Any]) -> Any:
        return other.query([asked], evidence=given, show_progress=False).values

    found = network.marginals(evidence)
    assert max(np.abs(found[n].probabilities - ask(n, evidence)).max() for n in free) < 1e-9
    ours = seconds(lambda: network.marginals(evidence), repeat=20)
    theirs = seconds(lambda: [ask(n, evidence) for n in free], repeat=2)
    title = f"alarm: all marginals, {N_GIVEN} given, beside pgmpy"
    results = compared(title, ours, theirs, peer_name="pgmpy")
    rng = np.random.default_rng(1)
    asked, *told = [names[v] for v in rng.choice(len(names), 1 + N_GIVEN, replace=False)]
    table = network.sample(N_ROWS, random_state=0).select(told)
    labels = [table.column(n)[:N_PGMPY] for n in told]
    given = [dict(zip(told, row, strict=True)) for row in zip(*labels, strict=True)]
    theirs = seconds(lambda: [ask(asked, e) for e in given], repeat=1) * N_ROWS / N_PGMPY
    ours = seconds(lambda: network.query_many(asked, table))
    title = f"alarm: {N_ROWS:,} rows, {N_GIVEN} columns, beside pgmpy on {N_PGMPY} of them"
    return results + compared(title, ours, theirs, peer_name="pgmpy")


def many_rows() -> list[dict[str, Any]]:
    """P(one variable | 5 columns) for 10,000 rows of ALARM: all cells known, then 3 in 10 not."""
    network = opened("alarm")
    other = in_pyagrum(network)
    names = network.schema.names
    rng = np.random.default_rng(1)
    chosen = [names[v] for v in rng.choice(len(names), 1 + N_GIVEN, replace=False)]
    asked, told = chosen[0], chosen[1:]
    table = network.sample(N_ROWS, random_state=0).select(told)
    holes = rng.random(table.codes.shape) < 0.3
    part = Table(table.schema, np.where(holes, table.schema.cards[:, None], table.codes))

    def peer(rows: Table) -> Any:
        propagation = pyagrum.LazyPropagation(other)
        propagation.addTarget(asked)
        found = np.empty((N_ROWS, network.schema[asked].card))
        columns = rows.codes.T.tolist()
        cards = rows.schema.cards.tolist()
        for r, codes in enumerate(columns):
            known = zip(told, codes, cards, strict=True)
            propagation.setEvidence({n: code for n, code, card in known if code < card})
            propagation.makeInference()
            found[r] = propagation.posterior(asked).toarray()
        return found

    results = []
    for what, rows in [("all cells known", table), ("3 in 10 cells missing", part)]:
        ours: Callable[[], Any] = lambda r=rows: network.query_many(asked, r)  # noqa: E731
        began = time.process_time()
        expected = peer(rows)
        theirs = time.process_time() - began
        assert np.abs(ours().probabilities - expected).max() < 1e-9
        title = f"alarm: {N_ROWS:,} rows, {N_GIVEN} columns, {what}"
        results += compared(title, seconds(ours), theirs, 20.0)
    return results


def single_queries(name: str, n: int = 20) -> list[dict[str, Any]]:
    """P(variable | 5 others), each question on its own."""
    network = opened(name)
    other = in_pyagrum(network)
    ours = theirs = 0.0
    for seed in range(n):
        evidence = random_evidence(network, seed)
        asked = next(v for v in network.schema.names[seed:] if v not in evidence)

        def peer(evidence: dict[str, Any] = evidence, asked: str = asked) -> Any:
            propagation = pyagrum.LazyPropagation(other)
            propagation.addTarget(asked)
            propagation.setEvidence(evidence)
            propagation.makeInference()
            return propagation.posterior(asked).toarray()

        assert np.abs(network.query(asked, evidence).probabilities - peer()).max() < 1e-9
        ours += seconds(lambda e=evidence, a=asked: network.query(a, e)) / n
        theirs += seconds(peer) / n
    return compared(f"{name}: one marginal, {N_GIVEN} given", ours, theirs)


def link() -> list[dict[str, Any]]:
    """LINK has 38 million cells; pyAgrum's process was killed on a machine of 23 GiB."""
    network = opened("link")
    evidence = random_evidence(network, 0)
    network.marginals(evidence)
    value = seconds(lambda: network.marginals(evidence), repeat=3)
    return [{"what": f"link: all marginals, {N_GIVEN} given", "value": 1e3 * value, "unit": "ms"}]


def first_use() -> list[dict[str, Any]]:
    """The first marginals of a process."""
    script = (
        "import time, counterpane as cp\n"
        f"model = cp.load({str(FOLDER / 'networks' / 'alarm.bif.gz')!r})\n"
        "began = time.perf_counter(); model.marginals(); print(time.perf_counter() - began)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return [{"what": "alarm: first marginals", "value": float(done.stdout), "unit": "s"}]


def main() -> None:
    with threadpool_limits(1):
        rows = [r for n in ("alarm", "hailfinder", "andes", "pigs") for r in all_marginals(n)]
        rows += many_rows()
        rows += [r for n in ("alarm", "andes", "pigs") for r in single_queries(n)]
        publish("inference", [*rows, *beside_pgmpy(), *link(), *first_use()])


if __name__ == "__main__":
    main()
