"""The loop around every search: limits, interruption, checkpoints, progress."""

from __future__ import annotations

import io
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from counterpane.data import Schema
from counterpane.errors import FileFormatError, FitError, ParameterError, PathError
from counterpane.graphs import Dag
from counterpane.learners import driver as driver_module
from counterpane.learners.driver import Driver, Search, StoppedEarly
from counterpane.models import BayesianNetwork
from counterpane.progress import Control, Stopped, TextBar
from error_checks import raises, warns

SCHEMA = Schema.from_cards([2, 3])


class Walk(NamedTuple):
    """A state with every kind of value that may be saved."""

    values: np.ndarray
    counts: np.ndarray
    steps: int
    best: float
    note: str


class RandomWalk(Search[Walk]):
    """Adds a number from a generator that each step seeds anew; `before(step)` may interfere."""

    def __init__(self, length=10, before=None):
        self.length = length
        self.before = before

    def start(self):
        return Walk(np.zeros(3), np.zeros((2, 2), dtype=np.int64), 0, -np.inf, "fresh")

    def step(self, state, ctl):
        if self.before:
            self.before(state.steps)
        rng = np.random.default_rng(state.steps)
        values = state.values + rng.normal(size=3)
        counts = state.counts + rng.integers(0, 9, (2, 2))
        best = max(state.best, float(values.sum()))
        return Walk(values, counts, state.steps + 1, best, "walking"), {"best": np.float64(best)}

    def done(self, state):
        return state.steps >= self.length

    def size(self, state):
        return state.steps, self.length


def same(a, b):
    assert type(a) is type(b)
    for x, y in zip(a, b, strict=True):
        if isinstance(x, np.ndarray):
            assert x.dtype == y.dtype
            assert x.tobytes() == y.tobytes()
        else:
            assert type(x) is type(y)
            assert x == y


def without_times(trace):
    return [{k: v for k, v in record.items() if k != "seconds"} for record in trace]


def stop_at(step, error=KeyboardInterrupt):
    def before(now):
        if now == step:
            raise error

    return before


def interrupted(step, **options):
    """The outcome of a walk stopped inside a step."""
    with pytest.warns(StoppedEarly) as caught:
        outcome = Driver(SCHEMA, **options).run(RandomWalk(before=stop_at(step)), "walking")
    assert len(caught) == 1
    return outcome, str(caught[0].message)


# ---- to the end, and not ----------------------------------------------------------------------


def test_a_search_runs_to_its_end():
    outcome = Driver(SCHEMA).run(RandomWalk(), "walking")
    assert outcome.state.steps == 10
    assert outcome.stopped is None
    assert [record["step"] for record in outcome.trace] == list(range(10))
    seconds = [record["seconds"] for record in outcome.trace]
    assert seconds == sorted(seconds)
    assert outcome.trace[-1]["best"] == outcome.state.best


def test_a_search_that_is_done_takes_no_step():
    outcome = Driver(SCHEMA).run(RandomWalk(0), "walking")
    assert (outcome.state.steps, outcome.trace) == (0, [])


def test_the_time_limit_returns_the_best_so_far():
    slow = RandomWalk(10**9, before=lambda step: time.sleep(0.002))
    began = time.monotonic()
    with warns(StoppedEarly, about="walking"):
        outcome = Driver(SCHEMA, time_limit=0.05).run(slow, "walking")
    assert time.monotonic() - began < 5
    assert outcome.stopped == "time limit"
    assert outcome.state.steps == len(outcome.trace) > 0
    same(outcome.state, Driver(SCHEMA).run(RandomWalk(outcome.state.steps), "walking").state)


def test_a_step_may_stop_by_its_control():
    class Long(RandomWalk):
        def step(self, state, ctl):
            if state.steps == 2:
                while True:
                    ctl.report("inside a step", 0, None)
            return super().step(state, ctl)

    with warns(StoppedEarly, about="time limit"):
        outcome = Driver(SCHEMA, time_limit=0.05).run(Long(), "walking")
    assert outcome.state.steps == 2


@pytest.mark.parametrize("step", [0, 1, 7])
def test_an_interrupt_returns_the_last_whole_state(step):
    outcome, message = interrupted(step)
    assert outcome.stopped == "Ctrl-C"
    same(outcome.state, Driver(SCHEMA).run(RandomWalk(step), "walking").state)
    assert len(outcome.trace) == step
    steps = {0: "before its first step", 1: "after 1 step;"}.get(step, f"after {step} steps;")
    assert steps in message
    assert "pass checkpoint=" in message


