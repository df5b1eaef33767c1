"""Files that change while they are read, a full disk, Ctrl-C: one sentence, and nothing is left."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather

import counterpane as cp
from counterpane.errors import CounterpaneError, DataError, StateError

BLOCK = 1000


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    for module in ("data.readers.blocks", "data.readers.arrow", "counts.blocks"):
        monkeypatch.setattr(f"counterpane.{module}.BLOCK_ROWS", BLOCK)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The only place for temporary files; nothing may be left there."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.rglob("*")) == []


def write(path, columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=BLOCK)
    elif path.suffix == ".csv":
        csv.write_csv(table, path)
    else:
        feather.write_feather(table, path, chunksize=BLOCK, compression="uncompressed")


def rows(n=5000, seed=0):
    rng = np.random.default_rng(seed)
    return {"a": rng.integers(0, 3, n), "b": rng.choice(["x", "y"], n)}


def folder_of(tmp_path, kind, n=3):
    for i in range(n):
        write(tmp_path / "data" / f"{i}.{kind}", rows(seed=i))
    return tmp_path / "data"


class Once:
    """Does something when the first block is counted."""

    def __init__(self, act):
        self.act = act

    def __call__(self, codes, weights):
        act, self.act = self.act, lambda: None
        act()
        return codes.shape[1]


def sentence(error, words, ask):
    with pytest.raises(error, match=words) as caught:
        ask()
    assert "\n" not in str(caught.value)


KINDS = pytest.mark.parametrize("kind", ["parquet", "csv", "feather"])


@KINDS
def test_a_file_vanishes_in_mid_scan(tmp_path, kind, scratch):
    source = cp.FileSource(folder_of(tmp_path, kind), cache=False)
    last = tmp_path / "data" / f"2.{kind}"
    sentence(CounterpaneError, "no file.*2", lambda: source.map_reduce(Once(last.unlink), [0]))
    write(last, rows(seed=2))
    assert source.counts([["a"]])[0].sum() == 15_000


@KINDS
@pytest.mark.parametrize("mapped", [0, 2**26])
@pytest.mark.parametrize("which", [0, 2])
def test_a_file_shrinks_in_mid_scan(tmp_path, monkeypatch, kind, which, mapped, scratch):
    monkeypatch.setattr("counterpane.data.readers.arrow.MAPPED", mapped)
    source = cp.FileSource(folder_of(tmp_path, kind), cache=False)
    path = tmp_path / "data" / f"{which}.{kind}"
    shrink = lambda: os.truncate(path, path.stat().st_size // 2)  # noqa: E731
    try:
        counted = source.map_reduce(Once(shrink), [0])
    except CounterpaneError as error:
        assert "\n" not in str(error)
        assert f"{which}.{kind}" in str(error) or "15000 rows when the source was made" in str(
            error
        )
    else:
        assert counted == 15_000  # it had been read into memory already
        assert which == 0


@KINDS
def test_a_column_changes_its_type_between_two_scans(tmp_path, kind, scratch):
    source = cp.FileSource(folder_of(tmp_path, kind), cache=False)
    write(tmp_path / "data" / f"2.{kind}", {"a": ["u"] * 5000, "b": ["x"] * 5000})
    sentence(DataError, "'u' is not one of 3", lambda: source.counts([["a"]]))
    assert source.counts([["b"]])[0].sum() == 15_000
    write(tmp_path / "data" / f"2.{kind}", {"a": [[1]] * 5 if kind != "csv" else ["[1]"] * 5,
                                           "b": ["x"] * 5})  # fmt: skip
    sentence(CounterpaneError, "2|'a'", lambda: source.counts([["a"]]))


@KINDS
def test_a_new_state_in_the_last_file(tmp_path, kind, scratch):
    folder = folder_of(tmp_path, kind)
    source = cp.FileSource(folder)
    schema = source.schema
    late = rows(seed=2)
    late["a"][-1] = 7
    write(folder / f"2.{kind}", late)
    assert cp.FileSource(folder).schema["a"].states == (0, 1, 2, 7)
    sentence(StateError, "7.? is not one of 3 states", lambda: cp.FileSource(folder, schema=schema))
    sentence(StateError, "7.? is not one of 3 states", lambda: source.counts([["a"]]))
    with pytest.raises(StateError):
        source.counts([["a"]])  # nothing of the broken scan was kept
    late["a"][-1] = 0
    write(folder / f"2.{kind}", late)
    assert source.counts([["a"]])[0].sum() == 15_000


# ---- Ctrl-C ---------------------------------------------------------------------------------


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


@KINDS
def test_ctrl_c_within_a_block(tmp_path, kind, scratch):
    source = cp.FileSource(folder_of(tmp_path, kind))
    with pytest.raises(KeyboardInterrupt):
        source.map_reduce(Once(interrupt), [0])
    assert source._packed is None  # half of the rows would be worse than none
    assert source.counts([["a"]])[0].sum() == 15_000


# ---- the command line -------------------------------------------------------------------------


@pytest.fixture
def visits(tmp_path):
    rng = np.random.default_rng(0)
    for year in (2020, 2021):
        age, smokes = rng.normal(50, 15, 2000), rng.random(2000) < 0.3
        ill = rng.random(2000) < 0.2 + 0.3 * smokes + 0.2 * (age > 55)
        write(
            tmp_path / "visits" / f"year={year}" / "part.parquet",
            {"age": age, "smokes": smokes, "ill": np.where(ill, "yes", "no")},
        )


@pytest.mark.parametrize("data", ["visits", "visits/*/*.parquet"])
def test_commands_take_folders_and_patterns(visits, run, data):
    code, out, _ = run("learn", data, "-o", "v.cp", "--target", "ill", "--method", "chow-liu")
    assert code == 0
    assert "Cut into intervals: age." in out
    assert "4,000 rows × 4 columns" in out
    assert cp.load("v.cp").schema.names == ("age", "smokes", "ill", "year")
    code, out, _ = run("learn", data, "--target", "ill", "--method", "tan", "--json")
    assert code == 0
    assert '"rows": 4000' in out
    code, out, _ = run("learn", data, "--method", "dn-tree", "-o", "d.cp", "--json")
    assert code == 0
    assert '"columns": 4' in out


def test_commands_say_what_is_wrong_with_a_folder(visits, run):
    for asked, words in (
        (["visits", "--discretize", "none"], "'age' holds 4000 different real numbers"),
        (["visits", "--method", "ges", "--target", "agee"], "did you mean 'age'"),
        (["visits/*.csv"], "holds no file"),
        (["visits/year*"], "holds no file"),  # a pattern names files
    ):
        code, _, err = run("learn", *asked)
        assert code == 2
        assert words in err
    assert not list(Path().glob("*.cp"))
