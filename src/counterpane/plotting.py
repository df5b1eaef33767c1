"""The one place where a lower floor reaches up: `plots` draws pictures, loaded on request."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def draw(picture: str, *args: Any, **options: Any) -> Any:
    """What the function of `counterpane.plots` called `picture` returns for the arguments.

    `plots` stands on the top floor and needs matplotlib, an optional dependency; learners and
    models have a `plot` method all the same.
    """
    return getattr(import_module("counterpane.plots"), picture)(*args, **options)
