"""Which format a file has, by the end of its name."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from counterpane.models.formats.atomic import write_atomically
from counterpane.models.formats.network import Conditionals, Factors, Network
from counterpane.models.formats.originals import with_originals
from counterpane.models.formats.source import Source

NATIVE = ".cp"
FORMATS = {
    ".bif": "bif",
    ".xmlbif": "xmlbif",
    ".bifxml": "xmlbif",
    ".xml": "xmlbif",
    ".uai": "uai",
    ".net": "net",
    ".xdsl": "xdsl",
}  # the module that reads and writes each
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
    """The network in a file of one of the `SUFFIXES`.

    Names and states are text, save Libra's and where comments of ours in the file tell others.
    """
    suffix = suffix_of(path)
    name = "libra" if suffix in LIBRA else FORMATS[suffix]
    source = Source(path)
    network: Network | Factors | Conditionals = _function("read", name)(source)
    return with_originals(network, source)


def write_network(
    path: str | os.PathLike[str],
    network: Network | Factors | Conditionals,
    *,
    plain_names: bool = True,
) -> None:
    """Write `network` in one of its formats, whole or not at all.

    Each number has as many digits as it takes to read back the same bits.
    """
    if isinstance(network, Conditionals) or suffix_of(path) in LIBRA:
        texts = _function("write", "libra", "libra_text")(network)
    elif isinstance(network, Factors):
        texts = _function("write", "uai_factors", "uai")(network, plain_names=plain_names)
    else:
        texts = _function("write", FORMATS[suffix_of(path)])(network, plain_names=plain_names)
    write_atomically(path, (text.encode() for text in texts))


def _function(what: str, name: str, module: str | None = None) -> Any:
    """`read_bif` of the module bif, and so on; a format is imported when a file has it."""
    return getattr(import_module(f"counterpane.models.formats.{module or name}"), f"{what}_{name}")
