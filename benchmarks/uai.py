"""Marginals of the UAI 2014 competition: time, memory and error beside pyAgrum, one process each.

`python benchmarks/uai.py [--limit-mb 1500] [--tools counterpane,pyagrum] [PATTERN …]` adds a line
for each problem to benchmarks/results/uai.jsonl; what is there already is not measured again.
"""

from __future__ import annotations

import argparse
import fnmatch
import gzip
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import harness

DATA = Path(os.environ.get("COUNTERPANE_DATA", "shared/data")) / "uai2014"
OUT = harness.RESULTS / "uai.jsonl"
PATIENCE = 20  # times the seconds of the processor that are allowed, by the clock


def published(name: str) -> np.ndarray:
    """The published marginals, end to end."""
    words = gzip.decompress((DATA / f"{name}.uai.MAR.gz").read_bytes()).split()[1:]
    values, at = [], 1
    for _ in range(int(words[0])):
        size = int(words[at])
        values += words[at + 1 : at + 1 + size]
        at += 1 + size
    return np.array(values, dtype=float)


def ask_counterpane(name: str, limit_mb: float, method: str, exact: Any) -> dict[str, Any]:
    """What one question takes, reading the file included."""
    import counterpane as cp
    from counterpane.formats.uai_tasks import read_uai_evidence

    model = cp.load(DATA / f"{name}.uai.gz")
    evidence = read_uai_evidence(DATA / f"{name}.uai.evid.gz", model.schema)
    answers = model.marginals(evidence, method=method, exact=exact, max_memory=limit_mb * 1e6)
    flat = []
    for variable in model.schema:
        if variable.name in evidence:
            flat.append(np.eye(variable.card)[variable.code(evidence[variable.name])])
        else:
            flat.append(answers[variable.name].probabilities)
    certainty = next(iter(answers.values())).certainty
    return {
        "values": np.concatenate(flat),
        "certainty": None if certainty is None else str(certainty),
    }


def ask_pyagrum(name: str, *_: Any) -> dict[str, Any]:
    """The same by Shafer–Shenoy."""
    import pyagrum as gum

    import counterpane as cp
    from counterpane.formats.uai_tasks import read_uai_evidence

    model: Any = cp.load(DATA / f"{name}.uai.gz")
    known = read_uai_evidence(DATA / f"{name}.uai.evid.gz", model.schema)
    evidence = {v: model.schema[v].code(state) for v, state in known.items()}
    network = gum.MarkovRandomField()
    for variable in model.schema:
        network.add(gum.RangeVariable(variable.name, "", 0, variable.card - 1))
    tables: dict[frozenset[int], Any] = {}
    names = model.schema.names
    for p in model.to_potentials():
        if not p.scope:
            continue
        order = tuple(sorted(p.scope))
        values = np.exp(p.log_values).transpose([p.scope.index(v) for v in order])
        key = frozenset(order)
        tables[key] = (order, tables[key][1] * values if key in tables else values)
    for order, values in tables.values():
        factor = network.addFactor([names[v] for v in order])
        axes = [order.index(names.index(n)) for n in reversed(factor.names)]
        factor.fillWith(values.transpose(axes).reshape(-1).tolist())
    engine = gum.ShaferShenoyMRFInference(network)
    engine.setEvidence(evidence)
    engine.makeInference()
    flat = [
        np.eye(v.card)[evidence[v.name]]
        if v.name in evidence
        else engine.posterior(v.name).toarray()
        for v in model.schema
    ]
    return {"values": np.concatenate(flat), "certainty": None}


def measure(tool: str, name: str, limit_mb: float, method: str, exact: Any) -> dict[str, Any]:
    """In this process: the record of one problem."""
    ask = {"counterpane": ask_counterpane, "pyagrum": ask_pyagrum}[tool]
    began = time.process_time()
    answer = ask(name, limit_mb, method, exact)
    cpu = time.process_time() - began
    errors = np.abs(answer["values"] - published(name))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return {
        "cpu_s": round(cpu, 2), "peak_mb": round(peak), "max_error": float(errors.max()),
        "mean_error": float(errors.mean()), "certainty": answer["certainty"],
    }  # fmt: skip


def run(tool: str, name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """The record of one problem, measured in a process of its own."""
    command = [sys.executable, __file__, "--one", tool, "--limit-mb", str(arguments.limit_mb)]
    command += ["--method", arguments.method, "--exact", arguments.exact, name]
    allowed = arguments.cpu_seconds
    record = {
        "problem": name, "tool": tool, "limit_mb": arguments.limit_mb, "cpu_limit_s": allowed,
        "method": arguments.method, "exact": arguments.exact, "commit": harness.commit(),
    }  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE * allowed, check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1"}, preexec_fn=lambda: _limit(allowed),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return record | {"failed": f"no answer in {PATIENCE * allowed} s by the clock"}
    if done.returncode == -signal.SIGXCPU:
        return record | {"failed": f"no answer in {allowed} s"}
    if done.returncode:
        return record | {"failed": (done.stderr.strip().splitlines() or ["killed"])[-1][:300]}
    return record | json.loads(done.stdout.splitlines()[-1])


def _limit(cpu_seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))


def records() -> list[dict[str, Any]]:
    """What is measured already."""
    return [json.loads(line) for line in OUT.read_text().splitlines()] if OUT.exists() else []


def main() -> None:
    """Measure what is not yet in the file of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--limit-mb", type=float, default=1500)
    parser.add_argument("--tools", default="counterpane,pyagrum")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--exact", default="true", help="true, false, or seconds")
    parser.add_argument("--cpu-seconds", type=int, default=300, help="that a process may take")
    parser.add_argument("--one")
    arguments = parser.parse_args()
    exact = {"true": True, "false": False}.get(arguments.exact)
    exact = float(arguments.exact) if exact is None else exact
    if arguments.one:
        record = measure(
            arguments.one, arguments.patterns[0], arguments.limit_mb, arguments.method, exact
        )
        print(json.dumps(record))
        return
    names = sorted(p.name.removesuffix(".uai.gz") for p in DATA.glob("*.uai.gz"))
    OUT.parent.mkdir(exist_ok=True)
    keys = ("problem", "tool", "limit_mb", "method", "exact")
    for tool in arguments.tools.split(","):
        for name in names:
            if not any(fnmatch.fnmatch(name, pattern) for pattern in arguments.patterns):
                continue
            key = (name, tool, arguments.limit_mb, arguments.method, arguments.exact)
            if key in {tuple(r[k] for k in keys) for r in records()}:
                continue
            record = run(tool, name, arguments)
            with OUT.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(record, flush=True)


if __name__ == "__main__":
    main()
