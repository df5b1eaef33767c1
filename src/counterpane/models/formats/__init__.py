"""Model files: the native one, and those that other tools read. They know nothing of models."""

from counterpane.models.formats.by_suffix import (
    FORMATS,
    NATIVE,
    SUFFIXES,
    formats_of,
    read_network,
    suffix_of,
    write_network,
)
from counterpane.models.formats.network import Conditionals, Factors, Network

__all__ = [
    "FORMATS",
    "NATIVE",
    "SUFFIXES",
    "Conditionals",
    "Factors",
    "Network",
    "formats_of",
    "read_network",
    "suffix_of",
    "write_network",
]
