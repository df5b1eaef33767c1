"""Learners: one file a method, one folder a family; `registry` lists them all."""

from typing import Any

import counterpane


def __getattr__(name: str) -> Any:
    """A public name of this package, as `counterpane` has it; modules are imported as usual."""
    home = counterpane._HOME_OF.get(name, "")
    if home.startswith("counterpane.learners.") and not home.endswith(f".{name}"):
        return getattr(counterpane, name)
    raise AttributeError(f"module 'counterpane.learners' has no attribute {name!r}")
