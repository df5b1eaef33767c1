"""Counts of what Dask holds: the conformance suite, partitions of every kind, a real cluster."""

from __future__ import annotations

import pickle
from functools import cache
from itertools import chain

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterpane as cp
from contract.count_source_suite import (
    CARDS,
    CountSourceSuite,
    Reports,
    assert_counts,
    make_table,
    scopes_of_all_sizes,
)
from contract.test_count_sources import WEIGHT, cuts, files_of
from contract.test_learners_on_sources import LEARNERS, in_memory, table_of
from counterpane.counts.engines import partitioned
from counterpane.counts.engines.partitioned import CountPart, FilePart, FramePart, split_files
from counterpane.data import Table
from counterpane.data.export import column_list
from counterpane.data.readers.text_files import FileOptions
from counterpane.data.reading import open_files
from counterpane.errors import (
    DataError,
    DiscretizeError,
    MissingExtraError,
    NoFileError,
    ParameterError,
    StateError,
    TableSizeError,
    UnknownNameError,
    WeightError,
)
from counterpane.progress import Control, Stopped
from error_checks import raises

dask = pytest.importorskip("dask", reason="Dask is not installed: extra [dask]")
dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed: extra [dask]")
distributed = pytest.importorskip("distributed", reason="Dask is not installed: extra [dask]")


@pytest.fixture(autouse=True)
def settings():
    """No more threads than a small machine has, and objects as they are."""
    with dask.config.set({"num_workers": 2, "dataframe.convert-string": False}):
        yield


def partitions(frames):
    """A Dask DataFrame of the partitions given, which may be empty or differ from the first."""

    def pick(i):  # in here it is sent by value: workers need not import this file
        return frames[i]

    return dd.from_map(pick, range(len(frames)), meta=frames[0].iloc[:0], enforce_metadata=False)


@cache
def frame_of(table):
    """The codes of a table as a Dask DataFrame: unequal partitions, empty ones between them."""
    columns = {}
    for variable, codes in zip(table.schema, table.codes, strict=True):
        columns[variable.name] = pd.array(codes, dtype="Int32")
        columns[variable.name][codes == variable.card] = pd.NA
    if table.weights is not None:
        columns[WEIGHT] = table.weights
    whole = pd.DataFrame(columns)
    frames = [whole.iloc[:0]]
    for rows in cuts(table):
        frames += [whole.iloc[rows[0] : rows[-1] + 1], whole.iloc[:0]]
    return partitions(frames)


def dask_frame(table, **options):
    weights = None if table.weights is None else WEIGHT
    return cp.DaskSource(frame_of(table), schema=table.schema, weights=weights, **options)


def dask_files(table, kind="parquet", **options):
    weights = None if table.weights is None else WEIGHT
    return cp.DaskSource(files_of(table, kind), schema=table.schema, weights=weights, **options)


SOURCES = [("frame", dask_frame), ("parquet", dask_files)]


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in SOURCES])
class TestDaskSource(CountSourceSuite):
    """Every promise, by Dask's threads."""


@pytest.mark.filterwarnings("ignore::counterpane.UnsettledChains")  # of few samples
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_gives_the_same(name):
    kind = "weighted" if name in ("chow-liu", "tan", "hybrid") else "complete"
    assert LEARNERS[name](dask_frame(table_of(kind, name))) == in_memory(name, kind)


# ---- partitions of a frame -----------------------------------------------------------------------


