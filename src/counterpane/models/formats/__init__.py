"""Model files: the native one, and those that other tools read. They know nothing of models."""

from counterpane.models.formats.by_suffix import (
    FORMATS,
    NATIVE,
    read_network,
    suffix_of,
    write_network,
)
from counterpane.models.formats.network import Network

__all__ = ["FORMATS", "NATIVE", "Network", "read_network", "suffix_of", "write_network"]
