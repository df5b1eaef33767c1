"""Learn discrete graphical models from any table, then ask them questions.

Names are loaded on first use, so that importing the package costs next to nothing. They are listed
once, in `__init__.pyi`, where type checkers and editors look for them.
"""

from importlib import import_module
from typing import Any

from counterpane.lazy import names_in_stub

__version__ = "0.1.0.dev0"

_HOME_OF = names_in_stub(__name__, __file__)

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in ("evaluate", "plots", "tools"):
        return import_module(f"counterpane.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'counterpane' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
