"""Exact answers beside enumeration on random small networks.

`python benchmarks/inference_fuzz.py 2000 [FIRST SEED]`: each network has 4 tasks (all marginals, a
joint table, the best row, marginal MAP) under 3 limits of memory, 12 questions in all. Prints what
is wrong, and the totals.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / part) for part in ("tests", "tests/property")]
from test_exact_fuzz import ask_about  # noqa: E402


def main() -> None:
    """Ask about as many networks as the first argument says, from the seed of the second on."""
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    questions = conditioned = bad = 0
    for seed in range(first, first + int(sys.argv[1])):
        wrong, asked, several = ask_about(seed)
        questions += asked
        conditioned += several
        bad += len(wrong)
        for fault in wrong:
            print(*fault, flush=True)
    print(f"{questions:,} questions, {bad} wrong; {conditioned:,} runs of marginals conditioned")


if __name__ == "__main__":
    main()