def mixed_frame(rows=400, seed=0):
    """Columns of every kind that a state can have, some with missing cells."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.3
    return pd.DataFrame({
        "ill": np.where(ill, "yes", "no"),
        "cough": ill ^ (rng.random(rows) < 0.2),
        "size": pd.Categorical(rng.choice(["s", "l"], rows), ["s", "m", "l"], ordered=True),
        "packs": ill * rng.integers(1, 4, rows) + 5,
        "level": np.where(rng.random(rows) < 0.1, np.nan, rng.integers(0, 3, rows)),
        "note": np.where(rng.random(rows) < 0.2, None, np.where(ill, "b", "a")),
        "far": np.where(ill, 10**12, -3),
    })  # fmt: skip


def same_as_memory(source, table):
    """The source has the table's schema and missing cells, and counts all pairs alike."""
    assert source.schema == table.schema
    assert source.has_missing.tolist() == table.has_missing.tolist()
    assert (source.n_rows, source.total_weight) == (table.n_rows, table.total_weight)
    ours, theirs = source.pair_counts().counts, cp.MemoryCounts(table).pair_counts().counts
    assert np.array_equal(ours, theirs)
    assert ours.dtype == theirs.dtype


@pytest.mark.parametrize("strings", [True, False])  # by default Dask makes texts of objects
def test_a_frame_is_the_table_that_pandas_gives(strings):
    frame = mixed_frame()
    with dask.config.set({"dataframe.convert-string": strings}):
        source = cp.DaskSource(dd.from_pandas(frame, npartitions=5, sort=False))
        same_as_memory(source, Table.from_frame(frame))
    assert source.schema["size"].states == ("s", "m", "l")


def test_partitions_may_store_one_kind_of_values_in_several_ways():
    first = pd.DataFrame({"n": [1, 2], "t": ["a", "b"], "u": [None, None], "c": ["x", "y"]})
    second = pd.DataFrame({"n": [1.0, np.nan], "t": [None, None], "u": [True, None],
                           "c": ["z", "x"]})  # fmt: skip
    second["n"] = second["n"].astype("float32")
    whole = pd.concat([first, second.astype({"n": float})], ignore_index=True)
    for order in ([first, second], [second, first]):
        source = cp.DaskSource(partitions([f.astype({"c": "category"}) for f in order]))
        table = Table.from_frame(whole, schema=source.schema)
        same_as_memory(source, table)
        assert source.schema["n"].states == (1, 2)
        assert source.schema["u"].states == (False, True)


def test_categories_that_only_the_partitions_know():
    frames = [pd.DataFrame({"c": pd.Categorical([4, 4], [4, 9])}),
              pd.DataFrame({"c": pd.Categorical([7, None], [7])})]  # fmt: skip
    source = cp.DaskSource(partitions(frames).astype({"c": "category"}))
    assert source.schema["c"].states == (4, 9, 7)
    assert source.counts(["c"], missing="state")[0].tolist() == [2, 0, 1, 1]


def test_a_column_without_any_value_is_refused_or_empty_as_in_memory():
    frame = pd.DataFrame({"a": [0, 1, 1], "b": pd.Series([None, None, None], dtype=object)})
    try:
        expected = Table.from_frame(frame)
    except DataError:
        with raises(DataError, about="'b'"):
            cp.DaskSource(partitions([frame, frame]))
    else:
        assert cp.DaskSource(partitions([frame, frame])).schema == expected.schema


def test_a_new_state_in_the_last_partition():
    frames = [pd.DataFrame({"a": ["x", "y"], "n": [0, 1]})] * 3
    frames.append(pd.DataFrame({"a": ["x", "z"], "n": [0, 1]}))
    frame = partitions(frames)
    assert cp.DaskSource(frame).schema["a"].states == ("x", "y", "z")
    known = Table.from_frame(frames[0]).schema
    with raises(StateError, parameter="a", value="z"):
        cp.DaskSource(frame, schema=known)
    frames[3] = frames[0]  # ... and one that comes after the source was made
    source = cp.DaskSource(frame)
    frames[3] = pd.DataFrame({"a": ["x", "w"], "n": [0, 1]})
    with raises(StateError, parameter="a", value="w"):
        source.counts(["a"])
    frames[3] = pd.DataFrame({"a": ["x", None], "n": [0, 1]})
    with raises(DataError, about="'a'"):
        source.counts(["a"])
    frames[3] = frames[0].iloc[:1]
    with raises(DataError, about="8 rows"):
        source.counts(["a"])
    frames[:] = [frames[0].iloc[:0]] * 4
    with raises(DataError, about="8 rows"):
        source.counts(["a"])


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (["1", "2"], "column 'n' holds numbers in some rows and texts in others"),
        ([True, False], "column 'n' holds numbers in some rows and booleans in others"),
        (
            pd.to_datetime(["2020-01-01", "2021-01-01"]),
            "'n' holds numbers in some rows and dates in others",
        ),
        (
            pd.Series([1, "a"], dtype=object),
            "numbers in some rows and values of any type in others",
        ),
    ],
)
def test_another_type_in_the_last_partition(last, words):
    frames = [pd.DataFrame({"n": [0, 1]})] * 9 + [pd.DataFrame({"n": last})]
    with pytest.raises(DataError, match=words) as caught:
        cp.DaskSource(partitions(frames))
    assert "\n" not in str(caught.value)


