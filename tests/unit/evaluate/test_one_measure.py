"""A model and a split have one held-out log-loss: terminal, file, page, JSON, Markdown, compare."""

from __future__ import annotations

import json
import re

import counterpane as cp
from counterpane.evaluate.measures import calibration_bins
from report_page import content, report

LOSS = re.compile(r"log-loss(?! of held-out rows by)[^.\d]*(\d\.\d{3,})")  # "by": a difference
COMMANDS = ("learn", "titanic", "--target", "survived", "-o", "s.cp")


def page_losses(found: dict) -> set[float]:
    """All log-losses on a page but for those of the class shares: figures and sentences."""
    lines = [line for line in found["measures"]["lines"] if line[0] == "log-loss"]
    losses = {x for line in lines for x in line[2:4] if x is not None}
    texts = [*found["overview"], *(text for _, text in found["learned"])]
    return losses | {float(x) for text in texts for x in LOSS.findall(text)}


def test_one_held_out_log_loss_for_one_model_and_split(run, tmp_path) -> None:
    out = run(*COMMANDS)[1]
    facts = json.loads(run(*COMMANDS, "--json")[1])
    run("report", "s.cp", "--data", "titanic", "-o", "with.html")
    run("report", "s.cp", "-o", "without.html")
    compared = json.loads(
        run("compare", "titanic", "--target", "survived", "--method", "interaction",
            "--no-baselines", "--json", "--markdown", "c.md")[1]
    )  # fmt: skip
    titanic = cp.load_dataset("titanic")
    learner = cp.InteractionClassifier().fit(titanic, "survived")
    losses = {float(x) for x in LOSS.findall(out)} | {
        facts["held_out"]["log_loss"]["value"],
        compared["learners"][0]["log_loss"],
        float(re.search(r"\| interaction \| (0\.\d+)", (tmp_path / "c.md").read_text())[1]),
        cp.evaluate.held_out_measures(learner, titanic, "survived").log_loss.value,
        *page_losses(content(tmp_path / "with.html")),
        *page_losses(content(tmp_path / "without.html")),
        *page_losses(report(tmp_path, learner, titanic)),
    }
    assert {round(loss, 3) for loss in losses} == {0.484}
    assert len({round(loss, 9) for loss in losses if loss != round(loss, 4)}) == 1


def test_page_measures_model_itself_on_other_rows(run, tmp_path) -> None:
    run(*COMMANDS)
    titanic = cp.load_dataset("titanic")
    found = report(tmp_path, tmp_path / "s.cp", titanic.take(range(700)))["measures"]
    fresh, itself = next(line[2:4] for line in found["lines"] if line[0] == "log-loss")
    assert abs(fresh - 0.484) < 0.001 and abs(itself - fresh) > 0.01


def test_calibration_is_one_function(run, tmp_path) -> None:
    out = json.loads(run(*COMMANDS, "--json")[1])["held_out"]
    run("report", "s.cp", "-o", "r.html")
    shown = content(tmp_path / "r.html")["measures"]["calibration"][1]
    stored = [[b["rows"], b["predicted"], b["observed"]] for b in out["calibration"]]
    assert shown == [[int(n), round(p, 4), round(o, 4)] for n, p, o in stored]
    wide = calibration_bins(cp.load_dataset("titanic").codes[0] / 3, titanic_classes(), bins=4,
                            widths="equal")  # fmt: skip
    assert sum(each.rows for each in wide) == 2201


def titanic_classes():
    return cp.load_dataset("titanic").codes[3].astype(float)
