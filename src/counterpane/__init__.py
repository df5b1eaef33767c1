"""Learn discrete graphical models from any table, then ask them questions.

Names are loaded on first use, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

_HOMES = {
    "counterpane.data": ("Schema", "Table", "Variable", "dataset_names", "load_dataset", "read"),
    "counterpane.data.discretize": ("MDLDiscretizer",),
    "counterpane.counts": ("CountSource", "MemoryCounts", "StreamCounts"),
    "counterpane.graphs": ("Dag", "UndirectedGraph"),
    "counterpane.scores": ("AIC", "BIC", "K2", "BDe", "BDeu", "LogLikelihood"),
    "counterpane.independence": ("BayesianTest", "ChiSquare", "GTest", "Ledger", "Oracle"),
    "counterpane.models": ("BayesianNetwork", "load"),
    "counterpane.models.formats.bif": ("read_bif", "write_bif"),
    "counterpane.learn": ("ChowLiu", "StoppedEarly", "fit_parameters"),
    "counterpane.errors": ("CounterpaneError",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'counterpane' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if TYPE_CHECKING:
    from counterpane.counts import CountSource, MemoryCounts, StreamCounts
    from counterpane.data import Schema, Table, Variable, dataset_names, load_dataset, read
    from counterpane.data.discretize import MDLDiscretizer
    from counterpane.errors import CounterpaneError
    from counterpane.graphs import Dag, UndirectedGraph
    from counterpane.independence import BayesianTest, ChiSquare, GTest, Ledger, Oracle
    from counterpane.learn import ChowLiu, StoppedEarly, fit_parameters
    from counterpane.models import BayesianNetwork, load
    from counterpane.models.formats.bif import read_bif, write_bif
    from counterpane.scores import AIC, BIC, K2, BDe, BDeu, LogLikelihood
