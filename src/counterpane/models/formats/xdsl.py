"""GeNIe's XDSL, for networks of chance nodes and deterministic ones."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from counterpane.data.schema import Variable
from counterpane.models.formats.network import Declared, Family, Fill, Network, assemble, listed
from counterpane.models.formats.source import Source
from counterpane.models.formats.spelling import IDENTIFIER, spelled
from counterpane.models.formats.xml_records import Element, commented, escaped, records
from counterpane.typing import Floats

BLANKS = re.compile(r"[ \t\r\n]+")
COLUMN = "column"  # a property of ours: the place of a variable among the columns


def read_xdsl(source: Source) -> Network:
    """The network in an XDSL file; a deterministic node gets a table of zeros and ones.

    The numbers of a node run over its parents in order, then its states, the last one fastest.
    aGrUM up to 3.3 lets the first parent run fastest instead; its files say who wrote them, and
    are read as they are meant.
    """
    declared: list[Declared] = []
    families: list[Family] = []
    columns: dict[str, int] = {}
    backwards = False
    for record in records(source, "smile", "nodes"):
        if record.section == "nodes":
            name = record.attribute("id", source)
            states = [state.attribute("id", source) for state in record.all("state")]
            declared.append(Declared(name, states, record.line))
            parents = [p for some in record.all("parents") for p in _words(some)]
            families.append(Family(name, parents, _fill(source, record, name), record.line))
            for note in record.all("property"):
                if note.attributes.get("id") == COLUMN and re.fullmatch(r"[0-9]{1,9}", note.text):
                    columns[name] = int(note.text)
        elif record.section == "dynamic":
            source.fail(record.line, "the network is dynamic; only static ones are read")
        elif record.tag == "genie" and record.attributes.get("app", "").startswith("aGrUM"):
            backwards = True
    if backwards:
        families = [f._replace(parents=f.parents[::-1]) for f in families]
    if len(columns) == len(declared):
        declared.sort(key=lambda variable: columns[variable.name])
    return assemble(source, declared, families)


def write_xdsl(network: Network, *, plain_names: bool) -> Iterator[str]:
    """The text of an XDSL file; GeNIe wants names and states that are identifiers.

    Names with blanks cannot be held as they are, for blanks part the parents.
    """

    def name_or_none(name: str) -> str | None:
        return None if BLANKS.search(name) else escaped(name)

    names, states, notes = spelled(
        network.schema, name_or_none, escaped, plain_names=plain_names, plain_state=IDENTIFIER
    )
    yield '<?xml version="1.0" encoding="UTF-8"?>\n' + commented(notes)
    yield '<smile version="1.0" id="network">\n<nodes>\n'
    order = network.dag.topological_order()  # GeNIe wants parents before their children
    for i in order:
        parents, table = network.dag.parents(i), network.tables[i]
        yield f'<cpt id="{names[i]}">\n'
        yield "".join(f'<state id="{state}" />\n' for state in states[i])
        if parents:
            yield f"<parents>{' '.join(names[p] for p in parents)}</parents>\n"
        yield f"<probabilities>{' '.join(map(repr, table.reshape(-1).tolist()))}</probabilities>\n"
        if list(order) != sorted(order):
            yield f'<property id="{COLUMN}">{i}</property>\n'
        yield "</cpt>\n"
    yield '</nodes>\n<extensions>\n<genie version="1.0" app="Counterpane" name="network" />\n'
    yield "</extensions>\n</smile>\n"


def _words(element: Element) -> list[str]:
    return [word for word in BLANKS.split(element.text) if word]


def _fill(source: Source, record: Element, name: str) -> Fill:
    if record.tag not in ("cpt", "deterministic"):
        source.fail(
            record.line,
            f"{name!r} is a {record.tag} node; only cpt and deterministic nodes are read",
        )
    if record.tag == "deterministic":
        results = record.one("resultingstates", source)
        return _certain(source, _words(results), results.line)
    table = record.one("probabilities", source)
    return listed(source, table.numbers(source), table.line)


def _certain(source: Source, states: Sequence[str], line: int) -> Fill:
    """A table in which each configuration of the parents has one state for sure."""

    def fill(family: Sequence[Variable]) -> tuple[Floats, int]:
        *parents, child = family
        needed = math.prod(v.card for v in parents)
        if len(states) != needed:
            source.fail(
                line, f"{len(states)} states are given for {child.name!r}; {needed} are needed"
            )
        rows = np.zeros((needed, child.card))
        for row, state in zip(rows, states, strict=True):
            code = child.find(state)
            if code is None:
                source.fail(line, f"column {child.name!r}: {child.not_a_state(state)}")
            row[code] = 1
        return rows, line

    return fill
