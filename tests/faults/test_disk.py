"""Whatever call to the disk fails, a file is the old or the new one, and no fit is lost."""

from __future__ import annotations

import os
import stat
import threading
import warnings

import pytest

import counterpane as cp
from counterpane.disk import TEMPORARY, write_atomically
from counterpane.learners import driver
from counterpane.models.arrays import arrays_of
from counterpane.report.page import write_report
from error_checks import raises
from faults.disk_errors import check_error, each_call


@pytest.fixture(scope="module")
def models():
    table = cp.load_dataset("titanic")
    return cp.ChowLiu().fit(table).model_, cp.HillClimb().fit(table).model_


def remains(folder):
    return [name for name in os.listdir(folder) if TEMPORARY.fullmatch(name)]


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
    expected = arrays_of(cp.HillClimb(score="bic").fit(table).model_)
    fitted, refused, warned = [], [], []

    def fit():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            fitted.append(cp.HillClimb(score="bic", checkpoint=path).fit(table).model_)
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
    with pytest.warns(cp.CheckpointWarning, match=r"c.cp' cannot be deleted: Permission denied"):
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
    with pytest.raises(
        cp.CounterpaneError, match=r"'.*full' cannot be written: No space"
    ) as caught:
        models[0].save(full)
    assert isinstance(caught.value, OSError)
    code, _, err = run("learn", "titanic", "--method", "chow-liu", "-o", str(full))
    assert (code, "No space left" in err) == (2, True)
    assert stat.S_ISCHR(os.stat(full).st_mode)


def test_a_disk_is_not_overwritten(tmp_path, models):
    block = tmp_path / "ram"
    device(block, 250, stat.S_IFBLK)
    with pytest.raises(cp.CounterpaneError, match="is a device or a pipe; name a file"):
        models[0].save(block)
    assert stat.S_ISBLK(os.stat(block).st_mode)


def test_the_longest_names_can_be_saved(tmp_path, models):
    path = tmp_path / ("y" * 252 + ".cp")
    models[0].save(path)
    assert cp.load(path).schema == models[0].schema


def test_remains_of_a_killed_save_go_with_the_next_and_running_saves_stay(tmp_path, models):
    (tmp_path / ".counterpane-0123456789abcdef.tmp").write_bytes(b"half")
    (tmp_path / ".other.tmp").write_bytes(b"someone's")
    seen = []

    def chunks():  # while this save runs, another one to the same folder ends
        yield b"first"
        models[0].save(tmp_path / "m.cp")
        seen.extend(remains(tmp_path))
        yield b"second"

    write_atomically(tmp_path / "slow.txt", chunks())
    assert len(seen) == 1  # its own
    assert (tmp_path / "slow.txt").read_bytes() == b"firstsecond"
    assert sorted(os.listdir(tmp_path)) == [".other.tmp", "m.cp", "slow.txt"]


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
