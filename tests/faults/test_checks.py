"""Arguments of a wrong kind, and command lines with a hostile word: one message each."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.checks import (
    ANYTHING,
    BOOLEAN,
    INTEGER,
    LISTS,
    NAMES,
    NO_ARRAY,
    NONE,
    NUMBER,
    NUMBERS,
    PAIRS,
    accepts,
    check,
    declared_kind,
    instance_of,
)
from counterpane.learners.estimator import Estimator, parameter_types
from counterpane.learners.registry import LEARNERS
from error_checks import raises
from faults import calls_fuzzer, commands_fuzzer


@pytest.mark.parametrize("fuzzer", [calls_fuzzer, commands_fuzzer])
def test_a_slice_of_seeds_finds_no_fault(fuzzer):
    faults = [fault for seed in range(250) if (fault := fuzzer.try_once(seed)) is not None]
    assert faults == []


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        (INTEGER, [3, 3.0, np.int64(3), 10**30], [True, "3", 1.5, None, [3], np.nan]),
        (NUMBER | NONE, [3, 0.5, None, np.float32(1)], ["0.5", [1], 1j]),
        (BOOLEAN, [True, 0, np.bool_(True)], [2, "yes", None]),
        (NAMES, ["a", ["a"], ("a",), {"a"}], [5, None, b"a"]),
        (NUMBERS | NUMBER, [[1, 2.0], 3, np.ones(2)], [["a"], {1.0}, "a"]),
        (LISTS | NONE, [[["a"], ["b", "c"]], None], [["a"], "a", np.ones(2)]),
        (PAIRS, [(), [("a", "b")]], ["a", [("a",)], 3, None]),
        (instance_of(cp.Schema), [cp.Schema.from_cards([2])], [None, [2], "x"]),
        (NO_ARRAY, ["aic", None], [np.ones(2)]),
        (ANYTHING, [None, np.ones(2), object()], []),
    ],
)
def test_kinds(kind, right, wrong):
    for value in right:
        check("x", value, kind)
    for value in wrong:
        with raises(cp.CounterpaneError, parameter="x"):
            check("x", value, kind)


def test_defaults_and_undeclared_arguments_are_not_checked():
    @accepts(a=INTEGER, b=INTEGER)
    def add(a, b=None, *rest, c="x", **options):
        return a + (b or 0) + len(rest)

    assert add(1) == 1
    assert add(1, 2, "not checked", c="y", d=object()) == 4
    with raises(cp.CounterpaneError, parameter="a", value="1"):
        add("1")


@pytest.mark.parametrize(
    "entry", [e for e in LEARNERS if isinstance(e.make(), Estimator)], ids=lambda entry: entry.name
)
def test_each_parameter_of_a_learner_has_a_kind(entry):
    for annotation in parameter_types(type(entry.make())).values():
        assert declared_kind(annotation).words


@pytest.mark.parametrize("options", [{"encoding": "\ud800"}, {"encoding": "x\x00"}, {"encoding": 5},
                                     {"encoding": "base64"}, {"delimiter": 5}])  # fmt: skip
def test_odd_ways_to_read_text(tmp_path, options):
    (tmp_path / "t.csv").write_text("a,b\nx,1\ny,2\n")
    with pytest.raises(cp.CounterpaneError, match=next(iter(options))):
        cp.read(tmp_path / "t.csv", **options)


@pytest.mark.parametrize(
    "words",
    [("query", ""), ("learn", ""), ("learn", "titanic", "-o", ""), ("report", "", "-o", "r.html"),
     ("learn", "titanic", "--checkpoint", ""), ("uai", "m.cp", "PR", "--evidence", "")],
)  # fmt: skip
def test_an_empty_path_is_no_folder(run, words):
    code, _, err = run(*words)
    assert (code, err) == (2, "Error: the path of a file is empty; name a file.\n")


def test_schemas_are_cut_by_name_too():
    schema = cp.load_dataset("titanic").schema
    assert schema.select(["sex", 0]).names == ("sex", "status")
    for wrong in (5, [99], ["x"], [None], [[]]):
        with pytest.raises(cp.CounterpaneError):
            schema.select(wrong)
