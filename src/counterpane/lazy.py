"""Libraries that are imported on first use, so that start-up loads only numpy."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


class _Lazy(ModuleType):
    """A module that is imported when one of its names is first used."""

    def __getattr__(self, name: str) -> Any:
        try:
            value = getattr(import_module(self.__name__), name)
        except ImportError:
            if name.startswith("__"):  # tools that look at modules ask for such names
                raise AttributeError(name) from None
            raise
        setattr(self, name, value)  # the next time is an ordinary look-up
        return value


def lazy(name: str) -> Any:
    """The module `name`, imported when one of its names is first used."""
    return _Lazy(name)


def names_in_stub(package: str, file: str) -> dict[str, str]:
    """The names that the stub beside `file` imports for a package, and the module of each."""
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    found = re.findall(r"from ([\w.]+) import \(?\s*(\w+) as \w+", stub)
    return {name: home for home, name in found if home != package}
