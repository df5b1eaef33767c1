"""Pictures by `counterpane.plots`, and pages: the only imports from a higher floor."""

from __future__ import annotations

from typing import Any

import counterpane


def draw_plot(picture: str, *args: Any, **options: Any) -> Any:
    """What the function of `counterpane.plots` called `picture` returns for the arguments.

    `plots` is on the top floor and needs matplotlib, an optional dependency, but tables, learners
    and models have a `plot` method.
    """
    return getattr(counterpane.plots, picture)(*args, **options)


def open_explorer(model: Any, path: Any, **options: Any) -> Any:
    """What `counterpane.explore_model` returns: a page for a notebook, or the path of its file."""
    return counterpane.explore_model(model, path, **options)


def write_page(model: Any, data: Any, path: Any, **options: Any) -> Any:
    """What `counterpane.write_report` returns: the path of the report."""
    return counterpane.write_report(model, data, path, **options)
