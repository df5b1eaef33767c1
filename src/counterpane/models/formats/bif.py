"""Bayesian networks in the Interchange Format (BIF 0.15): read and written."""

from __future__ import annotations

import gzip
import math
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, product

import networkx as nx
import numpy as np

from counterpane.data.schema import Schema, Variable
from counterpane.errors import (
    CounterpaneError,
    FileFormatError,
    GraphError,
    ParameterError,
    unknown_name,
)
from counterpane.graphs import Dag
from counterpane.models.bayesian_network import TOLERANCE, BayesianNetwork
from counterpane.models.formats.atomic import write_atomically
from counterpane.models.formats.bif_syntax import TOKEN, Block, Declared, Row, Source, Token
from counterpane.potentials import check_cells
from counterpane.typing import Floats

MAX_BYTES = 2**30  # of text, after decompression
PLAIN = re.compile(r"[A-Za-z_][\w.-]*|-?\d+", re.ASCII)
KEYWORDS = {
    "network",
    "variable",
    "probability",
    "property",
    "type",
    "discrete",
    "table",
    "default",
}


def read_bif(path: str | os.PathLike[str]) -> BayesianNetwork:
    """The network in a `.bif` or gzipped `.bif.gz` file; states are text.

    Rows may stand in any order, `default` fills the ones not given, and the numbers of a `table`
    run over the variables as listed, the last one fastest. Errors name the line.
    """
    with open(path, "rb") as plain:
        zipped = plain.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(path) if zipped else open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(f"{str(path)!r} is damaged or cut short: {error}.") from None
    if len(data) > MAX_BYTES:
        raise FileFormatError(f"{str(path)!r} holds more than {MAX_BYTES:,} bytes of text.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{str(path)!r} is not UTF-8 text: byte {error.start} cannot be read."
        ) from None
    return parse_bif(text, str(path))


def parse_bif(text: str, path: str = "<text>") -> BayesianNetwork:
    """The network in a BIF text.

    >>> network = parse_bif('''
    ... variable smoke { type discrete [ 2 ] { yes, no }; }
    ... probability ( smoke ) { table 0.3, 0.7; }''')
    >>> network.query("smoke")["no"]
    0.7
    """
    source = Source(text, path)
    declared, blocks = source.parse()
    variables = _variables(source, declared)
    positions = {v.name: i for i, v in enumerate(variables)}
    families: dict[int, tuple[int, ...]] = {}
    tables: dict[int, Floats] = {}
    cells = 0
    for block in blocks:
        child, *parents = (_position(source, name, positions) for name in block.variables)
        if child in families or len({child, *parents}) <= len(parents):
            source.fail(block.at, f"the block of {block.name!r} comes or names a variable twice")
        cells += math.prod(variables[v].card for v in (*parents, child))
        check_cells((cells,), f"{path!r}, up to the variable {block.name!r},")
        families[child] = tuple(parents)
        table = _table(source, block, [variables[v] for v in (*parents, child)])
        tables[child] = table.transpose([*np.argsort(parents), len(parents)])
    for i, variable in enumerate(declared):
        if i not in families:
            source.fail(variable.name.at, f"variable {variable.name.text!r} has no probabilities")
    dag = _dag(source, blocks, [families[i] for i in range(len(variables))], positions)
    try:
        return BayesianNetwork(Schema(variables), dag, [tables[i] for i in range(dag.n)])
    except CounterpaneError as error:
        raise FileFormatError(f"{path!r}: {error}") from None


def write_bif(
    network: BayesianNetwork, path: str | os.PathLike[str], *, plain_names: bool = False
) -> None:
    """Write `network` as BIF, gzipped if the name ends in `.gz`, whole or not at all.

    Each number has as many digits as it takes to read back the same bits. A name with blanks or
    marks is quoted; readers without quotes, such as aGrUM's, need `plain_names`, which replaces
    what they refuse by underscores. States become text, and strengths are not kept.
    """
    text = "".join(_lines(network, plain_names)).encode()
    zipped = str(path).endswith(".gz")
    write_atomically(path, [gzip.compress(text, mtime=0) if zipped else text])


def _variables(source: Source, declared: Sequence[Declared]) -> list[Variable]:
    if not declared:
        source.fail(0, "no variable is declared in the whole file")
    known: dict[str, Variable] = {}
    for name, states in declared:
        if name.text in known:
            source.fail(name.at, f"variable {name.text!r} is declared twice")
        try:
            known[name.text] = Variable(name.text, tuple(s.text for s in states))
        except CounterpaneError as error:
            source.fail(name.at, str(error).rstrip("."))
    return list(known.values())


def _position(source: Source, name: Token, positions: Mapping[str, int]) -> int:
    if name.text not in positions:
        source.fail(name.at, str(unknown_name("variable", name.text, positions)).rstrip("."))
    return positions[name.text]


