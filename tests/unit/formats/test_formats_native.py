"""The native model file: exact, atomic, and safe against damaged and hostile files."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import struct

import numpy as np
import pytest

from counterpane.data.schema import Schema, Variable
from counterpane.errors import FileFormatError, ParameterError, VersionError
from counterpane.formats import files, native
from counterpane.graphs import Dag
from counterpane.models import BayesianNetwork
from counterpane.models.record import DataRecord, LearnerRecord, LearningRecord
from counterpane.storage import load
from error_checks import raises

RECORD = LearningRecord(LearnerRecord(text="HillClimb()"), DataRecord(rows=12))


def small_model(**more):
    schema = Schema(
        [
            Variable('naïve \ud800 "name"', ("yes", "1", "é")),
            Variable("mixed", (1, 2.5, 3.0, "x", None)),
            Variable("flag", (False, True)),
            Variable("age", ("[-∞, 50)", "[50, ∞)", None), (0.1 + 0.2,)),
        ]
    )
    rng = np.random.default_rng(0)
    dag = Dag(4, [(0, 2), (1, 2), (2, 3)])
    counts = [rng.integers(0, 9, schema.cards[[*dag.parents(i), i]]) for i in range(4)]
    return BayesianNetwork.from_counts(schema, dag, counts, **more)


@pytest.fixture(name="saved")
def saved_model(tmp_path):
    small_model(record=RECORD).save(tmp_path / "model.cp")
    return tmp_path / "model.cp"


def assert_same(a, b):
    assert a.schema == b.schema
    assert [list(map(type, v.states)) for v in a.schema] == [
        list(map(type, v.states)) for v in b.schema
    ]
    assert a.dag.edges == b.dag.edges
    for x, y in zip(a.tables, b.tables, strict=True):
        assert x.tobytes() == y.tobytes()
    assert (a.strengths is None) == (b.strengths is None)
    for x, y in zip(a.strengths or (), b.strengths or (), strict=True):
        assert x.tobytes() == y.tobytes()
    assert a.record == b.record


def test_round_trip_is_bit_for_bit(saved):
    original = small_model(record=RECORD)
    assert_same(original, load(saved))
    without = BayesianNetwork(original.schema, original.dag, original.tables)
    without.save(saved)
    assert_same(without, load(saved))


def test_saving_twice_gives_the_same_bytes(saved):
    before = saved.read_bytes()
    load(saved).save(saved)
    assert saved.read_bytes() == before


def test_every_flipped_byte_is_noticed(saved):
    data = saved.read_bytes()
    places = {*range(64), *range(64, len(data), 7), len(data) - 1}
    for place in sorted(places):
        damaged = bytearray(data)
        damaged[place] ^= 0x41
        saved.write_bytes(damaged)
        with pytest.raises(FileFormatError):
            load(saved)


def test_truncated_and_grown_files_are_refused(saved):
    data = saved.read_bytes()
    for size in (0, 3, 8, 15, 24, 60, len(data) // 2, len(data) - 32, len(data) - 1):
        saved.write_bytes(data[:size])
        with pytest.raises(FileFormatError):
            load(saved)
    saved.write_bytes(data + b"\0")
    with raises(FileFormatError, about="1212"):
        load(saved)


def test_a_newer_version_says_what_to_do(saved):
    data = bytearray(saved.read_bytes())
    struct.pack_into("<I", data, 8, 7)
    saved.write_bytes(data)
    with raises(VersionError, about="version 7"):
        load(saved)


def forged(path, change, payload=b""):
    """Write a file whose checksum holds and whose header was changed."""
    data = path.read_bytes()
    _, _, size, _ = native.PREFIX.unpack_from(data)
    start = native.PREFIX.size
    header = json.loads(data[start : start + size])
    change(header)
    text = json.dumps(header).encode()
    body = text + data[start + size : -32] + payload
    prefix = native.PREFIX.pack(native.MAGIC, 1, len(text), start + len(body) + 32)
    path.write_bytes(prefix + body + hashlib.sha256(prefix + body).digest())


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.pop("kind"),
        lambda h: h.update(kind="oracle"),
        lambda h: h.update(schema=7),
        lambda h: h["schema"][0].update(states=[]),
        lambda h: h["schema"][0].update(states=[[1], [2]]),
        lambda h: h["schema"].pop(),
        lambda h: h["schema"][1].update(name=h["schema"][0]["name"]),
        lambda h: h["arrays"].pop(),
        lambda h: h["arrays"][0].update(shape=[2**62]),
        lambda h: h["arrays"][0].update(shape=[-1]),
        lambda h: h["arrays"][0].update(shape=[1.5]),
        lambda h: h["arrays"][0].update(dtype="|O"),
        lambda h: h["arrays"][0].update(name="other"),
        lambda h: h["arrays"][1].update(dtype="<f8"),
        lambda h: h["arrays"][2].update(dtype="<i8"),
        lambda h: h["schema"][3].update(cuts=["a"]),
    ],
)
def test_a_forged_header_is_refused(saved, change):
    forged(saved, change)
    with pytest.raises(FileFormatError):
        load(saved)


def test_deep_and_long_headers_are_refused(saved):
    for text in (b"[" * 100_000, b'{"kind":' + b"9" * 5000 + b"}", b"\xff\xfe", b""):
        prefix = native.PREFIX.pack(native.MAGIC, 1, len(text), 24 + len(text) + 32)
        saved.write_bytes(prefix + text + hashlib.sha256(prefix + text).digest())
        with pytest.raises(FileFormatError):
            load(saved)
    prefix = native.PREFIX.pack(native.MAGIC, 1, 2**32 - 1, 56)
    saved.write_bytes(prefix + hashlib.sha256(prefix).digest())
    with pytest.raises(FileFormatError):
        load(saved)


def test_foreign_files_are_refused(tmp_path):
    for name in ("model.cp", "model.txt", "model"):
        (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\n and so on")
        with pytest.raises(FileFormatError):
            load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.cp")


def test_a_failed_save_leaves_the_old_file_alone(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(files.os, name, fail)
            with raises(OSError, about="model.cp"):
                small_model().save(saved)
        assert saved.read_bytes() == before
        assert os.listdir(saved.parent) == ["model.cp"]
    with raises(ParameterError, about="saved"):
        small_model(record=LearningRecord(marks=(object(),))).save(saved)
    assert saved.read_bytes() == before


def test_links_and_permissions_are_kept(saved):
    saved.chmod(0o640)
    link = saved.with_name("link.cp")
    link.symlink_to(saved)
    small_model().save(link)
    assert link.is_symlink()
    assert saved.stat().st_mode & 0o777 == 0o640
    assert not load(saved).record.learned


def test_gzipped_files_hold_the_same(saved, tmp_path):
    load(saved).save(tmp_path / "model.cp.gz")
    data = (tmp_path / "model.cp.gz").read_bytes()
    assert data[:2] == b"\x1f\x8b"
    assert gzip.decompress(data) == saved.read_bytes()
    assert_same(load(saved), load(tmp_path / "model.cp.gz"))
    for size in (1, 2, 20, len(data) // 2, len(data) - 1):
        (tmp_path / "cut.cp.gz").write_bytes(data[:size])
        with pytest.raises(FileFormatError):
            load(tmp_path / "cut.cp.gz")


def test_a_gzipped_file_that_swells_is_refused(saved, tmp_path, monkeypatch):
    data = gzip.compress(saved.read_bytes() + bytes(2**21))
    (tmp_path / "model.cp.gz").write_bytes(data)
    with raises(FileFormatError, about="model.cp.gz"):
        load(tmp_path / "model.cp.gz")
