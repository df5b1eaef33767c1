"""Whatever call to the disk fails, a file is the old or the new one, and no fit is lost."""

from __future__ import annotations

import os
import stat
import tempfile
import threading
import warnings
from pathlib import Path

import pytest

import counterpane as cp
from counterpane.disk import is_special, write_atomically
from counterpane.learners import driver
from counterpane.models.arrays import arrays_of
from counterpane.report.page import write_report
from error_checks import raises, warns
from faults import concurrent_saves
from faults.disk_errors import check_error, each_call


@pytest.fixture(scope="module")
def models():
    table = cp.load_dataset("titanic")
    return cp.ChowLiu().fit(table).model_, cp.HillClimb().fit(table).model_


def remains(folder):
    return [name for name in os.listdir(folder) if name.startswith(".counterpane-")]


@pytest.mark.parametrize("name", ["m.cp", "m.cp.gz", "m.bif", "m.uai", "m.svg", "m.html"])
def test_a_file_is_old_or_new_whatever_fails(tmp_path, models, name):
    old, new = models
    path = tmp_path / name

    def write(model):
        if name.endswith(".html"):
            write_report(model, path=path)
        elif name.endswith(".svg"):
            model.save(path)
        else:
            model.save(path)

    write(new)
    after = path.read_bytes()
    write(old)
    before = path.read_bytes()

    def check(error):
        check_error(error, path)
        assert path.read_bytes() == after if error is None else path.read_bytes() in (before, after)
        path.write_bytes(before)

    assert each_call(lambda: write(new), check) >= 5 * 5
    write(new)
    assert remains(tmp_path) == []


def test_no_fit_is_lost_by_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "SAVE_EVERY", -1.0)
    table, path = cp.load_dataset("titanic"), tmp_path / "c.cp"
    expected = arrays_of(cp.HillClimb(criterion="bic").fit(table).model_)
    fitted, refused, warned = [], [], []

    def fit():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            fitted.append(cp.HillClimb(criterion="bic", checkpoint=path).fit(table).model_)
        assert {w.category for w in told} <= {cp.CheckpointWarning}
        warned.extend(str(w.message) for w in told)

    def check(error):
        check_error(error, path)
        if error is not None:  # found before the work, by the test of the path
            assert "checkpoint=" in str(error)
            refused.append(error)
            return
        arrays = arrays_of(fitted.pop())
        assert all((arrays[k] == expected[k]).all() for k in expected)
        path.unlink(missing_ok=True)

    tries = each_call(fit, check)
    assert tries > 50
    assert len(refused) == 5  # the open by which the path is tested, with each error
    assert len(warned) >= tries - 10
    assert "No space left on device" in warned[0]
    assert "The search goes on" in warned[0]


def test_a_checkpoint_that_cannot_be_deleted_costs_no_model(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "SAVE_EVERY", -1.0)

    def refuse(path, missing_ok=False):
        if path.name == "c.cp":
            raise PermissionError(13, "Permission denied", str(path))
        os.unlink(path)

    monkeypatch.setattr(driver.Path, "unlink", refuse)
    learner = cp.HillClimb(checkpoint=tmp_path / "c.cp")
    with warns(cp.CheckpointWarning, about="c.cp"):
        learner.fit(cp.load_dataset("titanic"))
    assert learner.model_.dag.n_edges > 0


def test_a_checkpoint_on_a_pipe_or_in_no_folder_is_refused_first(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for bad in ("pipe", "no/such.cp", ".", "x" * 300, "a\0b"):
        with raises(cp.CounterpaneError, parameter="checkpoint") as caught:
            cp.HillClimb(checkpoint=f"{tmp_path}/{bad}").fit(cp.load_dataset("titanic"))
        assert isinstance(caught.value, OSError)
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


def test_pipes_and_devices_are_written_through(tmp_path, models):
    pipe, parts = tmp_path / "pipe.cp", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: parts.append(pipe.read_bytes()))
    reader.start()
    models[0].save(pipe)
    reader.join()
    models[0].save(tmp_path / "m.cp")
    assert parts == [(tmp_path / "m.cp").read_bytes()]
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)


