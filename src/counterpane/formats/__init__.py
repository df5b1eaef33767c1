"""Model files: the native one, and those that other tools read. They know nothing of models."""

from counterpane.formats.network import Conditionals, Factors, Network
from counterpane.formats.suffixes import (
    FORMAT_OF,
    NATIVE,
    read_network,
    suffix_of,
    suffixes_for,
    write_network,
)

__all__ = [
    "FORMAT_OF",
    "NATIVE",
    "Conditionals",
    "Factors",
    "Network",
    "read_network",
    "suffix_of",
    "suffixes_for",
    "write_network",
]
