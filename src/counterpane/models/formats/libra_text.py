"""The text of Libra's model files and of its tables of rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import numpy as np

from counterpane.data.table import Table
from counterpane.features import Potential, Rules
from counterpane.models.formats.atomic import write_atomically
from counterpane.models.formats.libra_trees import tree_text
from counterpane.models.formats.network import Conditionals, Factors, Network, Part

BLOCK_ROWS = 2**14


def write_libra(network: Network | Factors | Conditionals) -> Iterator[str]:
    """The text of a `.bn`, `.dn`, `.cn` or `.mn` file; names and states are not kept."""
    yield f"{','.join(map(str, network.schema.cards.tolist()))}\n"
    if isinstance(network, Factors):
        yield "MN {\n"
        yield from _parts(network.parts)
        yield "}\n"
        return
    yield "BN {\n" if isinstance(network, Network) else "DN {\n"
    for v, parts in enumerate(_conditionals(network)):
        yield f"v{v} {{\n"
        yield from _parts(parts)
        yield "}\n"
    yield "}\n"


def write_libra_data(path: str | os.PathLike[str], table: Table) -> None:
    """Write the codes of a table as Libra's `.data`, whole or not at all; a missing cell is `*`.

    With `.gz` at the end of the name it is packed. `counterpane.read` reads it back.
    """
    write_atomically(path, (text.encode() for text in _rows(table)))


def _conditionals(network: Network | Conditionals) -> Iterator[Iterable[Part]]:
    if isinstance(network, Conditionals):
        yield from network.conditionals
        return
    for v, table in enumerate(network.tables):
        with np.errstate(divide="ignore"):
            yield [Potential((*network.dag.parents(v), v), np.log(table))]


def _parts(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Potential):
            yield "table {\n"
            for states in np.ndindex(part.log_values.shape):
                where = "".join(f" +v{v}_{s}" for v, s in zip(part.scope, states, strict=True))
                yield f"{float(part.log_values[states])!r}{where}\n"
        elif isinstance(part, Rules):
            yield "features {\n"
            yield from _features(part)
        else:
            yield "tree {\n"
            yield from tree_text(part)
        yield "}\n"


def _features(rules: Rules) -> Iterator[str]:
    signs = np.where(rules.negated, "-", "+").tolist()
    conditions = [
        f" {sign}v{v}_{s}"
        for sign, v, s in zip(signs, rules.variables.tolist(), rules.values.tolist(), strict=True)
    ]
    offsets = rules.offsets.tolist()
    for r, weight in enumerate(rules.weights.tolist()):
        yield f"{weight!r}{''.join(conditions[offsets[r] : offsets[r + 1]])}\n"


def _rows(table: Table) -> Iterator[str]:
    cards = table.schema.cards
    for start in range(0, table.n_rows, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        codes = table.codes[:, block]
        cells = np.where(codes == cards[:, None], "*", codes.astype(str)).T.tolist()
        weights = None if table.weights is None else table.weights[block].tolist()
        heads = ["" for _ in cells] if weights is None else [f"{w!r}|" for w in weights]
        yield "".join(f"{h}{','.join(row)}\n" for h, row in zip(heads, cells, strict=True))
