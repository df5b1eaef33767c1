"""A search that is stopped early claims nothing, loses nothing, and goes on to the same end."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import counterpane as cp
from counterpane.counts import MemoryCounts
from counterpane.errors import ParameterError
from counterpane.graphs import Dag
from counterpane.learners.bayesian.constraints import no_limits
from counterpane.learners.bayesian.engine import SearchEngine, lists_of
from counterpane.learners.bayesian.hill_climb import ClimbSearch
from counterpane.learners.bayesian.structure_search import StagedSearch
from counterpane.progress import Control
from counterpane.scores import as_score
from counterpane.scores.row_cache import RowCache
from error_checks import raises


@pytest.mark.parametrize("method", ["chow-liu", "gsimn", "hybrid", "markov-network"])
def test_a_search_without_result_keeps_the_older_model(run, tmp_path, method) -> None:
    assert run("learn", "titanic", "--method", method, "-o", "m.cp")[0] == 0
    good = (tmp_path / "m.cp").read_bytes()
    words = ("learn", "titanic", "--method", method, "--time-limit", "1e-9")
    code, out, err = run(*words, "-o", "m.cp")
    assert code == 2
    assert "stopped before it found anything; 'm.cp' stays as it was" in err
    assert (tmp_path / "m.cp").read_bytes() == good
    code, out, err = run(*words, "-o", "new.cp")
    assert code == 0
    assert "No edges so far: the search was stopped before it found any." in out
    assert "improves the score" not in out
    assert "beside nothing" not in out


def make_engine(seed: int) -> SearchEngine:
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 2, 500)]
    for _ in range(11):
        near = codes[rng.integers(len(codes))]
        codes.append(np.where(rng.random(500) < 0.8, near, rng.integers(0, 2, 500)))
    table = cp.Table(cp.Schema.from_cards([2] * len(codes)), codes)
    return SearchEngine(RowCache(MemoryCounts(table), as_score("bic")), no_limits(len(codes)))


def nothing(engine: SearchEngine):
    return lists_of(Dag(engine.n, []))


def run_to_end(search, stops: int):
    """The last state of a search that is stopped at each `stops`-th scan of the table, 40 times."""
    state, fill, calls = search.start(), search.engine.cache.fill, [0]
    while not search.done(state):
        ctl = Control()

        def counting(children, families, ctl=ctl):
            calls[0] += 1
            if stops and calls[0] % stops == 0 and calls[0] < 40:
                ctl.cancel()
            return fill(children, families)

        search.engine.cache.fill = counting
        last = state
        state, _ = search.step(state, ctl)
        assert stops or state.score >= last.score
    assert calls[0] >= stops
    return state


def climb(engine):
    options = {"tabu": 4, "restarts": 2, "perturb": 3, "seed": 0}
    return ClimbSearch(engine, nothing(engine), **options)


def staged(effort, classes):
    def make(engine):
        return StagedSearch(engine, nothing(engine), effort, classes=classes)

    return make


SEARCHES = {
    "climb": climb,
    **{f"{e}-{c}": staged(e, c) for e in ("fast", "default", "thorough") for c in (True, False)},
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("stops", range(1, 6))
def test_a_search_that_is_stopped_goes_on_to_the_same_end(name, stops) -> None:
    expected = run_to_end(SEARCHES[name](make_engine(0)), 0)
    state = run_to_end(SEARCHES[name](make_engine(0)), stops)
    assert (state.best == expected.best).all()
    assert state.score == expected.score


@pytest.mark.parametrize("effort", ["default", "thorough"])
def test_a_fit_that_is_stopped_in_a_stage_goes_on_from_its_checkpoint(tmp_path, effort) -> None:
    rng = np.random.default_rng(3)
    shared = rng.integers(0, 3, 400)
    codes = [np.where(rng.random(400) < 0.6, shared, rng.integers(0, 3, 400)) for _ in range(14)]
    table = cp.Table(cp.Schema.from_cards([3] * 14), codes)
    expected = cp.StructureSearch(effort=effort).fit(table)
    path, stops = tmp_path / "c.cp", 0
    for limit in (1e-9, *np.geomspace(1e-4, 2.0, 40).tolist(), 600.0):
        learner = cp.StructureSearch(effort=effort, time_limit=limit, checkpoint=path)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learner.fit(table)
        assert learner.score_ <= expected.score_ + 1e-9
        if not any(issubclass(w.category, cp.StoppedEarly) for w in caught):
            break
        stops += 1
    assert stops
    assert not path.exists()
    assert learner.model_.dag == expected.model_.dag
    assert learner.score_ == expected.score_


def test_k2_refuses_a_start() -> None:
    with raises(ParameterError, about="K2Search"):
        cp.K2Search(start="chow-liu").fit(cp.load_dataset("titanic"))
