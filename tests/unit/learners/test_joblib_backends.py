"""Work by variable goes where joblib was told to run it, and finds the same there."""

from __future__ import annotations

import os
import threading
from functools import cache

import joblib
import numpy as np
import pytest

import counterpane as cp
from counterpane.counts import MemoryCounts
from counterpane.data import Schema, Table
from counterpane.models.arrays import arrays_of
from counterpane.parallel import map_in_workers
from counterpane.progress import Control, Stopped
from reference.random_codes import random_codes

CARDS = (2, 3, 2, 4, 2, 2, 3, 2)
LEARNERS = {
    "trees": lambda n_jobs: cp.DependencyNetworkLearner(n_jobs=n_jobs),
    "logistic": lambda n_jobs: cp.DependencyNetworkLearner("logistic", n_jobs=n_jobs),
    "boosted": lambda n_jobs: cp.DependencyNetworkLearner("boosted", n_jobs=n_jobs),
    "hybrid": lambda n_jobs: cp.HybridRandomFieldLearner(k=3, n_jobs=n_jobs),
}


@cache
def table_of(kind):
    cards, rows = {"small": (CARDS, 400), "binary": ((2,) * 9, 500)}[kind]
    return Table(Schema.from_cards(cards), random_codes(cards, rows, 3))


@cache
def alone(name, kind):
    return learned(name, kind, 1)


def learned(name, kind, n_jobs=2):
    learner = LEARNERS[name](n_jobs).fit(MemoryCounts(table_of(kind)))
    arrays = arrays_of(learner.model_)
    return learner.score_, {key: array.tobytes() for key, array in arrays.items()}


def where(part):
    return part, os.getpid(), threading.get_ident()


def test_without_a_choice_threads_run_the_parts():
    found = list(map_in_workers(where, range(8), 2))
    assert [part for part, _, _ in found] == list(range(8))
    assert {pid for _, pid, _ in found} == {os.getpid()}
    assert all(ident != threading.get_ident() for _, _, ident in found)
    with joblib.parallel_config(n_jobs=2):  # a number alone chooses no backend
        assert {pid for _, pid, _ in map_in_workers(where, range(8), 2)} == {os.getpid()}


def test_a_chosen_backend_runs_the_parts_in_order():
    with joblib.parallel_config(backend="loky"):
        found = list(map_in_workers(where, range(8), 2))
        assert [part for part, _, _ in found] == list(range(8))
        assert os.getpid() not in {pid for _, pid, _ in found}
        here = list(map_in_workers(where, range(3), 1))
        assert {(pid, ident) for _, pid, ident in here} == {(os.getpid(), threading.get_ident())}


def test_the_control_is_asked_between_parts():
    control = Control()
    with joblib.parallel_config(backend="threading"):
        parts = map_in_workers(where, range(8), 2, control)
        next(parts)
        control.cancel()
        with pytest.raises(Stopped):
            next(parts)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_learners_find_the_same_by_any_backend(name, backend):
    with joblib.parallel_config(backend=backend):
        assert learned(name, "small") == alone(name, "small")


@pytest.mark.parametrize("name", LEARNERS)
def test_arrays_that_joblib_maps_from_files(name):
    with joblib.parallel_config(backend="loky", max_nbytes=100):
        assert learned(name, "small") == alone(name, "small")


def test_partners_by_bits():
    with joblib.parallel_config(backend="loky"):
        assert learned("hybrid", "binary") == alone("hybrid", "binary")


@pytest.mark.slow
def test_workers_of_a_cluster(tmp_path):
    distributed = pytest.importorskip("distributed", reason="extra [dask] is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True,
            local_directory=tmp_path,
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):  # fmt: skip
        for name in LEARNERS:
            assert learned(name, "small") == alone(name, "small")
    assert np.isfinite(alone("trees", "small")[0])
