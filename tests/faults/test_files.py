"""Files that fuzzing found: each was read, and crashed or answered wrongly later."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pytest

import counterpane as cp
from counterpane.errors import FileFormatError
from counterpane.formats.native import Content, read_native, write_native
from error_checks import raises


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "additive.cp"
    cp.InteractionClassifier().fit(cp.load_dataset("titanic"), "survived").model_.save(path)
    return read_native(path)


def refused(path, content):
    write_native(path, content)
    with pytest.raises(FileFormatError) as caught:
        cp.load(path)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("ending", ["keys", "tables", "constant", "cards", "shares"])
@pytest.mark.parametrize("change", ["type", "axis", "infinite"])
def test_arrays_of_another_kind(tmp_path, classifier, ending, change):
    name = next(n for n in classifier.arrays if n.rpartition(".")[2] == ending)
    array = classifier.arrays[name]
    if change == "type":
        other = array.astype(np.float64 if array.dtype == np.int64 else np.int64)
        if ending == "shares":  # whole numbers are as good as others
            return
    elif change == "axis":
        other = array[..., None]
    else:
        other = array.astype(np.float64)
        other.flat[0] = np.inf
    refused(tmp_path / "m.cp", classifier._replace(arrays={**classifier.arrays, name: other}))


@pytest.mark.parametrize("change", [{"kind": 5}, {"note": [1]}, {"kind": None}])
def test_headers_of_another_kind(tmp_path, classifier, change):
    refused(tmp_path / "m.cp", Content(**{**classifier._asdict(), **change}))


def test_names_of_arrays_are_texts_that_occur_once(tmp_path, classifier):
    arrays = {5: np.zeros(1), **classifier.arrays}
    refused(tmp_path / "m.cp", classifier._replace(arrays=arrays))


def test_counts_whose_sum_wraps_around(tmp_path):
    path = tmp_path / "dn.cp"
    cp.DependencyNetworkLearner().fit(cp.load_dataset("titanic")).model_.save(path)
    content = read_native(path)
    name = next(n for n in content.arrays if n.rpartition(".")[2] == "part_counts")
    counts = content.arrays[name].copy()
    counts[:4] = [2**62, 2**62, 2**62, 2**62 + counts.sum()]
    assert counts.sum() == content.arrays[name].sum()
    refused(path, content._replace(arrays={**content.arrays, name: counts}))


def test_arrow_files_that_point_outside_of_themselves(tmp_path):
    path = tmp_path / "t.feather"
    texts = pa.array(["left", "right"] * 50, pa.large_string())
    feather.write_feather(pa.table({"a": texts}), path, compression="uncompressed")
    data = bytearray(path.read_bytes())
    offset = (405).to_bytes(8, "little")  # where one of the texts begins
    places = [i for i in range(len(data)) if data[i : i + 8] == offset]
    assert places
    for place in places:
        data[place : place + 8] = (2**62).to_bytes(8, "little")
    path.write_bytes(data)
    with raises(cp.CounterpaneError, about="t.feather"):
        cp.read(path)


def test_cells_whose_differences_overflow(classifier, tmp_path):
    """A fuzzed file: from 12 to −2⁶³ is a step up in 64 bits."""
    for name, values in classifier.arrays.items():
        if name.endswith("keys") and len(values) > 20:
            arrays = dict(classifier.arrays)
            ends = classifier.arrays[name.removesuffix("keys") + "key_ends"]
            begin = max(range(len(ends) - 1), key=lambda i: ends[i + 1] - ends[i])
            arrays[name] = values.copy()
            arrays[name][ends[begin + 1] - 2 : ends[begin + 1]] = [-(2**63), -1]
            refused(tmp_path / "cells.cp", classifier._replace(arrays=arrays))
            return
    raise AssertionError("no keys in the file")
