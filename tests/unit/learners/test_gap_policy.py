"""What missing="auto" chooses, and that the choice is the right one."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.learners import gap_policy
from counterpane.learners.bayesian import structural_em
from counterpane.learners.bayesian.structural_em import EMEffort
from counterpane.learners.gap_policy import observed_log_prob


def chain(n: int, seed: int) -> np.ndarray:
    """Codes of a → b → c → d and a coin e, two states each."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, 2, n)]
    for _ in range(3):
        rows.append(rows[-1] ^ (rng.random(n) < 0.15))
    return np.array([*rows, rng.integers(0, 2, n)])


def table_of(codes: np.ndarray, gaps: np.ndarray) -> cp.Table:
    names = ("a", "b", "c", "d", "e")
    schema = cp.Schema(cp.Variable(name, ("no", "yes")) for name in names)
    return cp.Table(schema, np.where(gaps, 2, codes))


def completely_at_random(codes, rng):
    return rng.random(codes.shape) < 0.15


def by_another_column(codes, rng):
    """b and d are lost more often where a is 1; a is never lost."""
    gaps = np.zeros(codes.shape, dtype=bool)
    for v in (1, 3):
        gaps[v] = rng.random(codes.shape[1]) < np.where(codes[0] == 1, 0.4, 0.1)
    return gaps


def not_applicable(codes, rng):
    """c has a value only where a is 1."""
    gaps = np.zeros(codes.shape, dtype=bool)
    gaps[2] = codes[0] == 0
    return gaps


def nats(learner: cp.StructureSearch, test: cp.Table) -> float:
    """Nats of a shown cell, gaps summed out."""
    return -float(observed_log_prob(learner.model_, test).sum()) / (test.codes < 2).sum()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("mechanism", "policy"),
    [(completely_at_random, "em"), (by_another_column, "em"), (not_applicable, "state")],
)
def test_the_choice_is_that_of_the_best_held_out_cells(mechanism, policy, seed):
    rng = np.random.default_rng([seed, 7])
    codes, unseen = chain(1500, seed), chain(4000, 100 + seed)
    table = table_of(codes, mechanism(codes, rng))
    lost = mechanism(unseen, rng) if policy == "state" else np.zeros(unseen.shape, dtype=bool)
    test = table_of(unseen, lost)  # where a value was lost, a test row still has it
    chosen = cp.StructureSearch().fit(table)
    assert chosen.missing_ == policy
    best = min(
        nats(cp.StructureSearch(missing=other).fit(table), test) for other in ("state", "em")
    )
    assert nats(chosen, test) <= best + 0.002
    states = [v.name for v in chosen.model_.schema if None in v.states]
    assert states == (["c"] if policy == "state" else [])


def test_states_and_em_side_by_side():
    """A column that does not always apply, among others that lose cells at random."""
    rng = np.random.default_rng(3)
    codes = chain(2000, 3)
    gaps = not_applicable(codes, rng)
    gaps[[1, 3, 4]] = rng.random((3, 2000)) < 0.1
    learner = cp.StructureSearch().fit(table_of(codes, gaps))
    assert learner.missing_ == "em"
    assert [v.name for v in learner.model_.schema if None in v.states] == ["c"]
    note = learner.missing_note_
    assert note.startswith(f"Missing cells: {gaps.sum():,} in 4 columns (b, c, d, e); kept as the ")
    assert "state (missing) in c, the others are estimated by EM: it depends on other" in note
    assert "(c on a), and the state predicts held-out cells better than EM" in note
    # In each row with a = no the column does not apply: the network knows.
    answer = learner.model_.query("c", {"a": "no"})
    assert answer["(missing)"] == answer[None] > 0.99


def test_a_tick_box_keeps_its_state():
    rng = np.random.default_rng(0)
    age = rng.integers(0, 3, 500)
    frame = {"age": age, "tick": np.where(rng.random(500) < 0.3, "x", None)}
    frame["age"] = [None if i % 9 == 0 else int(a) for i, a in enumerate(age)]
    learner = cp.HillClimb().fit(frame)
    assert learner.model_.schema["tick"].states == ("x", None)
    assert None not in learner.model_.schema["age"].states
    assert any(note.startswith("Read tick as text in which a missing") for note in learner.notes_)


