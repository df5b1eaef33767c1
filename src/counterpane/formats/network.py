"""The plain network that files hold, and the checks that all formats share."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from counterpane.data.schema import MAX_STATES, Schema, Variable, state_text
from counterpane.errors import CounterpaneError, GraphError, unknown_name
from counterpane.features import MAX_CELLS, Potential, Rules
from counterpane.features.parts import Part
from counterpane.formats.files import Source
from counterpane.graphs import Dag
from counterpane.lazy import lazy
from counterpane.typing import Floats, Ints

nx = lazy("networkx")

MAX_VARIABLES = 2**14  # a graph takes the square of it in bytes
SAFE_CELLS = 2**22  # that the tables of any file may have
MAX_AXES = 64  # NumPy's limit
ROUNDING = 1e-6  # by which each number of a row may be off: six digits are what some tools write


class Network(NamedTuple):
    """A Bayesian network: `tables[i]` has the axes (parents of i, rising…, i)."""

    schema: Schema
    dag: Dag
    tables: Sequence[Floats]


class Factors(NamedTuple):
    """A Markov network: the product of the exponentials of potentials and rules."""

    schema: Schema
    parts: Sequence[Potential | Rules]


class Conditionals(NamedTuple):
    """A dependency network: the parts of each variable's log-conditional."""

    schema: Schema
    conditionals: Sequence[Sequence[Part]]


AnyNetwork: TypeAlias = Network | Factors | Conditionals


class Declared(NamedTuple):
    """A variable as a file declares it, and the line."""

    name: str
    states: Sequence[str]
    line: int


Fill: TypeAlias = Callable[[Sequence[Variable]], tuple[Floats, int | Ints]]
"""From the variables (parents as listed…, child), the rows of a table and the lines they are on.

The rows are of shape (parent configurations, states), the last parent fastest; one line or each.
"""


class Family(NamedTuple):
    """A variable, its parents as a file lists them, how to fill its table, and the line."""

    child: str
    parents: Sequence[str]
    fill: Fill
    line: int


def fill_from_numbers(source: Source, numbers: array[float], line: int) -> Fill:
    """A table given by all its numbers, the child's states fastest, then the last parent's."""

    def fill(family: Sequence[Variable]) -> tuple[Floats, int]:
        needed = math.prod(v.card for v in family)
        if len(numbers) != needed:
            name = family[-1].name
            source.fail(line, f"{len(numbers)} numbers are given for {name!r}; {needed} are needed")
        return np.array(numbers).reshape(-1, family[-1].card), line

    return fill


def assemble(source: Source, declared: Sequence[Declared], families: Sequence[Family]) -> Network:
    """The network of what a file declares; what is missing, twice or out of range is refused."""
    variables = declared_variables(source, declared)
    position = {v.name: i for i, v in enumerate(variables)}
    tables: dict[int, Floats] = {}
    cells = 0
    for family in families:
        parents = [_position(source, p, family.line, position) for p in family.parents]
        child = _position(source, family.child, family.line, position)
        if child in tables or len({child, *parents}) <= len(parents):
            source.fail(
                family.line, f"the table of {family.child!r} comes or names a variable twice"
            )
        members = [variables[v] for v in (*parents, child)]
        cells += math.prod(v.card for v in members)
        most = min(MAX_CELLS, max(SAFE_CELLS, source.n_bytes))  # `default` fills many by few words
        if cells > most or len(members) > MAX_AXES:
            source.fail(
                family.line,
                f"with {len(parents)} parents of {family.child!r} the tables have more than "
                f"{most:,} cells or {MAX_AXES} axes; use fewer parents or merge states",
            )
        table = _rows(source, family, members).reshape([v.card for v in members])
        tables[child] = table.transpose([*np.argsort(parents), len(parents)])
    for i, variable in enumerate(declared):
        if i not in tables:
            source.fail(variable.line, f"variable {variable.name!r} has no probabilities")
    dag = _dag(source, families, position)
    return Network(Schema(variables), dag, [tables[i] for i in range(dag.n)])


def declared_variables(source: Source, declared: Sequence[Declared]) -> list[Variable]:
    """The variables that a file declares; none may come twice or list a state twice."""
    if not 1 <= len(declared) <= MAX_VARIABLES:
        source.fail(1, f"{len(declared)} variables are declared; allowed: 1 to {MAX_VARIABLES}")
    known: dict[str, Variable] = {}
    for name, states, line in declared:
        if name in known:
            source.fail(line, f"variable {name!r} is declared twice")
        if not 1 <= len(states) <= MAX_STATES:
            source.fail(
                line, f"variable {name!r} has {len(states)} states; allowed: 1 to {MAX_STATES}"
            )
        seen: set[str] = set()
        for state in states:
            if state in seen:
                source.fail(line, f"variable {name!r} lists the state {state!r} more than once")
            seen.add(state)
        try:
            known[name] = Variable(name, tuple(states))
        except CounterpaneError as error:
            source.fail(line, str(error))
    return list(known.values())


def _position(source: Source, name: str, line: int, position: Mapping[str, int]) -> int:
    if name not in position:
        source.fail(line, str(unknown_name("variable", name, position)))
    return position[name]


def _rows(source: Source, family: Family, members: Sequence[Variable]) -> Floats:
    """The rows of a table, which must sum to 1; those that are off by rounding are brought to 1."""
    rows, lines = family.fill(members)
    *parents, child = members
    sums = rows.sum(axis=1)
    off = np.abs(sums - 1)
    bad = off > ROUNDING * child.card
    if bad.any():
        first = int(np.argmax(bad))
        codes = np.unravel_index(first, [v.card for v in parents]) if parents else ()
        given = [f"{v.name}={state_text(v.states[c])}" for v, c in zip(parents, codes, strict=True)]
        shown = f"P({child.name}{' | ' if given else ''}{', '.join(given)})"
        line = int(np.broadcast_to(lines, sums.shape)[first])
        source.fail(line, f"{shown} sums to {sums[first]:.9g}; 1 is needed")
    # A sum that is 1 up to the last bits is left alone, so that what was written is read.
    inexact = off > 4 * np.finfo(np.float64).eps * child.card
    rows[inexact] /= sums[inexact, None]
    return rows


def _dag(source: Source, families: Sequence[Family], position: Mapping[str, int]) -> Dag:
    edges = [(position[p], position[f.child]) for f in families for p in f.parents]
    try:
        return Dag(len(position), edges)
    except GraphError:
        cycle = {child for _, child in nx.find_cycle(nx.DiGraph(edges))}
        blamed = [f for f in families if position[f.child] in cycle]
        names = ", ".join(repr(f.child) for f in blamed)
        source.fail(blamed[0].line, f"the parents of {names} form a cycle")
