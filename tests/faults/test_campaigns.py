"""A seeded slice of the campaigns of files, kills and Ctrl-C; `make faults` runs them for hours."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from counterpane.cli import app
from faults import (
    campaign,
    checkpoints_fuzzer,
    files_fuzzer,
    interrupts,
    kills,
    peak,
    questions_fuzzer,
)
from faults.outcomes import judge
from faults.peak import faults_of

# Files that were not refused in one sentence, or answered what is no probability.
FAILED = sorted((Path(__file__).parent / "data").iterdir())
TABLES = (".feather", ".parquet")


@pytest.mark.parametrize("part", range(4))
def test_made_up_files_are_used_or_refused(part):
    assert faults_of(range(300 * part, 300 * (part + 1)), files_fuzzer.try_once) == []


def test_memory_is_measured(monkeypatch):
    monkeypatch.setattr(peak, "MOST_BYTES", -(2**40))
    faults = faults_of(range(5), files_fuzzer.try_once)
    assert all("takes" in fault for fault in faults)
    assert len(faults) == 5


def test_inputs_come_in_their_mix_and_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "MIX", {"files_fuzzer": 3, "questions_fuzzer": 2})
    tried = []
    for module in (files_fuzzer, questions_fuzzer):
        monkeypatch.setattr(module, "try_once", lambda seed: tried.append(seed))
    for inputs in (5, 10):
        assert campaign.try_inputs(tmp_path, inputs, 1000) == 0
    assert tried == [1000, 1001, 1002, 1000, 1001, 1003, 1004, 1005, 1002, 1003]
    done = campaign.read_record(tmp_path)
    assert {name: facts["tries"] for name, facts in done.items()} == {
        "files_fuzzer": 6, "questions_fuzzer": 4,
    }  # fmt: skip


@pytest.mark.parametrize("path", FAILED, ids=lambda path: path.name)
def test_files_that_once_failed(path, tmp_path):
    copied = shutil.copy(path, tmp_path)  # beside it another file is written
    use = files_fuzzer.use_table if path.suffix in TABLES else files_fuzzer.use_model
    assert judge(path.name, lambda: use(Path(copied))) is None


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of a fork, with threads
def test_kills_tear_and_lose_nothing():
    assert [fault for seed in range(12) if (fault := kills.try_once(seed)) is not None] == []


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forged_checkpoints_are_refused_or_used():
    seeds = range(60)
    assert [f for seed in seeds if (f := checkpoints_fuzzer.try_once(seed)) is not None] == []


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_ctrl_c_leaves_no_traceback():
    seeds = (*range(12), 116, 156)
    assert [fault for seed in seeds if (fault := interrupts.try_once(seed)) is not None] == []


def test_ctrl_c_that_python_wraps_is_one(run, monkeypatch):
    def load(_):
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(app, "_program", load)
    code, _, err = run("datasets")
    assert (code, err) == (130, "Stopped; nothing was written.\n")


def test_ctrl_c_while_the_program_loads(tmp_path):
    for wait in (0.01, 0.1, 0.3):
        code, errors = interrupts._in_process(("learn", "titanic", "-o", "m.cp"), tmp_path, wait)
        assert code in interrupts.DONE
        assert "Traceback" not in errors
