"""Which format a file has, by the end of its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from counterpane.models.formats.atomic import write_atomically
from counterpane.models.formats.bif import read_bif, write_bif
from counterpane.models.formats.libra import read_libra
from counterpane.models.formats.libra_text import write_libra
from counterpane.models.formats.net import read_net, write_net
from counterpane.models.formats.network import Conditionals, Factors, Network
from counterpane.models.formats.source import Source
from counterpane.models.formats.uai import read_uai, write_uai, write_uai_factors
from counterpane.models.formats.xdsl import read_xdsl, write_xdsl
from counterpane.models.formats.xmlbif import read_xmlbif, write_xmlbif


class Writer(Protocol):
    """The text of a network in one format, in pieces."""

    def __call__(self, network: Network, *, plain_names: bool) -> Iterator[str]: ...


class Format(NamedTuple):
    """How a format is read and written."""

    read: Callable[[Source], Network | Factors]
    write: Writer


NATIVE = ".cp"
FORMATS = {
    ".bif": Format(read_bif, write_bif),
    ".xmlbif": Format(read_xmlbif, write_xmlbif),
    ".bifxml": Format(read_xmlbif, write_xmlbif),
    ".xml": Format(read_xmlbif, write_xmlbif),
    ".uai": Format(read_uai, write_uai),
    ".net": Format(read_net, write_net),
    ".xdsl": Format(read_xdsl, write_xdsl),
}
LIBRA = (".bn", ".cn", ".dn", ".mn")
SUFFIXES = (*FORMATS, *LIBRA)


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The suffix that says the format, without a final `.gz`; `.cp` where there is none.

    >>> suffix_of("alarm.bif.gz"), suffix_of("alarm.XML"), suffix_of("alarm")
    ('.bif', '.xml', '.cp')
    """
    name = Path(path).name.lower().removesuffix(".gz")
    return Path(name).suffix or NATIVE


def formats_of(network: Network | Factors | Conditionals | None) -> tuple[str, ...]:
    """The suffixes of files that hold such a network."""
    if isinstance(network, Network):
        return (*FORMATS, ".bn")
    if isinstance(network, Factors):
        return (".uai", ".mn")
    return () if network is None else (".dn", ".cn")


def read_network(path: str | os.PathLike[str]) -> Network | Factors | Conditionals:
    """The network in a file of one of the `SUFFIXES`; names and states are text, save Libra's."""
    suffix = suffix_of(path)
    return read_libra(Source(path)) if suffix in LIBRA else FORMATS[suffix].read(Source(path))


def write_network(
    path: str | os.PathLike[str],
    network: Network | Factors | Conditionals,
    *,
    plain_names: bool = False,
) -> None:
    """Write `network` in one of its formats, whole or not at all.

    Each number has as many digits as it takes to read back the same bits.
    """
    if isinstance(network, Conditionals) or suffix_of(path) in LIBRA:
        texts = write_libra(network)
    elif isinstance(network, Factors):
        texts = write_uai_factors(network)
    else:
        texts = FORMATS[suffix_of(path)].write(network, plain_names=plain_names)
    write_atomically(path, (text.encode() for text in texts))
