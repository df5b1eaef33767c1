"""One question for many rows of evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from counterpane.features import MAX_CELLS, Potential, check_cells
from counterpane.inference.calibrate import Factors, run_tree
from counterpane.inference.junction import CliqueTree
from counterpane.typing import Array, Bools, Floats, Ints

ROW_CELLS = 2**19  # cells of a tree below which a row takes less time than another tree


def query_rows(
    relevant: Callable[[set[int]], Sequence[Potential]],
    cards: Ints,
    asked: Sequence[int],
    columns: Sequence[int],
    codes: Array,
    *,
    names: Sequence[str] | None = None,
) -> tuple[Floats, Floats]:
    """(P(asked | row), shape (n_rows, cells); ln of the weight of each row's evidence).

    codes[c, r] is the state of columns[c] in row r, not observed at or above the card; `relevant`
    gives the potentials that bear on a set of variables. One tree, rooted where `asked` is,
    answers each distinct row by messages to the root alone. The rows are taken pattern by pattern
    (what is observed), then in order, so that only the messages from where the evidence has
    changed are sent again. Where the tree is large, each pattern gets one of its own. Impossible
    rows have probabilities 0 and weight −∞.

    >>> pair = [Potential((0, 1), np.log([[0.3, 0.2], [0.1, 0.4]]))]
    >>> codes = np.array([[1, 0, 2]])
    >>> query_rows(lambda _: pair, np.array([2, 2]), [0], [1], codes)[0].round(4).tolist()
    [[0.3333, 0.6667], [0.75, 0.25], [0.5, 0.5]]
    """
    size, n_rows = int(cards[list(asked)].prod()), codes.shape[1]
    check_cells((n_rows, size), f"the answer for {n_rows:,} rows", 4 * MAX_CELLS)
    seen = codes < cards[list(columns), None]
    always = [v for v, flags in zip(columns, seen, strict=True) if flags.all()]
    ever = [v for v, flags in zip(columns, seen, strict=True) if flags.any()]
    potentials = relevant({*asked, *ever})
    tree = CliqueTree([p.scope for p in potentials], cards, keep=asked, observed=always)
    if always == ever or tree.cells(tree.cards) <= ROW_CELLS:
        return _answer(tree, potentials, asked, columns, codes, seen, names)
    out, log_weights = np.empty((n_rows, size)), np.empty(n_rows)
    _, inverse = _distinct(seen, [2] * len(columns), n_rows)
    ends = np.cumsum(np.bincount(inverse))[:-1]
    for rows in np.split(np.argsort(inverse, kind="stable"), ends):
        own = np.flatnonzero(seen[:, rows[0]]).tolist()
        told = [columns[c] for c in own]
        part = codes[own][:, rows]
        out[rows], log_weights[rows] = query_rows(relevant, cards, asked, told, part, names=names)
    return out, log_weights


def _answer(
    tree: CliqueTree,
    potentials: Sequence[Potential],
    asked: Sequence[int],
    columns: Sequence[int],
    codes: Array,
    seen: Bools,
    names: Sequence[str] | None,
) -> tuple[Floats, Floats]:
    """The answers of one tree for all rows, each distinct row once."""
    radices = tree.cards[list(columns)] + 1
    both = [*[2] * len(columns), *radices.tolist()]
    first, inverse = _distinct([*seen, *codes], both, codes.shape[1])
    factors = Factors.of(p.log_values for p in potentials)
    rows = codes[:, first].T
    found, weights = run_tree(tree, factors, asked, columns, rows, joint=True, names=names)
    return found[inverse], weights[inverse]


def _distinct(columns: Iterable[Array], radices: Iterable[int], n: int) -> tuple[Ints, Ints]:
    """(one place of each distinct row, in lexicographic order; which of them each row is)."""
    keys, room = np.zeros(n, dtype=np.int64), 1
    for column, radix in zip(columns, radices, strict=True):
        if room * radix > 2**62:  # ranks in place of keys leave the order as it is
            found, keys = np.unique(keys, return_inverse=True)
            room = found.size
        keys = keys * radix + column
        room *= radix
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first, inverse