def test_what_is_asked_of_a_frame():
    frame = mixed_frame(100)
    frame["w"] = np.arange(100) % 4
    frame["when"] = pd.Timestamp("2020-01-01")
    frame["real"] = np.linspace(0, 1, 100)
    given = dd.from_pandas(frame, npartitions=3)
    source = cp.DaskSource(given, columns=["size", "ill", "real"], weights="w",
                           states={"ill": ["yes", "no", "?"]},
                           discretize={"real": [0.5]})  # fmt: skip
    table = Table.from_frame(frame[["size", "ill", "real", "w"]], weights="w",
                             states={"ill": ["yes", "no", "?"]},
                             discretize={"real": [0.5]})  # fmt: skip
    same_as_memory(source, table)
    for options, error, words in (
        ({"columns": ["sizes"]}, UnknownNameError, "'sizes'"),
        ({"columns": ["real"]}, DiscretizeError, "'real'"),
        ({"columns": ["ill"], "weights": "size"}, WeightError, "'size'"),
        ({"columns": ["ill"], "discretize": "mdl"}, ParameterError, "discretize='mdl'"),
        ({"columns": ["packs"], "max_states": 2}, DiscretizeError, "max_states=2"),
    ):
        with raises(error, about=words):
            cp.DaskSource(given, **options)
    for other in (frame, [frame], 3, dask.delayed(frame)):
        with raises(ParameterError, about="DataFrame"):
            cp.DaskSource(other)


def test_only_the_columns_asked_for_are_read():
    asked = []

    def load(i, columns=None):
        asked.append(columns)
        frame = pd.DataFrame({"a": [0, 1, 1], "b": [0, 1, 2]})
        return frame if columns is None else frame[columns]

    source = cp.DaskSource(dd.from_map(load, range(2), meta=load(0)))
    assert asked[-1] is None or sorted(asked[-1]) == ["a", "b"]
    asked.clear()
    assert source.counts(["a"])[0].tolist() == [2, 4]
    assert asked == [["a"]] * 2


def test_weights_that_are_whole_in_one_partition_only():
    frames = [pd.DataFrame({"a": [0, 1], "w": [1.0, w]}) for w in (2.0, 0.5)]
    for order in (frames, frames[::-1]):
        source = cp.DaskSource(partitions(order), weights="w")
        assert source.counts(["a"])[0].tolist() == [2.0, 2.5]
        assert source.total_weight == 4.5


def test_names_that_are_no_texts_or_twice_there():
    frame = pd.DataFrame({0: [1, 2, 2], 1: ["a", "b", "a"]})
    source = cp.DaskSource(dd.from_pandas(frame, npartitions=2))
    assert source.schema.names == ("0", "1")
    assert source.counts([["1", "0"]])[0].tolist() == [[1, 1], [0, 1]]
    frame.columns = ["a", "a"]
    with raises(DataError, about="'a'"):
        cp.DaskSource(dd.from_pandas(frame, npartitions=1))


