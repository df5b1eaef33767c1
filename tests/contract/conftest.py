"""The slow part of the matrix of sources, which all have the same counts to the last bit."""

from __future__ import annotations

import pytest

from contract.count_source_suite import CountSourceSuite

# Sources that keep every law; each other way of reading rows keeps those that depend on reading.
MAIN = ("memory", "stream-of-tables", "sqlite", "parquet", "contributed")
LAWS = (
    "test_tables_of_every_size",
    "test_missing_cells",
    "test_distinct_rows",
    "test_names_and_positions",
    "test_progress_and_cancellation",
    "test_tables_above_the_cell_limit_come_sparse",
)
MANY_ROWS = 100_000
WIDE, LONG = "ten thousand names", "more texts than states"  # tables of `test_same_schema`
FAMILIES = ("structure-search", "tan", "dn-tree")  # learners that count by every source


def is_slow(item: pytest.Function) -> bool:
    """Whether a test repeats for one more source what others say of the same kind of source."""
    given, ids = item.callspec.params, item.callspec.id
    main = any(ids == name or ids.endswith(f"-{name}") for name in MAIN)
    if item.cls is not None and issubclass(item.cls, CountSourceSuite):
        return not main and (item.originalname not in LAWS or given.get("rows", 0) > MANY_ROWS)
    if item.path.name == "test_same_schema.py":
        return WIDE in ids or (LONG in ids and not ids.endswith(("pandas", "parquet blocks")))
    learners = {"test_every_source_gives_the_same", "test_a_learner_gives_the_same"}
    return item.originalname in learners and not main and given["name"] not in FAMILIES


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow part of the matrix."""
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and is_slow(item):
            item.add_marker("slow")
