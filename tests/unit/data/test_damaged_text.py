"""Text files in which some bytes are not valid UTF-8, and texts that most rows do not have."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.data.prepare import GAP_WORDS
from counterpane.data.readers.text_files import BytesReplaced
from error_checks import warns

TOWNS = ["Čatež", "Škofja Loka", "Žalec"]


def text_of_towns(rows=60):
    lines = [f"{TOWNS[i % 3]},{i % 2}" for i in range(rows)]
    return "\n".join(["town,wet", *lines]) + "\n"


@pytest.mark.parametrize("packed", [False, True])
def test_one_bad_byte_changes_one_character(tmp_path, packed):
    data = text_of_towns().encode()
    place = data.index("Žalec".encode(), 200) + 3
    data = data[:place] + b"\xff" + data[place + 1 :]
    path = tmp_path / ("towns.csv.gz" if packed else "towns.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    line = data[:place].count(b"\n") + 1
    with warns(BytesReplaced, about=(f"byte {place}", f"line {line}")):
        table = cp.read(path)
    assert set(TOWNS) < set(table.schema["town"].states)
    (other,) = set(table.schema["town"].states) - set(TOWNS)
    assert "\ufffd" in other
    assert np.bincount(table.codes[0]).tolist()[table.schema["town"].find(other)] == 1


def test_other_encodings_are_found_as_before(tmp_path):
    path = tmp_path / "towns.csv"
    path.write_bytes(text_of_towns().encode("cp1252", errors="ignore"))
    assert "Škofja Loka" in cp.read(path).schema["town"].states
    path.write_bytes(text_of_towns().encode("cp1250"))
    assert set(cp.read(path, encoding="cp1250").schema["town"].states) == set(TOWNS)
    (tmp_path / "towns.tab").write_text(text_of_towns().replace(",", "\t"), encoding="utf-8")
    assert set(cp.read(tmp_path / "towns.tab").schema["town"].states) == set(TOWNS)


def penguins(rows=344, known=54):
    rng = np.random.default_rng(0)
    comments = np.full(rows, None, dtype=object)
    where = rng.choice(rows, known, replace=False)
    comments[where] = rng.choice(["Not enough blood for isotopes.", "Adult not sampled."], known)
    sex = rng.choice(["f", "m"], rows).astype(object)
    mass = np.where(sex == "f", 3800, 4500) + rng.normal(0, 300, rows).round()
    sex[:9] = None
    return pd.DataFrame({"comments": comments, "sex": sex, "mass": mass})


def test_text_that_most_rows_lack_is_not_invented(run, tmp_path):
    frame = penguins()
    table = cp.read(frame)
    assert table.notes[0] == (
        "Read comments as text in which a missing value is a state (290 of 344 rows)."
    )
    model = cp.StructureSearch().fit(frame).model_
    assert model.query("comments")[None] == pytest.approx(290 / 344, abs=0.01)
    done = model.impute(frame)
    assert done["comments"].isna().sum() == 290 and not done["sex"].isna().any()
    frame.to_csv(tmp_path / "p.csv", index=False)
    assert run("learn", "p.csv", "-o", "m.cp", "--bootstrap", "0")[0] == 0
    code, _, errors = run("impute", "m.cp", "p.csv", "-o", "full.csv")
    assert code == 0 and "Not imputed: comments" in errors
    assert pd.read_csv(tmp_path / "full.csv")["comments"].isna().sum() == 290


def test_other_columns_with_gaps_stay_as_they_are():
    frame = penguins(known=300).assign(flag=[True, None, None, None] * 86)
    schema = cp.read(frame).schema
    assert all(None not in v.states for v in schema)
    assert GAP_WORDS.isdisjoint(schema["comments"].states)
