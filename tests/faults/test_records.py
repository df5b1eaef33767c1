"""What a file says of a model's learning may be anything: it is refused, or it does no harm."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import counterpane as cp
from counterpane.errors import FileFormatError
from counterpane.formats.native import read_native, write_native
from counterpane.models.record import LearningRecord
from counterpane.models.typed_values import plain, typed
from error_checks import raises

STRANGE = (
    5, "x", None, True, [], {}, [1], ["a"], [["a"]], [[1]], {"sex": 5}, {"a": [1]}, {"a": {"b": 5}},
    [{"a": 1}], {"note": 5},
)  # fmt: skip


def places() -> list[tuple[str, ...]]:
    """Each field of the record, and each field of its parts."""
    found: list[tuple[str, ...]] = []
    for each in fields(LearningRecord):
        found.append((each.name,))
        part = getattr(LearningRecord(), each.name)
        found += [(each.name, f.name) for f in fields(part)] if is_dataclass(part) else []
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("models")
    titanic = cp.load_dataset("titanic")
    models = cp.NaiveBayes().fit(titanic, "survived").model_, cp.ChowLiu().fit(titanic).model_
    paths = [folder / f"{k}.cp" for k in range(len(models))]
    for model, path in zip(models, paths, strict=True):
        model.save(path)
    return paths


@pytest.mark.parametrize("place", places(), ids=".".join)
def test_strange_record_is_refused_or_does_no_harm(files, place, tmp_path):
    refused = 0
    for path in files:
        content = read_native(path)
        for value in STRANGE:
            note = json.loads(json.dumps(content.note))
            part = note if len(place) == 1 else note.setdefault(place[0], {})
            part[place[-1]] = value
            write_native(tmp_path / "m.cp", content._replace(note=note))
            try:
                cp.write_report(cp.load(tmp_path / "m.cp"), path=tmp_path / "r.html")
            except FileFormatError as error:
                assert "strange" in str(error)
                refused += 1
    assert refused


def test_record_of_unknown_field_or_earlier_version_is_refused(files, tmp_path):
    content = read_native(files[0])
    write_native(tmp_path / "m.cp", content._replace(note={"mood": "good"}))
    with raises(FileFormatError, about="'mood'"):
        cp.load(tmp_path / "m.cp")
    data = bytearray(files[0].read_bytes())
    data[8] = 1
    (tmp_path / "old.cp").write_bytes(data)
    with raises(cp.CounterpaneError, about="old.cp"):
        cp.load(tmp_path / "old.cp")


def test_record_is_written_and_read_bit_for_bit(files):
    record = cp.load(files[1]).record
    assert record.learned and typed(LearningRecord, json.loads(json.dumps(plain(record)))) == record
    assert plain(LearningRecord()) == {} and typed(LearningRecord, {}) == LearningRecord()
