"""Markov and dependency networks, links, scores and samples on the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.models.typed_values import plain
from counterpane.workflow import choose


@pytest.fixture
def links(tmp_path: Path) -> Path:
    """Two kinds of readers; names with a comma, spaces and umlauts."""
    rng = np.random.default_rng(0)
    items = ["Öl", "salt, sea", "tea", "jam", "axe", "saw", "nail", "rope"]
    chance = np.where((np.arange(8) < 4)[None, :] == (rng.random(80) < 0.5)[:, None], 0.8, 0.05)
    users, chosen = np.nonzero(rng.random((80, 8)) < chance)
    path = tmp_path / "links.csv"
    frame = pd.DataFrame({"who": users, "what": [items[j] for j in chosen], "when": 1})
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("method", choose.FIELDS)
def test_fields_are_learned_shown_and_saved(run, tmp_path: Path, method: str) -> None:
    code, out, _ = run("learn", "titanic", "--method", method, "-o", "m.cp")
    assert code == 0
    assert "2,201 rows × 4 columns" in out
    assert "counterpane query m.cp" in out
    model = cp.load(tmp_path / "m.cp")
    assert model.schema.names == cp.load_dataset("titanic").schema.names
    code, out, _ = run("learn", "titanic", "--method", method, "--json", "-o", "m.cp")
    facts = json.loads(out)
    assert facts["method"] == method
    assert len(facts["edges"]) == len({frozenset(edge) for edge in model.graph.edges})
    assert ("n_tests" in facts) == (
        method in ("pfmn", "particle-filter", "gsimn", "gsmn", "pc", "fci")
    )
    code, out, _ = run("query", "m.cp", "survived", "-g", "sex=female", "-g", "age=adult",
                       "-g", "status=crew", "--json")  # fmt: skip
    assert code == 0
    assert sum(c["probability"] for c in json.loads(out)["cells"]) == pytest.approx(1.0)


def test_the_target_is_shown_first(run) -> None:
    _, out, _ = run("learn", "titanic", "--method", "dn-tree", "--target", "survived")
    assert out.split()[0] == "survived"
    assert "sex" in out.splitlines()[0]
    code, _, err = run("learn", "titanic", "--method", "dn-tree", "--target", "surwived")
    assert code == 2
    assert "survived" in err


def test_convert_to_a_markov_network(run, tmp_path: Path) -> None:
    run("learn", "titanic", "--method", "dn-tree", "-o", "t.cp")
    code, out, _ = run("convert", "t.cp", "--to", "mn", "--data", "titanic")
    assert (code, "t-mn.cp" in out) == (0, True)
    made = cp.load(tmp_path / "t-mn.cp")
    wanted = cp.to_markov_network(cp.load(tmp_path / "t.cp"), data=cp.load_dataset("titanic"))
    table = cp.load_dataset("titanic")
    ours, theirs = (cp.evaluate.pll(m, table).mean for m in (made, wanted))
    assert ours == pytest.approx(theirs)
    assert run("convert", "t.cp", "t.mn", "--to", "mn", "--orders", "linear")[0] == 0
    assert cp.load(tmp_path / "t.mn").kind == "markov_network"
    for words, told in (
        (("convert", "t.cp"), "no output file is named"),
        (("convert", "t.cp", "x.cp", "--to", "bn"), "'bn'"),
        (("convert", "t.cp", "--to", "mn", "--orders", "some"), "'some'"),
        (("convert", "t-mn.cp", "--to", "mn"), "cannot be converted"),
    ):
        code, _, err = run(*words)
        assert code == 2
        assert told in " ".join(err.split())


@pytest.mark.parametrize("metric", ["pll", "normalized-pll", "loglik", "cmll"])
def test_score(run, tmp_path: Path, metric: str) -> None:
    run("learn", "titanic", "--method", "chow-liu", "-o", "m.cp")
    code, out, _ = run("score", "m.cp", "titanic", "--metric", metric, "--json")
    facts = json.loads(out)
    model, table = cp.load(tmp_path / "m.cp"), cp.load_dataset("titanic")
    name = {"normalized-pll": "normalized_pll", "loglik": "log_likelihood"}.get(metric, metric)
    found = getattr(cp.evaluate, name)(model, table)
    assert (code, facts["rows"]) == (0, 2201)
    assert facts["mean"] == pytest.approx(found.mean)
    assert facts["standard_error"] == pytest.approx(found.standard_error)
    out = run("score", "m.cp", "titanic", "--metric", metric)[1]
    assert f"log-likelihood {found.mean:.6f} ±" in out
    assert f"nats per {'cell' if metric == 'normalized-pll' else 'row'}, 2,201 rows" in out


def test_a_score_that_is_not_known_or_not_there(run) -> None:
    run("learn", "titanic", "--method", "dn-tree", "-o", "m.cp")
    code, _, err = run("score", "m.cp", "titanic", "--metric", "likelihood")
    assert code == 2
    assert "loglik" in err
    code, _, err = run("score", "m.cp", "titanic", "--metric", "loglik")
    assert code == 2
    assert "convert" in err


def test_sample(run, tmp_path: Path) -> None:
    run("learn", "titanic", "--method", "chow-liu", "-o", "m.cp")
    code, out, _ = run("sample", "m.cp", "-n", "40", "--seed", "1", "-g", "sex=female")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (code, len(rows)) == (0, 40)
    assert {row["sex"] for row in rows} == {"female"}
    assert run("sample", "m.cp", "-n", "40", "--seed", "1", "-g", "sex=female")[1] == out
    code, told, _ = run("sample", "m.cp", "-n", "40", "--seed", "1", "-g", "sex=female",
                        "-o", "rows.csv")  # fmt: skip
    assert "40 rows saved to rows.csv" in told
    assert (tmp_path / "rows.csv").read_text() == out


def test_links_are_learned_and_ranked(run, links: Path) -> None:
    code, out, _ = run("learn", "links.csv", "--user", "who", "--item", "what")
    assert code == 0
    assert "counterpane rank links.cp" in out
    code, out, _ = run("rank", "links.cp", "--chosen", "tea, jam", "--top", "2", "--json")
    facts = json.loads(out)
    assert facts["chosen"] == ["tea", "jam"]
    assert len(facts["items"]) == 2
    assert facts["items"][0]["item"] in {"Öl", "salt, sea"}
    _, out, _ = run("rank", "links.cp", "-c", "salt, sea", "-c", "tea", "--top", "1")
    assert "after salt, sea, tea" in out
    assert "Öl" in out or "jam" in out
    assert "with nothing chosen yet" in run("rank", "links.cp")[1]
    code, _, err = run("rank", "links.cp", "--chosen", "coffee")
    assert code == 2
    assert "'coffee'" in err
    run("learn", "titanic", "-o", "t.cp")
    code, _, err = run("rank", "t.cp", "--chosen", "crew")
    assert code == 2
    assert "two states" in err


def test_the_ranker_of_links_is_chosen_and_compared(run, links: Path) -> None:
    code, out, _ = run("learn", "links.csv", "--user", "who", "--item", "what", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["ranker"] == facts["candidates"][0]["ranker"]
    assert plain(cp.load("links.cp").record.candidates) == facts["candidates"]
    code, out, _ = run("compare", "links.csv", "--user", "who", "--item", "what")
    assert code == 0
    assert "mean reciprocal rank of left-out links" in out
    assert "popularity" in out
    assert "item-cosine" in out


def test_a_classifier_ends_with_held_out_measures(run) -> None:
    code, out, _ = run("learn", "titanic", "--target", "survived", "-o", "s.cp")
    assert code == 0
    assert "On 2,201 rows held out in 5 folds" in out
    assert "calibration of P(yes)" in out
    for method in ("interaction", "tan"):
        _, out, _ = run("learn", "titanic", "--target", "survived", "-o", "s.cp", "--json",
                        "--method", method)  # fmt: skip
        held_out = json.loads(out)["held_out"]
        assert plain(cp.load("s.cp").record.measures) == held_out
        assert held_out["log_loss"]["value"] < held_out["prior"]["log_loss"] - 0.1
        assert 0.7 < held_out["auc"]["value"] < 0.8
        assert held_out["rows"] == sum(b["rows"] for b in held_out["calibration"]) == 2201


def test_compare_shows_errors_and_outside_classifiers(run) -> None:
    _, out, _ = run("compare", "titanic", "--target", "survived", "--method", "tan", "--folds", "2")
    assert all(name in out for name in ("logistic-regression", "random-forest", "class-shares"))
    assert "±" in out
    assert "AUC" in out
    _, out, _ = run("compare", "titanic", "--target", "survived", "--method", "tan", "--folds", "2",
                    "--no-baselines")  # fmt: skip
    assert "random-forest" not in out


@pytest.mark.slow
def test_folds_that_chose_the_structure_do_not_measure_small_tables(run, tmp_path: Path) -> None:
    excess = []
    for seed in (102, 105, 110):
        rng = np.random.default_rng(seed)
        columns = [rng.choice(list("abcdef")[: 2 + i % 5], 500) for i in range(8)]
        columns += [rng.normal(size=500).round(3), rng.choice(["yes", "no"], 500, p=[0.7, 0.3])]
        lines = [
            "n0,n1,n2,n3,n4,n5,n6,n7,u,y",
            *(",".join(map(str, r)) for r in zip(*columns, strict=True)),
        ]
        (tmp_path / "noise.csv").write_text("\n".join(lines) + "\n")
        _, out, _ = run("learn", "noise.csv", "--target", "y", "--json")
        held_out = json.loads(out)["held_out"]
        assert held_out["how"] == "learned again without them"
        excess.append((held_out["auc"]["value"] - 0.5) / max(held_out["auc"]["error"], 0.01))
    assert np.mean(excess) < 1.0  # nothing can be predicted; the folds of the choice say 2 errors


@pytest.mark.parametrize(
    ("method", "shown", "legend"),
    [
        ("pc", " sex — survived|survived — sex", "tests leave the direction open"),
        ("fci", "sex o–o survived", "tests leave this end open"),
    ],
)
def test_edges_by_tests_are_listed_with_their_marks(run, method, shown, legend) -> None:
    _, out, _ = run("learn", "titanic", "--method", method, "-o", "m.cp")
    assert any(words.strip() in out for words in shown.split("|"))
    assert legend in " ".join(out.split())
    assert "beside" not in out
    if method == "fci":
        code, _, err = run("effect", "m.cp", "sex", "survived")
        assert code == 2
        assert "FCI allows for common causes that are missing" in " ".join(err.split())
