"""What a file says of a model's learning may be anything: it is refused, or it does no harm."""

from __future__ import annotations

from pathlib import Path

import pytest

import counterpane as cp
from counterpane.errors import FileFormatError
from counterpane.models.formats.provenance import SHAPES

STRANGE = (
    5, "x", None, True, [], {}, [1], ["a"], [["a"]], [[1]], {"sex": 5}, {"a": [1]}, {"a": {"b": 5}},
    [{"a": 1}], {"note": 5},
)  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("models")
    titanic = cp.load_dataset("titanic")
    models = cp.NaiveBayes().fit(titanic, "survived").model_, cp.ChowLiu().fit(titanic).model_
    paths = [folder / f"{k}.cp" for k in range(len(models))]
    for model, path in zip(models, paths, strict=True):
        model.save(path)
    return paths


@pytest.mark.parametrize("key", SHAPES)
def test_strange_provenance_is_refused_or_does_no_harm(files, key, tmp_path):
    refused = 0
    for path in files:
        model = cp.load(path)
        before = dict(model.provenance)
        for value in STRANGE:
            model.provenance.clear()
            model.provenance.update(before | {key: value})
            model.save(tmp_path / "m.cp")
            try:
                read = cp.load(tmp_path / "m.cp")
                cp.write_report(read, path=tmp_path / "r.html")
            except FileFormatError as error:
                assert f"strange {key}" in str(error)
                refused += 1
    assert refused
