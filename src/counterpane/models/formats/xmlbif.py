"""XMLBIF 0.3, the Interchange Format in XML."""

from __future__ import annotations

from collections.abc import Iterator

from counterpane.models.formats.network import Declared, Family, Network, assemble, listed
from counterpane.models.formats.source import Source
from counterpane.models.formats.spelling import spelled
from counterpane.models.formats.xml_records import commented, escaped, records, written


def read_xmlbif(source: Source) -> Network:
    """The network in an XMLBIF file.

    The numbers of a TABLE run over the GIVEN variables in order, then the child, the last fastest.
    """
    declared: list[Declared] = []
    families: list[Family] = []
    for record in records(source, "BIF", "NETWORK"):
        if record.tag == "VARIABLE":
            name = record.one("NAME", source).text
            kind = record.attributes.get("TYPE", "nature")
            if kind != "nature":
                source.fail(record.line, f"{name!r} is of type {kind!r}; only 'nature' is read")
            states = [outcome.text for outcome in record.all("OUTCOME")]
            declared.append(Declared(name, states, record.line))
        elif record.tag == "DEFINITION":
            table = record.one("TABLE", source)
            fill = listed(source, table.numbers(source), table.line)
            given = [parent.text for parent in record.all("GIVEN")]
            families.append(Family(record.one("FOR", source).text, given, fill, record.line))
    return assemble(source, declared, families)


def write_xmlbif(network: Network, *, plain_names: bool) -> Iterator[str]:
    """The text of an XMLBIF file."""
    names, states, notes = spelled(network.schema, escaped, escaped, plain_names=plain_names)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n' + commented(notes)
    yield '<BIF VERSION="0.3">\n<NETWORK>\n'
    yield "<NAME>unknown</NAME>\n"
    for name, labels in zip(names, states, strict=True):
        yield '<VARIABLE TYPE="nature">\n' + written("NAME", name)
        yield "".join(written("OUTCOME", label) for label in labels) + "</VARIABLE>\n"
    for i, table in enumerate(network.tables):
        yield "<DEFINITION>\n" + written("FOR", names[i])
        yield "".join(written("GIVEN", names[p]) for p in network.dag.parents(i)) + "<TABLE>\n"
        for row in table.reshape(-1, table.shape[-1]):
            yield " ".join(map(repr, row.tolist())) + "\n"
        yield "</TABLE>\n</DEFINITION>\n"
    yield "</NETWORK>\n</BIF>\n"