def device(path, number, kind=stat.S_IFCHR):
    """A private device: tests never touch those of the machine."""
    try:
        os.mknod(path, 0o666 | kind, os.makedev(1, number))
        os.close(os.open(path, os.O_WRONLY)) if kind == stat.S_IFCHR else None
    except OSError:
        pytest.skip("making a device takes the rights of root")


def test_a_full_device_stays_a_device(tmp_path, models, run):
    full = tmp_path / "full"
    device(full, 7)
    with raises(cp.CounterpaneError, about="full") as caught:
        models[0].save(full)
    assert isinstance(caught.value, OSError)
    code, _, err = run("learn", "titanic", "--method", "chow-liu", "-o", str(full))
    assert (code, "No space left" in err) == (2, True)
    assert stat.S_ISCHR(os.stat(full).st_mode)


def test_a_disk_is_not_overwritten(tmp_path, models):
    block = tmp_path / "ram"
    device(block, 250, stat.S_IFBLK)
    with raises(cp.CounterpaneError, about="ram"):
        models[0].save(block)
    assert stat.S_ISBLK(os.stat(block).st_mode)


def test_the_longest_names_can_be_saved(tmp_path, models):
    path = tmp_path / ("y" * 252 + ".cp")
    models[0].save(path)
    assert cp.load(path).schema == models[0].schema


def test_saves_to_one_folder_leave_each_other_alone(tmp_path, models):
    (tmp_path / ".counterpane-0123456789abcdef.tmp").write_bytes(b"of a process that was killed")

    def chunks():  # while this save runs, another one to the same folder ends
        yield b"first"
        models[0].save(tmp_path / "m.cp")
        assert len(remains(tmp_path)) == 2  # its own, and the one that it does not know
        yield b"second"

    write_atomically(tmp_path / "slow.txt", chunks())
    assert (tmp_path / "slow.txt").read_bytes() == b"firstsecond"
    assert len(remains(tmp_path)) == 1


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of a fork, with threads
def test_eight_processes_save_their_own_files_in_one_folder(tmp_path):
    assert concurrent_saves.faults_of(tmp_path, processes=8, saves=50) == []


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="this system has no /dev/shm")
def test_files_in_shared_memory_are_replaced_like_others(models):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "m.cp"
        models[0].save(path)
        inode = path.stat().st_ino
        models[1].save(path)
        assert path.stat().st_ino != inode  # renamed over it, not written in place
        assert not is_special(path)
    assert is_special("/dev/null")
    assert is_special("/dev/stdout") or not os.path.exists("/dev/stdout")


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="this system has no /dev/shm")
def test_a_checkpoint_in_shared_memory_is_resumed(monkeypatch):
    monkeypatch.setattr(driver, "SAVE_EVERY", -1.0)
    table = cp.load_dataset("titanic")
    options = {"criterion": "bdeu", "restarts": 20, "random_state": 1}
    whole = cp.HillClimb(**options).fit(table)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "c.cp"

        def stop(what, done, total):
            if done == 5:
                raise KeyboardInterrupt

        with pytest.warns(cp.StoppedEarly):
            cp.HillClimb(**options, checkpoint=path, progress=stop).fit(table)
        assert path.exists()
        steps = []
        resumed = cp.HillClimb(
            **options, checkpoint=path, progress=lambda *told: steps.append(told)
        ).fit(table)
    assert len(steps) < 20
    assert resumed.score_ == whole.score_


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800.cp", "x" * 5000, None, 5, b"m.cp", "no/m.cp"])
def test_paths_that_can_name_no_file(tmp_path, monkeypatch, models, path):
    monkeypatch.chdir(tmp_path)
    table = cp.load_dataset("titanic")
    for call in (
        lambda: cp.load(path),
        lambda: models[0].save(path),
        lambda: models[0].save(path),
        lambda: cp.read(path),
        lambda: write_report(models[0], path=path),
        lambda: cp.HillClimb(checkpoint=path).fit(table) if path is not None else cp.load(path),
    ):
        with pytest.raises(cp.CounterpaneError) as caught:
            call()
        assert len(str(caught.value)) < 1000
    assert os.listdir(tmp_path) == []