def test_other_errors_pass_through(tmp_path):
    path = tmp_path / "walk.cp"
    with pytest.raises(ZeroDivisionError):
        Driver(SCHEMA, checkpoint=path).run(
            RandomWalk(before=stop_at(3, ZeroDivisionError)), "walking"
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_a_time_limit_is_positive(limit):
    with pytest.raises(ParameterError, match=f"time_limit={limit}"):
        Driver(SCHEMA, time_limit=limit).run(RandomWalk(), "walking")


# ---- checkpoints ---------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0, 1, 6, 9])
def test_a_stopped_search_goes_on_to_the_same_result(tmp_path, step):
    whole = Driver(SCHEMA).run(RandomWalk(), "walking")
    path = tmp_path / "walk.cp"
    options = {"fingerprint": {"data": "abc", "pair": (1, 2)}, "checkpoint": path}
    outcome, message = interrupted(step, **options)
    assert f"checkpoint={str(path)!r} to go on" in message
    assert [p.name for p in tmp_path.iterdir()] == ["walk.cp"]
    started = []
    resumed = Driver(SCHEMA, **options).run(RandomWalk(before=started.append), "walking")
    assert started == list(range(step, 10))
    same(resumed.state, whole.state)
    assert without_times(resumed.trace) == without_times(whole.trace)
    assert resumed.trace[:step] == outcome.trace
    assert list(tmp_path.iterdir()) == []


def test_a_search_may_be_stopped_again_and_again(tmp_path):
    path = tmp_path / "walk.cp"
    for step in (2, 2, 5, 8):
        interrupted(step, checkpoint=path)
    resumed = Driver(SCHEMA, checkpoint=str(path)).run(RandomWalk(), "walking")
    same(resumed.state, Driver(SCHEMA).run(RandomWalk(), "walking").state)
    assert not path.exists()


def test_a_long_search_saves_as_it_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(driver_module, "SAVE_EVERY", -1.0)
    path = tmp_path / "walk.cp"

    class Power(Exception):
        pass

    with pytest.raises(Power):  # no chance to save at the end
        Driver(SCHEMA, checkpoint=path).run(RandomWalk(before=stop_at(4, Power)), "walking")
    started = []
    resumed = Driver(SCHEMA, checkpoint=path).run(RandomWalk(before=started.append), "walking")
    assert started[0] == 4
    same(resumed.state, Driver(SCHEMA).run(RandomWalk(), "walking").state)


def test_a_search_without_a_checkpoint_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(driver_module, "SAVE_EVERY", -1.0)
    interrupted(3)
    Driver(SCHEMA).run(RandomWalk(), "walking")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("schema", "fingerprint"),
    [
        (SCHEMA, {"data": "other", "parameters": {"score": "bic"}}),
        (SCHEMA, {"data": "abc", "parameters": {"score": "aic"}}),
        (SCHEMA, {}),
        (Schema.from_cards([2, 4]), {"data": "abc", "parameters": {"score": "bic"}}),
        (Schema.from_cards([2, 3], "y"), {"data": "abc", "parameters": {"score": "bic"}}),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(tmp_path, schema, fingerprint):
    path = tmp_path / "walk.cp"
    known = {"data": "abc", "parameters": {"score": "bic"}}
    interrupted(3, fingerprint=known, checkpoint=path)
    before = path.read_bytes()
    with raises(FitError, about="walk.cp"):
        Driver(schema, fingerprint, checkpoint=path).run(RandomWalk(), "walking")
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "empty"])
def test_a_damaged_checkpoint_is_refused_and_left(tmp_path, damage):
    path = tmp_path / "walk.cp"
    interrupted(3, checkpoint=path)
    data = bytearray(path.read_bytes())
    if damage == "flipped":
        data[len(data) // 2] ^= 1
    damaged = {"cut": data[:-40], "flipped": data, "foreign": b"a text of mine\n", "empty": b""}
    path.write_bytes(damaged[damage])
    with raises(FileFormatError, about="walk.cp"):
        Driver(SCHEMA, checkpoint=path).run(RandomWalk(), "walking")
    assert path.read_bytes() == damaged[damage]


def test_a_model_is_no_checkpoint(tmp_path):
    path = tmp_path / "model.cp"
    BayesianNetwork(SCHEMA, Dag(2, []), [[0.5, 0.5], [0.2, 0.3, 0.5]]).save(path)
    before = path.read_bytes()
    with raises(FitError, about="model.cp"):
        Driver(SCHEMA, checkpoint=path).run(RandomWalk(), "walking")
    assert path.read_bytes() == before


def test_a_checkpoint_that_cannot_be_written_is_refused_at_the_start(tmp_path):
    started = []
    for path in (tmp_path, tmp_path / "no" / "walk.cp"):
        with raises(PathError, parameter="checkpoint"):
            Driver(SCHEMA, checkpoint=path).run(RandomWalk(before=started.append), "walking")
    assert started == []


# ---- progress ------------------------------------------------------------------------------------


def test_progress_is_reported_after_each_step():
    seen = []
    Driver(SCHEMA, progress=lambda *report: seen.append(report)).run(RandomWalk(4), "walking")
    assert seen == [("walking", k, 4) for k in (1, 2, 3, 4)]


def test_a_search_of_unknown_size_reports_too():
    class Endless(RandomWalk):
        size = Search.size

    seen: list[Any] = []
    Driver(SCHEMA, progress=lambda *report: seen.append(report)).run(Endless(2), "walking")
    assert seen == [("walking", 0.0, None)] * 2


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests move by hand."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    found = Clock()
    monkeypatch.setattr("counterpane.progress.time", found)
    return found


def test_a_bar_is_silent_where_there_is_no_terminal(clock, capsys):
    stream = io.StringIO()
    with TextBar(stream) as bar:
        for done in range(10):
            clock.now += 1
            bar("counting", done, 10)
    assert stream.getvalue() == ""
    Driver(SCHEMA, progress=True).run(RandomWalk(before=lambda step: None), "walking")
    assert capsys.readouterr() == ("", "")


def test_a_bar_draws_one_line_and_clears_it(clock):
    stream = Terminal()
    with TextBar(stream) as bar:
        clock.now += 2
        bar("counting", 250, 1000)
        drawn = stream.getvalue()
        clock.now += 2
        bar("counting", 9, None)
        assert stream.getvalue().endswith("\rcounting: 9" + " " * (len(drawn) - 12))
    assert drawn == "\rcounting: 250 of 1,000 (25 %), 125.0/s, 6 s left"
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith("\r")
    assert stream.getvalue().split("\r")[-2].strip() == ""


def test_a_bar_leaves_short_work_alone_and_draws_at_most_ten_times_a_second(clock):
    stream = Terminal()
    with TextBar(stream) as bar:
        clock.now += 0.4
        bar("counting", 1, 10)
        assert stream.getvalue() == ""
        clock.now += 0.2
        bar("counting", 2, 10)
        first = stream.getvalue()
        clock.now += 0.05
        bar("counting", 3, 10)
        assert stream.getvalue() == first != ""
        clock.now += 0.06
        bar("counting", 4, 10)
        assert "4 of 10" in stream.getvalue()
    silent = Terminal()
    with TextBar(silent):
        pass
    assert silent.getvalue() == ""


def test_a_bar_survives_work_that_has_not_begun(clock):
    stream = Terminal()
    with TextBar(stream) as bar:
        clock.now += 1
        bar("counting", 0, 10)
    assert "counting: 0 of 10 (0 %)" in stream.getvalue()


def test_the_driver_draws_a_bar_on_a_terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(TextBar.__init__, "__kwdefaults__", {"after": 0.0})
    Driver(SCHEMA, progress=True).run(RandomWalk(3), "walking")
    assert "\rwalking: 1 of 3" in stream.getvalue()


# ---- control -------------------------------------------------------------------------------------


def test_a_control_without_orders_lets_all_pass():
    control = Control()
    control.check()
    control.report("x", 1, 2)
    Control.within(None).check()
    Control.within(1000).check()


def test_a_control_reports_before_it_stops():
    seen = []
    control = Control(lambda *report: seen.append(report))
    control.cancel()
    with pytest.raises(Stopped) as caught:
        control.report("x", 1, 2)
    assert caught.value.reason == "cancelled"
    assert seen == [("x", 1, 2)]


def test_a_deadline_in_the_past_stops():
    with pytest.raises(Stopped) as caught:
        Control(deadline=time.monotonic()).check()
    assert caught.value.reason == "time limit"


def test_the_warning_points_at_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        class Fit:  # stands for a learner, between the driver and the user
            def fit(self):
                Driver(SCHEMA).run(RandomWalk(before=stop_at(1)), "walking")

        Fit().fit()
    line = Path(__file__).read_text().splitlines()[caught[0].lineno - 1]
    assert line.strip() == "Fit().fit()"
