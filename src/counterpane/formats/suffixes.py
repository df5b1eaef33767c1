"""The table of formats that other tools read, by the suffix of a file's name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from counterpane.disk import as_path, write_atomically
from counterpane.formats import bif, libra, net, uai, xml_networks
from counterpane.formats.files import Source
from counterpane.formats.names import with_originals
from counterpane.formats.network import AnyNetwork, Conditionals, Factors, Network

NATIVE = ".cp"


class NetworkFormat(NamedTuple):
    """A format: `module` has `read_<name>(source)` and `write_<name>(network, plain_names=…)`."""

    name: str
    module: Any
    suffixes: dict[str, tuple[type[AnyNetwork], ...]]  # and what files with the suffix may hold


# A new format is a module and a line here.
FORMATS = (
    NetworkFormat("bif", bif, {".bif": (Network,)}),
    NetworkFormat(
        "xmlbif",
        xml_networks,
        dict.fromkeys((".xmlbif", ".bifxml", ".xml"), (Network,)),
    ),
    NetworkFormat("uai", uai, {".uai": (Network, Factors)}),
    NetworkFormat("net", net, {".net": (Network,)}),
    NetworkFormat("xdsl", xml_networks, {".xdsl": (Network,)}),
    NetworkFormat(
        "libra",
        libra,
        {".bn": (Network,), ".cn": (Conditionals,), ".dn": (Conditionals,), ".mn": (Factors,)},
    ),
)
FORMAT_OF = {suffix: format_ for format_ in FORMATS for suffix in format_.suffixes}


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The suffix that says the format, without a final `.gz`; `.cp` where there is none.

    >>> suffix_of("alarm.bif.gz"), suffix_of("alarm.XML"), suffix_of("alarm")
    ('.bif', '.xml', '.cp')
    """
    name = as_path(path).name.lower().removesuffix(".gz")
    return Path(name).suffix or NATIVE


def suffixes_for(network: AnyNetwork | None) -> tuple[str, ...]:
    """The suffixes of files that can hold the network."""
    return tuple(
        suffix
        for suffix, format_ in FORMAT_OF.items()
        if network is not None and isinstance(network, format_.suffixes[suffix])
    )


def read_network(path: str | os.PathLike[str]) -> AnyNetwork:
    """The network in a file with a suffix of `FORMAT_OF`.

    Names and states are text, except in Libra's files and where comments of ours tell others.
    """
    name, module, _ = FORMAT_OF[suffix_of(path)]
    source = Source(path)
    return with_originals(getattr(module, f"read_{name}")(source), source)


def write_network(
    path: str | os.PathLike[str], network: AnyNetwork, *, plain_names: bool = True
) -> None:
    """Write `network` in one of its formats, completely or not at all.

    Each number has as many digits as it takes to read back the same bits.
    """
    name, module, _ = FORMAT_OF[suffix_of(path)]
    texts = getattr(module, f"write_{name}")(network, plain_names=plain_names)
    write_atomically(path, (text.encode() for text in texts))
