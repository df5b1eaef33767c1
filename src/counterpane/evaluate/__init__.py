"""Measures of models, rankings and structures; learners compared on held-out rows.

The names are those of `__init__.pyi`, loaded on first use.
"""

from importlib import import_module
from typing import Any

from counterpane.lazy import names_in_stub

_HOME_OF = names_in_stub(__name__, __file__)

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'counterpane.evaluate' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