def test_no_rows_and_no_weight():
    empty = pd.DataFrame({"a": ["x"], "w": [0.0]}).iloc[:0]
    with raises(DataError, about="rows"):
        cp.DaskSource(partitions([empty, empty]))
    with raises(WeightError, about="weights"):
        cp.DaskSource(partitions([pd.DataFrame({"a": ["x"], "w": [0.0]})] * 2), weights="w")


def test_without_dask(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "dask", None)
    with raises(MissingExtraError, about="counterpane[dask]"):
        cp.DaskSource("visits.parquet")


# ---- how the parts are run -----------------------------------------------------------------------


def test_real_weights_do_not_depend_on_the_scheduler():
    table = make_table(rows=70_000, weights="real", missing=0.02)
    scopes = scopes_of_all_sizes(len(CARDS), seed=3)
    values = []
    for scheduler in ("synchronous", "threads", "threads"):
        with dask.config.set(scheduler=scheduler):
            values.append(dask_frame(table).counts(scopes).values.tobytes())
    assert len(set(values)) == 1


def test_what_partitions_share_is_computed_once_a_scan():
    calls = []

    @dask.delayed(pure=True)
    def root():
        calls.append(1)
        return pd.DataFrame({"a": [0, 1] * 50})

    shared = root()
    pieces = [dask.delayed(lambda whole, i=i: whole.iloc[i::10])(shared) for i in range(10)]
    frame = dd.from_delayed(pieces, meta=pd.DataFrame({"a": [0]}), verify_meta=False)
    source = cp.DaskSource(frame)
    assert source.counts(["a"], ctl=Control())[0].tolist() == [50, 50]
    assert len(calls) == source.n_scans == 2


def test_the_users_own_callbacks_go_on():
    class Seen(dask.callbacks.Callback):
        n = 0

        def _posttask(self, *given):
            self.n += 1

    with Seen() as seen:
        dask_frame(make_table((2, 3), 100))
    assert seen.n > 5


@pytest.mark.parametrize("weights", [None, "whole", "eighths"])
def test_packed_rows_are_read_once_and_only_if_they_fit(monkeypatch, weights):
    table = make_table(rows=3000, missing=0.05, weights=weights)
    source = dask_files(table, "feather")
    monkeypatch.setattr("counterpane.counts.engines.dask.LOCAL_MEMORY", 100)
    assert source.cache() is source
    source.counts([[0]])
    assert source.n_scans == 2
    monkeypatch.undo()
    source.prepare()
    source.prepare()
    for missing in ("drop", "state"):
        assert_counts(source, table, scopes_of_all_sizes(len(CARDS), seed=0), missing)
    pairs = source.pair_counts([2, 0], against=[0, 2]).counts
    assert np.array_equal(pairs, dask_frame(table).pair_counts([2, 0], against=[0, 2]).counts)
    assert source.n_scans == 3


def test_distinct_rows_that_are_too_many_only_together():
    frames = [pd.DataFrame({"a": [i, i]}) for i in range(20)]
    source = cp.DaskSource(partitions(frames))
    assert source.distinct(["a"], limit=20).weights.tolist() == [2] * 20
    with raises(TableSizeError, about="19 distinct rows"):
        source.distinct(["a"], limit=19)


def test_the_first_scan_reports_too():
    reports = Reports()
    frame = dd.from_pandas(mixed_frame(100), npartitions=4, sort=False)
    cp.DaskSource(frame, ctl=Control(reports))
    assert [done for done, _ in reports] == [25, 50, 75, 100]
    reports.control = Control(reports)
    with pytest.raises(Stopped):
        cp.DaskSource(frame, ctl=reports.control)


