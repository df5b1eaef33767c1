"""A frame in, integer codes out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from counterpane.data.schema import Schema, Variable
from counterpane.data.table import Table

if TYPE_CHECKING:
    from counterpane.data.datasets import dataset_names, load_dataset
    from counterpane.data.readers import read

__all__ = ["Schema", "Table", "Variable", "dataset_names", "load_dataset", "read"]


def __getattr__(name: str) -> Any:
    """Readers and embedded sets load on first use: a question to a model needs neither."""
    if name not in __all__:
        raise AttributeError(f"module 'counterpane.data' has no attribute {name!r}")
    home = "readers" if name == "read" else "datasets"
    return getattr(import_module(f"counterpane.data.{home}"), name)
