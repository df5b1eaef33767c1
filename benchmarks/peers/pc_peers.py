"""PC of causal-learn or pgmpy on a file of codes: one line of JSON with its edges and seconds.

Run by an interpreter that has them: python pc_peers.py causal-learn|pgmpy codes.npy ALPHA SECONDS.
Seconds are of the processor. A run that reaches its limit prints the tests and seconds so far,
without edges.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

import numpy as np

warnings.simplefilter("ignore")


def causal_learn(codes, alpha, count):
    from causallearn.search.ConstraintBased.PC import pc
    from causallearn.utils import cit

    plain = cit.Chisq_or_Gsq.__call__

    def counted(self, *arguments):
        count[0] += 1
        return plain(self, *arguments)

    cit.Chisq_or_Gsq.__call__ = counted
    count[1] = time.process_time()
    graph = pc(codes, alpha, "gsq", stable=True, uc_rule=0, show_progress=False).G.graph
    n = len(graph)
    # graph[i, j] is the mark at i: −1 tail, 1 arrowhead
    return [
        [i, j, bool(graph[j, i] == 1 and graph[i, j] == -1)]
        for i in range(n)
        for j in range(n)
        if graph[i, j] != 0
        and ((graph[j, i] == 1 and graph[i, j] == -1) or i < j)
        and not (graph[i, j] == 1 and graph[j, i] == -1)
    ]


def pgmpy(codes, alpha, count):
    import pandas as pd
    from pgmpy.estimators import PC
    from pgmpy.estimators.CITests import ci_registry

    frame = pd.DataFrame({str(i): column.astype(str) for i, column in enumerate(codes.T)})
    plain = ci_registry.get_test("g_sq", data=frame)

    def counted(*arguments, **options):
        count[0] += 1
        return plain(*arguments, **options)

    count[1] = time.process_time()
    pdag = PC(frame).estimate(
        variant="stable", ci_test=counted, significance_level=alpha, n_jobs=1,
        show_progress=False, max_cond_vars=10,
    )  # fmt: skip
    directed = [[int(a), int(b), True] for a, b in pdag.directed_edges]
    return directed + [[int(a), int(b), False] for a, b in pdag.undirected_edges]


def main() -> None:
    name, path, alpha, limit = sys.argv[1:]
    codes = np.load(path).astype(np.int64)
    count = [0, time.process_time()]
    record = {"tool": name}

    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, float(limit))
    try:
        run = causal_learn if name == "causal-learn" else pgmpy
        record["edges"] = run(codes, float(alpha), count)
    except TimeoutError:
        record["stopped"] = int(limit)
    record |= {"seconds": time.process_time() - count[1], "n_tests": count[0]}
    print(json.dumps(record))


if __name__ == "__main__":
    main()
