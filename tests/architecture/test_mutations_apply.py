"""Each changed line of `tests/mutations.py` is still where it was, with the tests that guard it."""

from __future__ import annotations

from pathlib import Path

from mutations import MUTATIONS

TOP = Path(__file__).parents[2]


def test_mutations_find_their_lines_and_tests() -> None:
    stale = [
        mutation.name
        for mutation in MUTATIONS
        if not (TOP / mutation.file).is_file()
        or (TOP / mutation.file).read_text("utf-8").count(mutation.old) != 1
        or any(not (TOP / test.partition("::")[0]).is_file() for test in mutation.tests)
    ]
    assert not stale
