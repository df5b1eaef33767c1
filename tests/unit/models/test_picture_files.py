"""Pictures as files: arrows only where the data decide a direction, names safe, files whole."""

from __future__ import annotations

import importlib.util
import os
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import counterpane as cp
from counterpane.data.schema import Schema, Variable
from counterpane.errors import MissingExtraError, ParameterError
from counterpane.graphs import Dag
from counterpane.models.record import LearnerRecord, LearningRecord
from counterpane.tools import pictures
from error_checks import raises

LEARNED = LearningRecord(LearnerRecord(text="HillClimb()"))

SVG = "{http://www.w3.org/2000/svg}"
ODD = ('say "hi"', "back\\slash", "<b> & co", "two\nlines")


def collider(record=None):
    """a → c ← b, which all equivalent networks share, and d — a, which they do not."""
    schema = Schema(Variable(name, ("no", "yes")) for name in ODD)
    dag = Dag(4, [(0, 2), (1, 2), (3, 0)])
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet([1, 1], (2,) * len(dag.parents(i))) for i in range(4)]
    return cp.BayesianNetwork(schema, dag, tables, record=record)


def dot_edges(path):
    """{(a, b): whether it has a head} of a DOT file."""
    name = r'"((?:[^"\\]|\\.)*)"'
    found = re.findall(rf"^  {name} -> {name}( \[dir=none\])?;$", path.read_text(), re.M)
    plain = [(a.replace("\\", ""), b.replace("\\", ""), not none) for a, b, none in found]
    return {(a, b): arrow for a, b, arrow in plain}


def test_dot_has_arrows_where_the_class_has(tmp_path):
    collider(LEARNED).save(tmp_path / "net.dot")
    edges = dot_edges(tmp_path / "net.dot")
    assert len(edges) == 3
    assert edges['say "hi"', "<b> & co"] and edges["backslash", "<b> & co"]
    assert not edges["two lines", 'say "hi"']


def test_a_network_that_somebody_wrote_keeps_its_arrows(tmp_path):
    collider().save(tmp_path / "net.dot")
    assert all(dot_edges(tmp_path / "net.dot").values())


def test_svg_is_a_page_with_all_names_and_one_head_for_each_arrow(tmp_path):
    collider(LEARNED).save(tmp_path / "net.svg")
    root = ET.parse(tmp_path / "net.svg").getroot()
    assert {text.text for text in root.iter(f"{SVG}text")} == set(ODD)
    heads = [p for p in root.iter(f"{SVG}path") if p.get("fill") == "currentColor"]
    lines = [p for p in root.iter(f"{SVG}path") if p.get("fill") == "none"]
    assert (len(heads), len(lines)) == (2, 3)
    assert float(root.get("width")) > 50 and float(root.get("height")) > 50


@pytest.mark.parametrize("suffix", [".dot", ".svg", ".png"])
@pytest.mark.parametrize(
    "make",
    [
        lambda table: cp.ChowLiu().fit(table).model_,
        lambda table: cp.DependencyNetworkLearner().fit(table).model_,
        lambda table: cp.to_markov_network(cp.DependencyNetworkLearner().fit(table).model_),
        lambda table: cp.InteractionClassifier().fit(table, "survived").model_,
    ],
    ids=["network", "dependency", "markov", "interactions"],
)
def test_every_kind_of_model_has_a_picture(make, suffix, tmp_path):
    make(cp.load_dataset("titanic")).save(tmp_path / f"m{suffix}")
    start = {".dot": b"digraph {", ".svg": b"<svg ", ".png": b"\x89PNG"}[suffix]
    assert (tmp_path / f"m{suffix}").read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [f"m{suffix}"]


def test_other_suffixes_and_a_missing_library_are_told(tmp_path, monkeypatch):
    with raises(ParameterError, about="'.gif'"):
        collider().save(tmp_path / "net.gif")
    real = importlib.util.find_spec
    monkeypatch.setattr(
        pictures, "find_spec", lambda name: None if name == "matplotlib" else real(name)
    )
    with raises(MissingExtraError, about="counterpane[plot]"):
        collider().save(tmp_path / "net.png")
    assert os.listdir(tmp_path) == []


def test_the_command_writes_pictures(run):
    run("learn", "titanic", "-o", "m.cp", "-q")
    for suffix in ("dot", "svg", "png"):
        code, out, _ = run("convert", "m.cp", f"m.{suffix}")
        assert (code, out) == (0, f"Saved to m.{suffix}\n")
    assert run("convert", "m.cp")[0] == 2
