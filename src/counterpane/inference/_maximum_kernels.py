"""Coordinate ascent: each variable takes its best state given the others."""

from __future__ import annotations

from counterpane._jit import kernel
from counterpane.potentials._kernels import Parts, conditional
from counterpane.typing import Codes, Floats, Ints


@kernel
def climb(parts: Parts, free: Ints, sweeps: int, rows: Codes, scratch: Floats) -> None:
    """Move each row of `rows`, (variables, rows), uphill until nothing gains, or `sweeps` times."""
    for row in range(rows.shape[1]):
        for _ in range(sweeps):
            moved = False
            for v in free:
                conditional(parts, rows, row, v, scratch)
                best = int(rows[v, row])
                for s in range(parts.cards[v]):
                    if scratch[s] > scratch[best]:  # of equals, the state stays
                        best = s
                if best != rows[v, row]:
                    rows[v, row] = best
                    moved = True
            if not moved:
                break
