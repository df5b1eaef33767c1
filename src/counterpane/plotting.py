"""Methods of models, tables and learners that work on a higher floor: the only imports from one."""

from __future__ import annotations

from typing import Any

import counterpane


def draw_plot(picture: str, *args: Any, **options: Any) -> Any:
    """What the function of `counterpane.plots` called `picture` returns for the arguments.

    `plots` is on the top floor and needs matplotlib, an optional dependency, but tables, learners
    and models have a `plot` method.
    """
    return getattr(counterpane.plots, picture)(*args, **options)


def use_tool(name: str, *args: Any, **options: Any) -> Any:
    """What the function of `counterpane.tools` called `name` returns for the arguments."""
    return getattr(_above("tools"), name)(*args, **options)


def _above(package: str) -> Any:
    return getattr(counterpane, package)


def open_explorer(model: Any, path: Any, **options: Any) -> Any:
    """What `counterpane.explore_model` returns: a page for a notebook, or the path of its file."""
    return counterpane.explore_model(model, path, **options)


def write_page(model: Any, data: Any, path: Any, **options: Any) -> Any:
    """What `counterpane.write_report` returns: the path of the report."""
    return counterpane.write_report(model, data, path, **options)
