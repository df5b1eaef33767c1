"""Errors of estimates on the UAI 2014 problems with exactness switched off, by method and by time.

`python benchmarks/uai_estimates.py SECONDS [PATTERN …]` adds a line for each problem to
benchmarks/results/uai_estimates.jsonl; what is there already is not measured again. SECONDS is the
time of the whole estimate (`Auto`), of which each method has its share.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import time
from typing import Any

import numpy as np

import counterpane as cp
import harness
import uai
from counterpane.inference import JoinGraph
from counterpane.models.certainty import TRUSTED
from counterpane.models.evidence import encode_evidence
from counterpane.models.fallback import SHARES, Auto, Fallback
from counterpane.models.formats.uai_tasks import read_uai_evidence

OUT = harness.RESULTS / "uai_estimates.jsonl"


def measure(name: str, seconds: float) -> dict[str, Any]:
    """The errors of all methods, of the chosen one, and of what is called trusted."""
    model: Any = cp.load(uai.DATA / f"{name}.uai.gz")
    known = read_uai_evidence(uai.DATA / f"{name}.uai.evid.gz", model.schema)
    coded, cards = encode_evidence(model.schema, known, None), model.schema.cards
    parts = np.split(uai.published(name), np.cumsum(cards)[:-1])
    began = time.process_time()
    sampler = model._approximator.sampler
    fallback = Fallback(model.to_potentials(), cards, coded, Auto(seconds))
    choice = fallback.choose(sampler)
    cpu = time.process_time() - began
    loopy = fallback.run.propagate(JoinGraph(SHARES["loopy"] * seconds), loopy=True).marginals
    joined = fallback.run.propagate(JoinGraph(SHARES["join_graph"] * seconds)).marginals
    sampled = {v: e.probabilities for v, e in choice.sampled.items()}
    chosen = sampled if choice.takes_samples else choice.propagated.marginals
    worst = {v: float(np.abs(sampled[v] - choice.propagated.marginals[v]).max()) for v in sampled}
    trusted = [v for v in sampled if choice.settled and worst[v] <= TRUSTED]

    def errors(marginals: dict[int, Any], only: Any = None) -> dict[str, float]:
        gaps = [np.abs(marginals[v] - parts[v]) for v in (marginals if only is None else only)]
        flat = np.concatenate(gaps) if gaps else np.zeros(1)
        assert np.isfinite(flat).all(), f"{name}: an estimate is not a number"
        return {"max": float(flat.max()), "mean": float(flat.mean())}

    return {
        "problem": name, "seconds": seconds, "cpu_s": round(cpu, 2), "commit": harness.commit(),
        "bp": errors(loopy), "join_graph": errors(joined), "gibbs": errors(sampled),
        "chosen": errors(chosen), "method": "gibbs" if choice.takes_samples else choice.propagation,
        "columns": len(sampled), "trusted": len(trusted), "trusted_error": errors(chosen, trusted),
    }  # fmt: skip


def main() -> None:
    """Measure what is not yet in the file of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float)
    parser.add_argument("patterns", nargs="*", default=["*"])
    arguments = parser.parse_args()
    done = set()
    if OUT.exists():
        lines = [json.loads(line) for line in OUT.read_text().splitlines()]
        done = {(line["problem"], line["seconds"]) for line in lines}
    OUT.parent.mkdir(exist_ok=True)
    for path in sorted(uai.DATA.glob("*.uai.gz")):
        name = path.name.removesuffix(".uai.gz")
        fits = any(fnmatch.fnmatch(name, pattern) for pattern in arguments.patterns)
        if not fits or (name, arguments.seconds) in done:
            continue
        record = measure(name, arguments.seconds)
        with OUT.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(record, flush=True)


if __name__ == "__main__":
    main()
