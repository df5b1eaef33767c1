"""A real Dask cluster of two processes: workers that die, interrupts, what is left behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from contract.count_source_suite import (
    Reports,
    assert_counts,
    make_table,
)
from contract.test_count_sources import files_of
from counterpane.data import Table
from counterpane.errors import (
    DataError,
    StateError,
    TableSizeError,
)
from counterpane.progress import Control, Stopped
from error_checks import raises

dask = pytest.importorskip("dask", reason="Dask is not installed: extra [dask]")
dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed: extra [dask]")
distributed = pytest.importorskip("distributed", reason="Dask is not installed: extra [dask]")
from contract.test_dask_source import (  # noqa: E402
    dask_files,
    dask_frame,
    mixed_frame,
    settings,  # noqa: F401 (for every test here too)
)


@pytest.fixture(scope="module")
def client():
    """A client of two worker processes, which are gone when it is closed."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                                 dashboard_address=":0", memory_limit="2GiB",
                                 silence_logs=60) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield client
        pids = list(client.run(os.getpid).values())
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.fixture(scope="module")
def large():
    """A table of some parts, and the tables asked of it."""
    return make_table((2, 3, 4, 2), 60_000, missing=0.01), [*combinations(range(4), 3), (0,), ()]


def held(client):
    """The tasks that the cluster remembers."""
    return client.run_on_scheduler(lambda dask_scheduler: sorted(map(str, dask_scheduler.tasks)))


def assert_idle(client):
    """The cluster soon has nothing to do or to keep."""
    deadline = time.monotonic() + 120
    while held(client) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert held(client) == []


def test_the_open_client_is_used(client, large):
    table, scopes = large
    for source in (dask_frame(table), dask_files(table), dask_files(table, client=client)):
        assert source._client is client
        assert_counts(source, table, scopes)
        assert_counts(source, table, scopes, "state")
        memory = cp.MemoryCounts(table)
        assert np.array_equal(source.pair_counts().counts, memory.pair_counts().counts)
        ours, theirs = source.distinct(range(4)), memory.distinct(range(4))
        assert np.array_equal(ours.codes, theirs.codes)
        assert np.array_equal(ours.weights, theirs.weights)
    assert_idle(client)


def test_workers_may_stand_in_another_folder(client, large, monkeypatch):
    table, scopes = large
    monkeypatch.chdir(files_of(table, "parquet"))
    assert_counts(cp.DaskSource("*.parquet", schema=table.schema), table, scopes)


def test_weights_and_rows_kept_by_the_workers(client):
    table = make_table((2, 3, 4), 50_000, weights="real")
    source = dask_files(table)
    before = source.counts([(2, 1), (0, 1)]).values
    source.prepare()
    assert (source.counts([(2, 1), (0, 1)]).values == before).all()
    assert source.n_scans == 3
    assert len(held(client)) >= len(source._packed) > 0
    del source
    assert_idle(client)


@pytest.mark.parametrize("kept", [False, True])
def test_a_worker_that_dies_in_mid_count(client, large, tmp_path, kept):
    table, _ = large
    source = dask_files(table)
    if kept:
        source.prepare()
        source.counts([()])
    marker = str(tmp_path / "died")

    def dies_once(codes, weights):
        with suppress(FileExistsError):
            open(marker, "x").close()  # one of the workers makes it
            os.kill(os.getpid(), signal.SIGKILL)
        return np.bincount(codes[0], minlength=4)

    counted = source.map_reduce(dies_once, [1])
    assert os.path.exists(marker)
    assert counted.tolist() == np.bincount(table.codes[1], minlength=4).tolist()


def test_a_part_that_kills_every_worker(client, large, monkeypatch):
    table, scopes = large
    source = dask_files(table)
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)

    def dies(codes, weights):
        os.kill(os.getpid(), signal.SIGKILL)

    with raises(DataError, about="workers"):
        source.map_reduce(dies, [0])
    monkeypatch.undo()
    assert_counts(source, table, scopes)


def test_cancellation_and_time_limits(client, large):
    table, scopes = large

    def slow(codes, weights):
        time.sleep(0.3)
        return codes.sum()

    source = dask_files(table)
    reports = Reports()
    source.counts(scopes, ctl=Control(reports))
    done = [d for d, _ in reports]
    assert len(done) > 2
    assert done == sorted(done)
    assert done[-1] == table.n_rows
    cut = Reports()
    cut.control = Control(cut)
    with raises(Stopped, about="cancelled"):
        source.map_reduce(slow, [0], ctl=cut.control)
    assert len(cut) == 1
    began = time.monotonic()
    with raises(Stopped, about="time limit"):
        source.map_reduce(slow, [0], ctl=Control.within(0.3))
    assert time.monotonic() - began < 60
    assert_counts(source, table, scopes)


def test_an_interrupt_leaves_nothing_to_do(client, large):
    table, scopes = large

    def slow(codes, weights):
        time.sleep(1)
        return codes.sum()

    def interrupt():
        while not held(client):  # until the cluster has work
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    source = dask_files(table)
    waiting = threading.Thread(target=interrupt)
    waiting.start()
    with pytest.raises(KeyboardInterrupt):
        source.map_reduce(slow, [0])
    waiting.join()
    assert_idle(client)
    assert_counts(source, table, scopes)


def test_errors_of_workers_are_ours(client):
    frame = pd.DataFrame({"a": [*"xy"] * 20, "b": range(40)})
    given = dd.from_pandas(frame, npartitions=4, sort=False)
    with raises(StateError, parameter="a", value="y"):
        cp.DaskSource(given, columns=["a"], states={"a": ["x"]})
    source = cp.DaskSource(given, max_states=40)
    with raises(TableSizeError, about="30 distinct rows"):
        source.distinct(["a", "b"], limit=30)


def test_a_learner_on_the_cluster(client):
    frame = mixed_frame(600).drop(columns=["level", "note"])
    source = cp.DaskSource(dd.from_pandas(frame, npartitions=4, sort=False))
    ours, theirs = (cp.HillClimb().fit(data) for data in (source, Table.from_frame(frame)))
    assert (ours.graph_.edges, ours.score_) == (theirs.graph_.edges, theirs.score_)


def test_a_cluster_that_is_lost(large):
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False,
                                  dashboard_address=":0", silence_logs=60) as cluster:  # fmt: skip
        client = distributed.Client(cluster, set_as_default=False)
        source = dask_files(large[0], client=client)
        client.close()
        with raises(DataError, about="cluster"):
            source.counts([[0]])
