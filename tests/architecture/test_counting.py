"""Only src/core/counts adds rows to the cells of tables; exceptions are listed with what they buy.

A line counts rows where it raises an item whose index is read from another array
(`table[cells[i]] += weight`), or an item of something that is called counts or cells.
"""

from __future__ import annotations

import re
from pathlib import Path

from counterpane.counts.source import CountSource

CORE = Path(__file__).parents[2] / "src" / "core"
INDEX_FROM_ARRAY = re.compile(r"\w[\[(][^;={}]*\w\[[^;={}]*\][^;={}]*[\])]\s*\+=")
COUNTS = re.compile(r"\b(counts?|cells?|tall(y|ies)|histogram)_?[\[(][^;={}]*[\])]\s*\+=")

# header: (lines, why it does not call counts::add_rows or counts::histogram)
ALLOWED = {
    "learn/bayesian/family_terms.hpp": (
        1,
        "numbers the groups as they are met and counts them in the same pass: "
        "5 % of ExactPosterior on 14 columns of NLTCS",
    ),
    "learn/dependency/tree_growth.hpp": (
        1,
        "a row adds to all questions that it answers with yes: one pass over ragged lists instead "
        "of a pass for each question; weighted rows cannot be counted by popcounts",
    ),
    "learn/boosting/boost.hpp": (
        1,
        "the slope of the class of a row, in the pass that adds its probabilities",
    ),
    # These have no rows.
    "inference/gibbs.hpp": (2, "places in tables move with the state of a chain"),
    "inference/tempering.hpp": (2, "the same, and sums of conditionals by variable"),
    "inference/scopes.hpp": (2, "scopes by variable, and cells in which a rule holds"),
}


def counting_lines(header: Path) -> list[str]:
    code = [line.split("//")[0] for line in header.read_text().splitlines()]
    return [c.strip() for c in code if INDEX_FROM_ARRAY.search(c) or COUNTS.search(c)]


def test_only_counts_adds_rows_to_tables() -> None:
    elsewhere = {}
    for header in sorted(CORE.rglob("*.hpp")):
        name = header.relative_to(CORE).as_posix()
        lines = counting_lines(header)
        if not name.startswith("counts/") and len(lines) > ALLOWED.get(name, (0, ""))[0]:
            elsewhere[name] = lines
    assert not elsewhere, "call counts::add_rows, or list what the exception buys"


def test_the_check_sees_what_it_is_for() -> None:
    """The counting room itself is full of such lines, and each exception is still there."""
    assert len(counting_lines(CORE / "counts" / "cells.hpp")) >= 3
    for name, (n, _) in ALLOWED.items():
        assert len(counting_lines(CORE / name)) == n, name


PACKAGE = Path(__file__).parents[2] / "src" / "counterpane"
PYTHON_COUNTS = re.compile(r"np\.(bincount|add\.at|histogram)\(|return_counts=True")
# What Python counts outside of counts/, by file: never contingency tables of a learner's source.
ALLOWED_IN_PYTHON = {
    "one column or the classes: histograms of codes that are in memory": {
        "workflow/predictions.py", "data/encoding.py", "data/distinct_values.py",
        "data/intervals.py",
        "data/table.py", "data/tallies.py",
        "evaluate/baselines.py", "evaluate/measures.py",
        "learners/classifiers/folds.py", "learners/classifiers/interactions/canonical_rows.py",
        "learners/classifiers/interactions/fold_data.py",
        "learners/classifiers/interactions/staged_searches.py",
        "learners/boosting/find_binning.py", "learners/boosting/fold_boosting.py",
        "learners/classifiers/additive_learner.py", "learners/classifiers/boosted_part.py",
        "learners/classifiers/training_data.py",
        "learners/dependency/logistic.py",
        "learners/dependency/tree_growth.py", "learners/sample_intervals.py", "models/support.py",
        "models/training_rows.py", "report/rows.py",
    },
    "predictions and their bins, not rows of a table": {
        "plots/matrices.py",
    },
    "rows of one fold or one face, whose weights are not those of the source": {
        "learners/classifiers/faces/face_average.py", "learners/classifiers/faces/face_tables.py",
        "learners/classifiers/interactions/ridge.py",
        "learners/classifiers/interactions/selection_shares.py", "additive/purified.py",
        "models/row_average.py", "learners/ranking/counted.py",
        "learners/ranking/held_out_users.py",
    },
    "rows by the combinations of parents that occur, not by all cells; networks that were drawn": {
        "causes/network_average.py", "learners/bayesian/sampled_networks.py",
    },
    "sums by group of features, nodes or cells: no rows": {
        "inference/calibration.py",
        "inference/gibbs.py", "inference/gibbs_tables.py", "learners/dependency/boosted.py",
        "learners/markov/feature_rows.py",
        "learners/markov/weights.py", "formats/libra.py",
    },
}  # fmt: skip


def test_python_counts_in_counts_too() -> None:
    allowed = set().union(*ALLOWED_IN_PYTHON.values())
    counting = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if PYTHON_COUNTS.search(path.read_text())
    }
    counting = {name for name in counting if not name.startswith("counts/")}
    assert counting == allowed, counting ^ allowed


# The protocol of sources, of which design/counting.md says that it has twelve members.
MEMBERS = {
    "schema", "has_missing", "n_rows", "total_weight", "table",
    "map_reduce", "counts", "pair_counts", "distinct", "rows", "prepare", "cache",
}  # fmt: skip


def test_a_count_source_has_twelve_members() -> None:
    names = {*vars(CountSource), *CountSource.__annotations__}
    assert {name for name in names if not name.startswith("_")} == MEMBERS


def test_blocks_of_rows_have_one_size() -> None:
    defining = [
        path.relative_to(PACKAGE).as_posix()
        for room in ("data", "counts")
        for path in (PACKAGE / room).rglob("*.py")
        if re.search(r"^BLOCK_ROWS\b.*=", path.read_text(), re.MULTILINE)
    ]
    assert defining == ["data/readers/blocks.py"]
