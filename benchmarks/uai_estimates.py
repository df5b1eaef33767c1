"""Errors of estimates on the UAI 2014 problems with exactness switched off, by method and by time.

`python benchmarks/uai_estimates.py SECONDS [--sample N] [PATTERN …]` adds a line for each to
benchmarks/results/uai_estimates.jsonl; what is there already is not measured again. SECONDS is the
time of the whole estimate (`Auto`), of which each method has its share. With `--sample`, families
take turns, each with its problems in an order that a seed gives, until there are N problems.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import random
import time
from collections import Counter
from typing import Any

import numpy as np

import counterpane as cp
import harness
import uai
from counterpane.formats.uai_tasks import read_uai_evidence
from counterpane.inference.certainty import TRUSTED
from counterpane.inference.fallback import Auto, Fallback
from counterpane.models.evidence import encode_evidence

OUT = harness.RESULTS / "uai_estimates.jsonl"


def measure(name: str, seconds: float) -> dict[str, Any]:
    """The errors of all methods, of the chosen one, and of what is called trusted."""
    model: Any = cp.load(uai.DATA / f"{name}.uai.gz")
    known = read_uai_evidence(uai.DATA / f"{name}.uai.evid.gz", model.schema)
    coded, cards = encode_evidence(model.schema, known, None), model.schema.cards
    parts = np.split(uai.published(name), np.cumsum(cards)[:-1])
    began = time.process_time()
    sampler = model.engine.estimator.sampler
    fallback = Fallback(model.to_potentials(), cards, coded, Auto(seconds))
    choice = fallback.choose(sampler)
    cpu = time.process_time() - began
    loopy, joined = (fallback.propagated[n].marginals for n in ("bp", "join_graph"))
    sampled = {v: e.probabilities for v, e in choice.sampled.items()}
    chosen = choice.marginals
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
        "chosen": errors(chosen), "method": choice.method,
        "columns": len(sampled), "trusted": len(trusted), "trusted_error": errors(chosen, trusted),
    }  # fmt: skip


def in_turns(names: list[str], n: int) -> list[str]:
    """The first `n` of the names when families take turns."""
    random.Random(0).shuffle(names)
    rounds: Counter[str] = Counter()
    order = []
    for name in names:
        family = name.split("_")[0]
        order.append((rounds[family], family, name))
        rounds[family] += 1
    return [name for _, _, name in sorted(order)[:n]]


def main() -> None:
    """Measure what is not yet in the file of results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--sample", type=int, default=1000)
    parser.add_argument("patterns", nargs="*", default=["*"])
    arguments = parser.parse_args()
    done = set()
    if OUT.exists():
        lines = [json.loads(line) for line in OUT.read_text().splitlines()]
        done = {(line["problem"], line["seconds"]) for line in lines}
    OUT.parent.mkdir(exist_ok=True)
    names = sorted(path.name.removesuffix(".uai.gz") for path in uai.DATA.glob("*.uai.gz"))
    names = [n for n in names if any(fnmatch.fnmatch(n, p) for p in arguments.patterns)]
    for name in in_turns(names, arguments.sample):
        if (name, arguments.seconds) in done:
            continue
        record = measure(name, arguments.seconds)
        with OUT.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(record, flush=True)


if __name__ == "__main__":
    main()