def test_threads_share_an_encoder():
    """Whole numbers of ever other ranges, so that threads widen the same lookup at once."""
    rng = np.random.default_rng(0)
    starts = rng.integers(0, 200, 60)
    frames = [pd.DataFrame({"n": s + rng.integers(0, 40, 3000)}) for s in starts]
    whole = np.concatenate([f["n"] for f in frames])
    source = cp.DaskSource(partitions(frames), max_states=250)
    with dask.config.set(num_workers=8):
        for _ in range(5):
            counted = source.counts(["n"])[0]
            assert counted.tolist() == np.unique(whole, return_counts=True)[1].tolist()


# ---- files in parts ------------------------------------------------------------------------------


def numbered(folder, sizes, group):
    """Parquet files whose rows are numbered from first to last, modulo 50."""
    folder.mkdir()
    start = 0
    for i, n in enumerate(sizes):
        numbers = pa.array(np.arange(start, start + n) % 50)
        pq.write_table(pa.table({"n": numbers}), folder / f"{i:03}.parquet", row_group_size=group)
        start += n
    return folder


def rows_of(part):
    return [v for block in part.blocks(["n"]) for v in block[0].values.tolist()]


def test_files_are_split_into_even_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(partitioned, "PART_CELLS", 1000)
    folder = numbered(tmp_path / "a", [100, 0, 5000, 1, 1, 3000], 100)
    parts = split_files(open_files(folder, FileOptions()), 2)
    rows = [rows_of(pickle.loads(pickle.dumps(part))) for part in parts]
    assert list(chain(*rows)) == (np.arange(8102) % 50).tolist()
    sizes = [len(r) for r in rows]
    assert max(sizes) <= 700
    assert min(sizes[:-1]) >= 500
    assert all(part.files.paths == tuple(p for p, _ in part.places) for part in parts)


def test_small_tables_are_split_too_and_small_files_put_together(tmp_path):
    folder = numbered(tmp_path / "a", [10] * 320, 10)
    parts = split_files(open_files(folder, FileOptions()), 1)
    assert 10 <= len(parts) <= 20
    assert list(chain(*map(rows_of, parts))) == (np.arange(3200) % 50).tolist()


def test_other_files_are_parts_as_they_are(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.csv").write_text("a,b\n" + "x,1\n,2\n" * 2000 + f"y{i},\n")
    parts = split_files(open_files(tmp_path, FileOptions()), 2)
    assert [len(part.places) for part in parts] == [1, 1, 1]
    same_as_memory(cp.DaskSource(tmp_path / "*.csv"), Table.from_frame(pd.concat(
        [pd.read_csv(tmp_path / f"{i}.csv") for i in range(3)], ignore_index=True)))  # fmt: skip


def test_files_are_what_memory_reads(tmp_path):
    frame = mixed_frame(900)
    for i, rows in enumerate(np.array_split(np.arange(900), 4)):
        frame.iloc[rows].to_parquet(tmp_path / f"{i}.parquet", index=False, row_group_size=50)
    source = cp.DaskSource(tmp_path)
    same_as_memory(source, Table.from_frame(frame))
    (tmp_path / "2.parquet").unlink()
    with raises(NoFileError, about="2.parquet"):
        source.counts(["ill"])


def test_parts_of_batches_and_tables_of_arrow():
    table = pa.table({"a": pa.chunked_array([[1, 2], [3]]), "b": ["x", None, "y"]})
    nothing = table.slice(0, 0)
    for rows in (table, table.to_batches(), (nothing, table), table.combine_chunks().to_batches()):
        blocks = list(FramePart(rows).blocks(["b", "a"]))
        texts = chain(*(column_list(b[0]) for b in blocks))
        numbers = chain(*(b[1].values.tolist() for b in blocks))
        assert (list(texts), list(numbers)) == (["x", None, "y"], [1, 2, 3])
    assert list(FramePart(nothing).blocks(["a"])) == []
    for rows in (table, table.to_pandas()):
        with raises(DataError, about="'c'"):
            list(FramePart(rows).blocks(["c"]))
    assert CountPart(None, len, [0])(PackedNothing()) is None
    assert FilePart(None, ()).places == ()


class PackedNothing:
    def blocks(self, columns):
        return iter(())
