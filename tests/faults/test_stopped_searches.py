"""A search that is stopped early claims nothing, loses nothing, and goes on to the same end."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.counts import MemoryCounts
from counterpane.errors import ParameterError
from counterpane.learn.bayesian.hill_climb import ClimbSearch
from counterpane.learn.bayesian.moves import Moves, make_limits
from counterpane.progress import Control
from counterpane.scores import as_score
from counterpane.scores.row_cache import RowCache


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


def make_moves(seed: int) -> Moves:
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 2, 500)]
    for _ in range(11):
        near = codes[rng.integers(len(codes))]
        codes.append(np.where(rng.random(500) < 0.8, near, rng.integers(0, 2, 500)))
    table = cp.Table(cp.Schema.from_cards([2] * len(codes)), codes)
    limits = make_limits(table.schema, (), (), None)
    return Moves(RowCache(MemoryCounts(table), as_score("bic")), limits)


@pytest.mark.parametrize("stops", range(1, 6))
def test_a_climb_that_is_stopped_keeps_its_moves_and_goes_on_to_the_same_end(stops) -> None:
    def search(moves):
        options = {"tabu": 4, "restarts": 2, "perturb": 3, "seed": 0}
        return ClimbSearch(moves, np.zeros_like(moves.limits.allowed), **options)

    plain = search(make_moves(0))
    expected = plain.start()
    while not plain.done(expected):
        expected, _ = plain.step(expected, Control())
    stopped = search(make_moves(0))
    state, fill, calls = stopped.start(), stopped.moves.cache.fill, [0]
    while not stopped.done(state):
        ctl = Control()

        def counting(children, families, ctl=ctl):
            calls[0] += 1
            if calls[0] % stops == 0 and calls[0] < 40:
                ctl.cancel()
            return fill(children, families)

        stopped.moves.cache.fill = counting
        last = state
        state, _ = stopped.step(state, ctl)
        assert state.score >= last.score
    assert calls[0] >= stops
    assert (state.best == expected.best).all()
    assert state.score == expected.score


def test_k2_refuses_a_start() -> None:
    with pytest.raises(ParameterError, match="K2Search has no start"):
        cp.K2Search(start="chow-liu").fit(cp.load_dataset("titanic"))
