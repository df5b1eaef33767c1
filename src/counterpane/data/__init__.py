"""A frame in, integer codes out."""

from counterpane.data.datasets import dataset_names, load_dataset
from counterpane.data.schema import Schema, Variable
from counterpane.data.table import Table

__all__ = ["Schema", "Table", "Variable", "dataset_names", "load_dataset"]
