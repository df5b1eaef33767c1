"""What a page infers with: clique trees, their limit, and the files of the page."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import counterpane as cp
from counterpane.graphs import Dag
from counterpane.inference import CliqueTree
from counterpane.report.engines import EngineLimits, engine_of
from counterpane.report.packing import packed
from counterpane.report.page import ENGINES, page_modules, page_script, page_source

PAGE_BYTES = 120_000


@pytest.mark.parametrize("seed", range(30))
def test_clique_trees_hold_all_factors_and_are_connected(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    scopes = [
        tuple(rng.choice(n, min(n, int(rng.integers(1, 4))), replace=False).tolist())
        for _ in range(n)
    ] + [(v,) for v in range(n)]
    tree = CliqueTree(scopes, np.full(n, 2))
    cliques, parents = tree.cliques, tree.parents
    assert all(set(s) <= set(cliques[k]) for s, k in zip(scopes, tree.owners, strict=True))
    assert parents[0] == -1 and all(0 <= p < k for k, p in enumerate(parents) if k)
    for scope in scopes:
        assert any(set(scope) <= set(clique) for clique in cliques)
    for v in range(n):  # the cliques of a variable are connected: one of them has none above
        tops = [
            k
            for k, clique in enumerate(cliques)
            if v in clique and (k == 0 or v not in cliques[parents[k]])
        ]
        assert len(tops) == 1
    for clique, p in zip(cliques[1:], parents[1:], strict=True):
        shared = [v for v in cliques[p] if v in clique]
        assert list(clique[len(clique) - len(shared) :]) == shared


def test_page_answers_for_a_column_with_one_state() -> None:
    schema = cp.Schema([cp.Variable("a", ("x",)), cp.Variable("b", ("n", "y"))])
    network = cp.BayesianNetwork(schema, Dag(2, [(0, 1)]), [[1.0], [[0.25, 0.75]]])
    spec = engine_of(network)
    cliques = np.frombuffer(base64.b64decode(spec["cliques"]["b"]), "<i4")
    assert spec["kind"] == "tree" and sorted(cliques.tolist()) == [0, 1]


def test_a_model_beyond_the_limit_keeps_its_prior_bars() -> None:
    model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    spec = engine_of(model, EngineLimits(tree_cells=8))
    assert spec["kind"] == "still"
    assert "8 table cells" in spec["reason"] and "counterpane query" in spec["reason"]
    for name, p in zip(model.schema.names, spec["marginals"], strict=True):
        shares = np.frombuffer(base64.b64decode(p["b"]), "<f8")
        np.testing.assert_allclose(shares, model.query(name).probabilities, atol=0.02)


def test_a_classifier_without_rows_says_why_it_stands_still() -> None:
    learner = cp.InteractionClassifier(keep_rows=False)
    spec = engine_of(learner.fit(cp.load_dataset("titanic"), "survived").model_)
    assert spec["kind"] == "still" and "keep_rows=True" in spec["reason"]


def test_arrays_are_little_endian() -> None:
    assert packed(np.array([1.5], dtype=">f8")) == packed([1.5])
    assert packed(np.array([True, False]).astype(np.uint8))["t"] == "u1"


def all_modules() -> set[str]:
    return {name for kind in ENGINES for name in page_modules(kind, report=True)} | {
        name for kind in ENGINES for name in page_modules(kind, report=False)
    }


@pytest.mark.parametrize("kind", list(ENGINES))
def test_page_code_is_small_and_in_short_files(kind: str) -> None:
    sources = [page_source(name) for name in page_modules(kind, report=False)]
    assert all(len(source.splitlines()) <= 500 for source in sources)
    script = page_script(kind, report=False)
    rest = [page_source(name) for name in ("page.html", "page.css")]
    assert sum(len(source.encode()) for source in [script, *rest]) < PAGE_BYTES


@pytest.mark.parametrize("kind", list(ENGINES))
def test_page_modules_follow_what_they_import_and_leave_nothing_behind(kind: str) -> None:
    modules = page_modules(kind, report=True)
    assert modules[0] == "engines/arrays.js" and modules[-1] == "report/main.js"
    assert ("engines/tree.js" in modules) == (kind in ("tree", "mixture"))
    script = page_script(kind, report=True)
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)


def test_each_script_is_on_some_page() -> None:
    folder = Path(str(files("counterpane.report"))) / "web"
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.js")} == all_modules()


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_scripts_pass_their_own_tests() -> None:
    """The engines answer as Python does; see tests/web."""
    done = subprocess.run(
        ["node", "--test", "tests/web/"],
        cwd=Path(__file__).parents[3],
        env=os.environ | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_explorer_is_one_file_that_loads_nothing(tmp_path: Path) -> None:
    model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    page = Path(model.explore(tmp_path / "x.html")).read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None and "unsafe" not in policy[1]
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert not re.search(r"<link|@import|url\(|\bfetch\(|XMLHttpRequest|\ssrc=", page)
    assert "eval(" not in page and "innerHTML" not in page
    content = json.loads(page.split('type="application/json">')[1].split("</script>")[0])
    assert content["engine"]["kind"] == "tree" and "measures" not in content
    assert model.explore(tmp_path / "y.html").read_text("utf-8") == page


def test_a_notebook_gets_a_frame() -> None:
    model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    frame = model.explore()._repr_html_()
    assert frame.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert "<script" not in frame and "allow-same-origin" not in frame


def test_a_wheel_has_the_files_of_the_page() -> None:
    """By the rules of the build backend, which packs what git does not ignore."""
    pathutil = pytest.importorskip("scikit_build_core.build._pathutil")
    root = Path(__file__).parents[3]
    packed_files = pathutil.packages_to_file_mapping(
        packages={"counterpane": str(root / "src" / "counterpane")},
        platlib_dir=Path("."),
        include=(),
        src_exclude=(),
        target_exclude=(),
        build_dir="",
        mode="default",
    )
    names = {Path(path).relative_to("counterpane").as_posix() for path in packed_files.values()}
    page = {"page.html", "page.css"} | all_modules()
    assert names >= {f"report/web/{name}" for name in page}


def test_trees_of_states_are_tables_in_a_page() -> None:
    """Some hundred trees over 4 × 2 × 2 cells take no more room than these cells."""
    model = (
        cp.InteractionClassifier(parts="trees").fit(cp.load_dataset("titanic"), "survived").model_
    )
    (member,) = engine_of(model)["predictor"]["members"]
    assert member["kind"] == "faces"
    assert len(json.dumps(member)) < 5_000


def test_trees_of_numbers_list_each_set_of_bins_once() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    frame = {f"x{c}": x[:, c] for c in range(3)} | {"y": (x[:, 0] * x[:, 1] > 0).astype(int)}
    model = cp.InteractionClassifier(parts="trees").fit(frame, "y").model_
    (member,) = engine_of(model)["predictor"]["members"]
    assert member["kind"] == "boosted"
    sets = np.frombuffer(base64.b64decode(member["sets"]["b"]), "<u4").reshape(-1, 8)
    assert len(np.unique(sets, axis=0)) == len(sets)
    assert len(json.dumps(member)) < model.members[0].trees.goes_first.nbytes / 3


def test_a_page_of_very_many_columns_stands_still() -> None:
    limits = EngineLimits(planned=3, drawn_cells=400)
    spec = engine_of(cp.ChowLiu().fit(cp.load_dataset("titanic")).model_, limits)
    assert spec["kind"] == "still"
    assert "more than 3 columns" in spec["reason"]


def test_a_classifier_of_very_many_numbers_stands_still() -> None:
    model = cp.InteractionClassifier().fit(cp.load_dataset("titanic"), "survived").model_
    assert engine_of(model)["kind"] == "rows"
    spec = engine_of(model, EngineLimits(class_numbers=8))
    assert spec["kind"] == "still"
    assert "a page may hold 8" in spec["reason"] and "counterpane query" in spec["reason"]
    sex = np.frombuffer(base64.b64decode(spec["marginals"][model.schema.index("sex")]["b"]), "<f8")
    assert sex.max() == pytest.approx(1731 / 2201)
    assert spec["marginals"][-1] is None