def test_too_many_rows_for_em(monkeypatch):
    codes = chain(1000, 1)
    few = np.zeros(codes.shape, dtype=bool)
    few[1, ::50] = True
    monkeypatch.setattr(gap_policy, "MAX_CELLS", 100)
    learner = cp.HillClimb().fit(table_of(codes, few))
    assert learner.missing_ == "drop"
    assert learner.model_.record.data.rows == 980
    assert "rows with missing cells are left out: they are 2.0%; for EM, the table of 5 columns " \
        "has more than 20 distinct rows" in learner.missing_note_  # fmt: skip
    many = completely_at_random(codes, np.random.default_rng(0))
    learner = cp.HillClimb().fit(table_of(codes, many))
    assert learner.missing_ == "state"
    assert None in learner.model_.schema["b"].states


@pytest.mark.parametrize("learner", [cp.HillClimb(), cp.ChowLiu()])
def test_a_junction_tree_that_is_too_large_for_a_default(learner, monkeypatch):
    codes = chain(1000, 2)
    table = table_of(codes, completely_at_random(codes, np.random.default_rng(0)))
    monkeypatch.setitem(structural_em.EM_EFFORTS, "auto", EMEffort(50, 10))
    learner.fit(table)
    assert learner.missing_ == "state"
    assert "EM is too slow: its junction tree has" in learner.missing_note_
    assert type(learner)(missing="em").fit(table).missing_ == "em"


def test_the_score_for_available_cases_takes_its_own_policy():
    codes = chain(500, 2)
    table = table_of(codes, completely_at_random(codes, np.random.default_rng(0)))
    learner = cp.HillClimb("nal").fit(table)
    assert learner.missing_ == "available"
    assert "counted on the rows that are complete in it" in learner.missing_note_


def test_the_bootstrap_keeps_the_policy():
    """Missing cells of samples are drawn from the network; shares are near those of EM itself."""
    codes = chain(400, 8)
    table = table_of(codes, completely_at_random(codes, np.random.default_rng(8)))
    quick = cp.bootstrap(cp.HillClimb(), table, 40, random_state=0)
    thorough = cp.bootstrap(cp.HillClimb(missing="em"), table, 40, random_state=0)
    assert np.abs(quick.strengths - thorough.strengths).max() < 0.25
    assert min(quick.strengths[i, i + 1] for i in range(3)) == 1.0
    applies = table_of(codes, not_applicable(codes, None))
    kept = cp.bootstrap(cp.HillClimb(), applies, 5, random_state=0, keep_models=True)
    assert {m.schema["c"].states for m in kept.models} == {("no", "yes", None)}


def test_rows_with_gaps_are_scored_and_predicted():
    codes = chain(800, 4)
    table = table_of(codes, completely_at_random(codes, np.random.default_rng(4)))
    model = cp.HillClimb().fit(table).model_
    logs, cells = model.score_samples(table), model.pseudo_log_likelihood(table)
    answers = model.query_many("d", table)
    for row in range(20):
        shown = {
            name: model.schema[name].states[table.codes[v, row]]
            for v, name in enumerate(model.schema.names)
            if table.codes[v, row] < 2
        }
        assert logs[row] == pytest.approx(model.log_evidence(shown))
        rest = {name: state for name, state in shown.items() if name != "d"}
        expected = model.query("d", rest)
        assert answers.probabilities[row] == pytest.approx(expected.probabilities)
        told = np.log(expected[shown["d"]]) if "d" in shown else 0.0
        assert cells[row, 3] == pytest.approx(told)
    assert cp.evaluate.log_likelihood(model, table).mean == pytest.approx(logs.mean())
    assert cp.evaluate.pll(model, table).mean == pytest.approx(cells.sum(axis=1).mean())
