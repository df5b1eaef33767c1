"""Model files: the native one, and those that other tools read. They know nothing of models."""

from counterpane.models.formats.by_suffix import (
    FORMATS,
    MARKOV_FORMATS,
    NATIVE,
    read_network,
    suffix_of,
    write_network,
)
from counterpane.models.formats.network import Factors, Network

__all__ = [
    "FORMATS",
    "MARKOV_FORMATS",
    "NATIVE",
    "Factors",
    "Network",
    "read_network",
    "suffix_of",
    "write_network",
]
