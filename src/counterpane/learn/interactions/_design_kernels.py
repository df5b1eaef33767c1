"""Numbers for the cells that rows fall into."""

from __future__ import annotations

from typing import Any

from counterpane._jit import kernel


@kernel
def number_keys(keys: Any, known: Any, ids: Any, firsts: Any, n_known: int) -> int:
    """Fill `ids` with each key's number, by first appearance from `n_known` on; how many there are.

    `known` maps a key to its number, or -1; `firsts` gets the place where a number first appears.
    """
    for i in range(keys.size):
        number = known[keys[i]]
        if number < 0:
            number = n_known
            known[keys[i]] = number
            firsts[number] = i
            n_known += 1
        ids[i] = number
    return n_known