def _table(source: Source, block: Block, family: Sequence[Variable]) -> Floats:
    """The probabilities of axes (parents as listed…, child)."""
    *parents, child = family
    shape = tuple(v.card for v in family)
    table: Floats = np.full(shape, np.nan)
    for row in block.rows:
        whole = row.keyword == "table"
        if len(row.numbers) != (table.size if whole else child.card):
            source.fail(
                row.at,
                f"{len(row.numbers)} numbers are given for {block.name!r}; "
                f"{table.size if whole else child.card} are needed",
            )
        if whole:
            table[:] = np.moveaxis(np.reshape(row.numbers, (child.card, *shape[:-1])), 0, -1)
        elif not row.keyword:
            where = _configuration(source, row, parents)
            if not np.isnan(table[where][0]):
                source.fail(row.at, f"a row of {block.name!r} is given twice")
            table[where] = row.numbers
        if not whole and abs(math.fsum(row.numbers) - 1) > TOLERANCE:
            source.fail(row.at, f"a row of {block.name!r} sums to {math.fsum(row.numbers):.9g}")
    missing = np.isnan(table[..., 0])
    defaults = [row.numbers for row in block.rows if row.keyword == "default"]
    if defaults:
        table[missing] = defaults[0]
    elif missing.any():
        source.fail(
            block.at, f"{missing.sum()} of {missing.size} rows of {block.name!r} are missing"
        )
    return table


def _configuration(source: Source, row: Row, parents: Sequence[Variable]) -> tuple[int, ...]:
    if len(row.states) != len(parents):
        source.fail(
            row.at, f"{len(row.states)} states are given for {len(parents)} parents in one row"
        )
    codes = []
    for token, parent in zip(row.states, parents, strict=True):
        code = parent.find(token.text)
        if code is None:
            source.fail(token.at, f"column {parent.name!r}: {parent.not_a_state(token.text)}")
        codes.append(code)
    return tuple(codes)


def _dag(
    source: Source,
    blocks: Sequence[Block],
    families: Sequence[tuple[int, ...]],
    positions: Mapping[str, int],
) -> Dag:
    try:
        return Dag.from_parents(families)
    except GraphError:
        edges = [(p, child) for child, parents in enumerate(families) for p in parents]
        cycle = {child for _, child in nx.find_cycle(nx.DiGraph(edges))}
        first = next(b for b in blocks if positions[b.name] in cycle)
        names = ", ".join(repr(b.name) for b in blocks if positions[b.name] in cycle)
        source.fail(first.at, f"the parents of {names} form a cycle")


def _lines(network: BayesianNetwork, plain_names: bool) -> Iterator[str]:
    schema = network.schema
    names = _spelled(schema.names, "the names", plain_names)
    states = [
        _spelled([str(s) for s in v.states], f"the states of {v.name!r}", plain_names)
        for v in schema
    ]
    yield "network unknown {\n}\n"
    for name, labels in zip(names, states, strict=True):
        listed = f"[ {len(labels)} ] {{ {', '.join(labels)} }}"
        yield f"variable {name} {{\n  type discrete {listed};\n}}\n"
    for i, table in enumerate(network.tables):
        parents = network.dag.parents(i)
        bar = f" | {', '.join(names[p] for p in parents)}" if parents else ""
        yield f"probability ( {names[i]}{bar} ) {{\n"
        rows = table.reshape(-1, table.shape[-1]).tolist()
        for given, row in zip(product(*(states[p] for p in parents)), rows, strict=True):
            head = f"({', '.join(given)})" if parents else "table"
            yield f"  {head} {', '.join(map(repr, row))};\n"
        yield "}\n"


def _spelled(words: Sequence[str], what: str, plain_names: bool) -> list[str]:
    """The words as they are written: bare where a reader takes them so, else quoted or replaced."""
    if len(set(words)) != len(words):
        raise ParameterError(
            f"{what} are not distinct once they are text; rename one to write BIF."
        )
    if not plain_names:
        return [w if _is_bare(w) else _quoted(w) for w in words]
    taken = {w for w in words if _is_plain(w)}
    spelled = []
    for word in words:
        plain = word
        if not _is_plain(word):
            stem = "_" + re.sub(r"\W", "_", word, flags=re.ASCII)
            plain = next(
                p for k in count(1) if (p := stem if k == 1 else f"{stem}_{k}") not in taken
            )
            taken.add(plain)
        spelled.append(plain)
    return spelled


def _is_bare(word: str) -> bool:
    match = TOKEN.fullmatch(word)
    return match is not None and match.lastgroup == "word"


def _quoted(word: str) -> str:
    escaped = re.sub(r'["\\]', r"\\\g<0>", word)
    return f'"{escaped}"'


def _is_plain(word: str) -> bool:
    return PLAIN.fullmatch(word) is not None and word not in KEYWORDS
