"""What every score must do: its formula, its classes, its laws, its refusals."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest

from contract.contributed import has_document, printed_module
from counterpane.counts import MemoryCounts, StreamCounts
from counterpane.data import Schema, Table
from counterpane.errors import FitError, ParameterError, TableSizeError, UnknownNameError
from counterpane.graphs import Dag, consistent_extension, cpdag, same_class
from counterpane.models import BayesianNetwork
from counterpane.scores import (
    AIC,
    BIC,
    K2,
    BDe,
    BDeu,
    EdgeOdds,
    EdgePrior,
    LocalScore,
    LogLikelihood,
    NodeAverageLikelihood,
    ParameterCountPrior,
    ParentCountPrior,
    UniformPrior,
    as_score,
    score_dag,
    score_families,
    score_names,
)
from counterpane.scores.base import score_pairs
from error_checks import raises
from reference import score_reference as reference
from reference.model_reference import network_joint
from reference.random_codes import random_codes, random_weights

CARDS = (2, 3, 2, 4, 1, 3)
N = len(CARDS)
ODDS = np.random.default_rng(7).gamma(1.0, 1.0, (N, N)) + 0.1


def chain_prior(cards=CARDS):
    """A prior network x0 → x1 → … with random tables."""
    rng = np.random.default_rng(3)
    parents = [(), *((i,) for i in range(len(cards) - 1))]
    tables = [
        rng.dirichlet(np.full(r, 2.0), size=tuple(cards[p] for p in above))
        for r, above in zip(cards, parents, strict=True)
    ]
    schema = Schema.from_cards(cards)
    return BayesianNetwork(schema, Dag.from_parents(parents), tables), parents, tables


PRIOR, PRIOR_PARENTS, PRIOR_TABLES = chain_prior()
PRIOR_JOINT = network_joint(CARDS, PRIOR_PARENTS, PRIOR_TABLES)
FLAT = BayesianNetwork(Schema.from_cards(CARDS), Dag(N, []), [np.full(r, 1 / r) for r in CARDS])


class Case(NamedTuple):
    """A score, its twin in the reference, and whether equivalent networks score alike."""

    score: LocalScore
    formula: object
    options: tuple = ()
    equivalent: bool = True
    prior: object = None

    def expected(self, table, child, parents):
        given = table.codes, table.weights, table.schema.cards, child, parents
        value = self.formula(*given, *self.options)
        return value + (self.prior(child, parents) if self.prior else 0.0)


def few_edges(child, parents):
    return len(parents) * math.log(0.3)


def any_number(child, parents):
    return -math.log(math.comb(N - 1, len(parents)))


def few_parameters(child, parents):
    return reference.n_parameters(CARDS, child, parents) * math.log(0.7)


def expert(child, parents):
    return sum(math.log(ODDS[p, child]) for p in parents)


def hannan_quinn(codes, weights, cards, child, parents):
    """LL − p ln ln N; no penalty up to e rows."""
    n = max(reference.total(codes, weights), math.e)
    likelihood = reference.loglik(codes, weights, cards, child, parents)
    return likelihood - reference.n_parameters(cards, child, parents) * math.log(math.log(n))


CASES = {
    "loglik": Case(LogLikelihood(), reference.loglik),
    "aic": Case(AIC(), reference.aic),
    "bic": Case(BIC(), reference.bic),
    "k2": Case(K2(), reference.k2, equivalent=False),
    "k2-small": Case(K2(0.05), reference.k2, (0.05,), equivalent=False),
    "k2-large": Case(K2(alpha=7), reference.k2, (7.0,), equivalent=False),
    "bdeu-default": Case(BDeu(), reference.bdeu, (1.0,)),
    "bdeu-10": Case(BDeu(10), reference.bdeu, (10.0,)),
    "bdeu-tiny": Case(BDeu(1e-3), reference.bdeu, (1e-3,)),
    "bde": Case(BDe(PRIOR, 5.0), reference.bde, (5.0, PRIOR_JOINT)),
    "bde-flat": Case(BDe(FLAT, 10), reference.bdeu, (10.0,)),
    "bic-edges": Case(
        BIC(structure_prior=EdgePrior(0.3)), reference.bic, equivalent=True, prior=few_edges
    ),
    "bdeu-number": Case(
        BDeu(4, structure_prior=ParentCountPrior()), reference.bdeu, (4.0,), True, any_number
    ),
    "bdeu-parameters": Case(
        BDeu(4, structure_prior=ParameterCountPrior(0.7)),
        reference.bdeu,
        (4.0,),
        True,
        few_parameters,
    ),
    "bdeu-expert": Case(
        BDeu(4, structure_prior=EdgeOdds(ODDS)), reference.bdeu, (4.0,), False, expert
    ),
    "bde-expert": Case(
        BDe(PRIOR, 5.0, structure_prior=EdgeOdds(ODDS)),
        reference.bde,
        (5.0, PRIOR_JOINT),
        False,
        expert,
    ),
}
if has_document():
    CASES["contributed"] = Case(
        printed_module("scores/hannan_quinn.py").HannanQuinn(), hannan_quinn
    )
cases = pytest.mark.parametrize("case", [pytest.param(c, id=name) for name, c in CASES.items()])


def make_table(rows=300, seed=0, weights=None, cards=CARDS):
    codes = random_codes(cards, rows, seed)
    return Table(Schema.from_cards(cards), codes, random_weights(weights, rows, seed))


def some_families(seed=0, count=12):
    rng = np.random.default_rng(seed)
    found = [(c, ()) for c in range(N)]
    for _ in range(count):
        order = rng.permutation(N).tolist()
        found.append((order[0], tuple(order[1 : 1 + rng.integers(1, 5)])))
    return found


def random_dag(rng, n=N, share=0.5):
    order = rng.permutation(n)
    pairs = itertools.combinations(order.tolist(), 2)
    return Dag(n, [pair for pair in pairs if rng.random() < share])


def relatives(dag, rng):
    """Other members of the dag's class: its extension, and walks over covered edges."""
    yield consistent_extension(cpdag(dag))
    for _ in range(6):
        covered = [(p, c) for p, c in dag.edges if set(dag.parents(c)) == {*dag.parents(p), p}]
        if not covered:
            return
        p, c = covered[rng.integers(len(covered))]
        dag = Dag(dag.n, [*(e for e in dag.edges if e != (p, c)), (c, p)])
        yield dag


def parents_of(dag):
    return [dag.parents(i) for i in range(dag.n)]


# ---- formulas ------------------------------------------------------------------------------------


@cases
@pytest.mark.parametrize("weights", [None, "whole", "real"])
@pytest.mark.parametrize("rows", [1, 300])
def test_the_formula(case, rows, weights):
    table = make_table(rows, weights=weights)
    families = some_families()
    scores = score_families(case.score, MemoryCounts(table), families)
    expected = [case.expected(table, *family) for family in families]
    assert scores == pytest.approx(expected, rel=1e-9, abs=1e-9)


@cases
def test_one_family_from_its_counts(case):
    table = make_table()
    source = MemoryCounts(table)
    for child, parents in some_families(1):
        counts = source.counts([(*parents, child)])[0]
        given = counts.copy()
        value = case.score.family(counts, table.total_weight, child, parents)
        assert np.array_equal(counts, given)
        value += case.prior(child, parents) if case.prior else 0.0
        assert value == pytest.approx(case.expected(table, child, parents), rel=1e-9, abs=1e-9)
        strided = np.asfortranarray(counts)
        again = case.score.family(strided, table.total_weight, child, parents)
        assert again == case.score.family(counts, table.total_weight, child, parents)


@cases
def test_a_batch_is_its_families_one_by_one(case):
    source = MemoryCounts(make_table())
    families = some_families(2)
    batch = score_families(case.score, source, families)
    one_by_one = [score_families(case.score, source, [family])[0] for family in families]
    assert batch.tolist() == one_by_one
    assert score_families(case.score, source, []).shape == (0,)


@cases
def test_a_stream_scores_the_same(case):
    table = make_table()
    stream = StreamCounts(
        table.schema, lambda: [table.take(range(100)), table.take(range(100, 300))]
    )
    families = some_families(3)
    ours = score_families(case.score, stream, families)
    assert ours.tolist() == score_families(case.score, MemoryCounts(table), families).tolist()


@cases
@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_pairs(case, weights):
    table = make_table(weights=weights)
    source = MemoryCounts(table)
    children, parents = [3, 0, 4], [5, 3, 0, 1, 4]
    scores = score_pairs(case.score, source, children, parents)
    for (i, c), (j, p) in itertools.product(enumerate(children), enumerate(parents)):
        expected = case.expected(table, c, () if c == p else (p,))
        assert scores[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["loglik", "bic", "bdeu-10"])
def test_counts_beyond_the_table_of_logarithms(name):
    case = CASES[name]
    weights = np.array([2**21 + 1, 5, 2**30, 2**20, 2**20 - 1, 3])
    codes = np.array([[0, 1, 0, 1, 1, 0], [0, 1, 1, 0, 2, 2]])
    table = Table(Schema.from_cards([2, 3]), codes, weights)
    scores = score_families(case.score, MemoryCounts(table), [(0, (1,)), (1, (0,)), (1, ())])
    expected = [case.expected(table, *f) for f in [(0, (1,)), (1, (0,)), (1, ())]]
    assert scores == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("total", [0.25, 1e-6, 0.999])
def test_weights_may_sum_to_less_than_one(total):
    weights = np.array([0.5, 0.25, 0.125, 0.125]) * total
    table = Table(Schema.from_cards([2, 2]), [[0, 1, 0, 1], [0, 1, 1, 1]], weights)
    for name in ("loglik", "bic", "k2", "bdeu-10"):
        case = CASES[name]
        score = score_families(case.score, MemoryCounts(table), [(0, (1,))])[0]
        assert score == pytest.approx(case.expected(table, 0, (1,)), rel=1e-9, abs=1e-12)


# ---- laws ----------------------------------------------------------------------------------------


@cases
def test_equivalent_networks_score_alike_where_declared(case):
    assert case.score.is_score_equivalent == case.equivalent
    table = make_table(200)
    source = MemoryCounts(table)
    rng = np.random.default_rng(11)
    differences, compared = [], 0
    for _ in range(12):
        dag = random_dag(rng)
        score = score_dag(case.score, source, parents_of(dag))
        for other in relatives(dag, rng):
            assert same_class(dag, other)
            compared += dag != other
            differences.append(abs(score_dag(case.score, source, parents_of(other)) - score))
    assert compared > 20
    if case.equivalent:
        assert max(differences) < 1e-8
    else:
        assert max(differences) > 1e-3


@cases
def test_a_network_is_the_sum_of_its_families(case):
    source = MemoryCounts(make_table())
    dag = random_dag(np.random.default_rng(5))
    families = [(i, dag.parents(i)) for i in range(N)]
    total = score_dag(case.score, source, parents_of(dag))
    assert total == pytest.approx(score_families(case.score, source, families).sum(), rel=1e-12)


def test_the_likelihood_of_a_network_is_that_of_its_rows():
    table = make_table()
    dag = random_dag(np.random.default_rng(6))
    total = score_dag(LogLikelihood(), MemoryCounts(table), parents_of(dag))
    logs = np.zeros(table.n_rows)
    for i in range(N):
        counts = reference.family_counts(table.codes, None, i, dag.parents(i))
        for row in range(table.n_rows):
            cells = counts[tuple(int(table.codes[p, row]) for p in dag.parents(i))]
            logs[row] += math.log(cells[int(table.codes[i, row])] / sum(cells.values()))
    assert total == pytest.approx(logs.sum(), rel=1e-12)


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("bde", "bde-expert")])
def test_labels_do_not_matter(name):
    case, table = CASES[name], make_table()
    rng = np.random.default_rng(0)
    codes = np.array([rng.permutation(r)[c] for r, c in zip(CARDS, table.codes, strict=True)])
    renamed = Table(table.schema, codes)
    families = some_families(4)
    ours = score_families(case.score, MemoryCounts(renamed), families)
    assert ours == pytest.approx(
        score_families(case.score, MemoryCounts(table), families), rel=1e-12
    )


@cases
def test_the_order_of_parents_does_not_matter(case):
    source = MemoryCounts(make_table())
    ways = [(0, order) for order in itertools.permutations((1, 3, 5))]
    scores = score_families(case.score, source, ways)
    assert scores == pytest.approx(np.full(6, scores[0]), rel=1e-12)


@cases
def test_weights_are_repetitions(case):
    table = make_table(150)
    times = np.random.default_rng(1).integers(0, 4, 150)
    repeated = MemoryCounts(table.take(np.repeat(np.arange(150), times)))
    weighted = MemoryCounts(table.reweighted(times))
    families = some_families(5)
    a, b = (score_families(case.score, source, families) for source in (repeated, weighted))
    assert a.tolist() == b.tolist()


def test_more_parents_never_lower_the_likelihood():
    source = MemoryCounts(make_table())
    for child, parents in some_families(6, 30):
        more = [(child, (*parents, y)) for y in range(N) if y != child and y not in parents]
        scores = score_families(LogLikelihood(), source, [(child, parents), *more])
        assert (scores[1:] >= scores[0] - 1e-9).all()


def test_penalties():
    table = make_table()
    source = MemoryCounts(table)
    families = some_families(7)
    likelihood, aic, bic = (
        score_families(score, source, families) for score in (LogLikelihood(), AIC(), BIC())
    )
    free = np.array([reference.n_parameters(CARDS, *family) for family in families])
    assert likelihood - aic == pytest.approx(free, rel=1e-9)
    assert likelihood - bic == pytest.approx(free * math.log(300) / 2, rel=1e-9)


def test_unobserved_configurations_cost_parameters_but_no_data():
    schema = Schema.from_cards([3, 3])
    table = Table(schema, [[0, 0, 1, 1], [0, 1, 1, 1]])  # state 2 of both is declared, not seen
    scores = score_families(BIC(), MemoryCounts(table), [(0, (1,))])
    assert scores[0] == pytest.approx(-3 * math.log(3) + 2 * math.log(2) - 3 * math.log(4))
    for name in ("k2", "bdeu-10"):
        case = CASES[name]
        score = score_families(case.score, MemoryCounts(table), [(0, (1,))])[0]
        assert score == pytest.approx(case.expected(table, 0, (1,)), rel=1e-12)


def test_what_the_prior_network_excludes_has_no_chance():
    schema = Schema.from_cards([2, 2])
    prior = BayesianNetwork(schema, Dag(2, [(0, 1)]), [[0.5, 0.5], [[1.0, 0.0], [0.5, 0.5]]])
    score = BDe(prior, 2.0)
    possible = MemoryCounts(Table(schema, [[0, 1, 1], [0, 1, 0]]))
    excluded = MemoryCounts(Table(schema, [[0, 1, 1], [1, 1, 0]]))
    families = [(1, (0,)), (0, (1,)), (0, ()), (1, ())]
    assert np.isfinite(score_families(score, possible, families)).all()
    scores = score_families(score, excluded, families)
    assert scores[:2].tolist() == [-np.inf, -np.inf]
    assert np.isfinite(scores[2:]).all()
    never = BayesianNetwork(schema, Dag(2, []), [[1.0, 0.0], [0.5, 0.5]])
    scores = score_families(BDe(never, 2.0), possible, families)  # a whole row is excluded
    assert scores.tolist()[:3] == [-np.inf] * 3
    assert np.isfinite(scores[3])


def test_a_score_of_one_s_own():
    class Rows(LocalScore):
        """Less the number of parent configurations seen."""

        name = "rows"

        def family(self, counts, total, child, parents):
            return -float((counts.sum(axis=-1) > 0).sum())

    source = MemoryCounts(make_table())
    scores = score_families(Rows(structure_prior=EdgePrior(0.5)), source, [(0, ()), (0, (1, 3))])
    assert scores == pytest.approx([-1.0, -12 + 2 * math.log(0.5)])
    pairs = score_pairs(Rows(), source, [0, 1], [0, 1, 3])
    assert pairs.tolist() == [[-1, -3, -4], [-2, -1, -4]]


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, -1, math.nan, math.inf, "ten", None])
@pytest.mark.parametrize("make", [BDeu, lambda size: BDe(PRIOR, size)])
def test_a_sample_size_is_a_positive_number(make, size):
    with raises(ParameterError, parameter="equivalent_sample_size", value=size):
        make(size)


def all_pairs(score, source):
    return score_pairs(score, source, range(N), range(N)).ravel()


def three_families(score, source):
    return score_families(score, source, [(0, ()), (3, (1, 0)), (1, (0, 2, 5))])


both_ways = pytest.mark.parametrize("families", [all_pairs, three_families])


@pytest.mark.parametrize("alpha", [0, -1, math.nan, math.inf, "ten", None])
def test_alpha_is_a_positive_number(alpha):
    with raises(ParameterError, parameter="alpha", value=alpha):
        K2(alpha)


@pytest.mark.parametrize("c", [0, -0.5, 1.5, math.nan])
@pytest.mark.parametrize("prior", [EdgePrior, ParameterCountPrior])
def test_a_prior_factor_lies_between_0_and_1(prior, c):
    with raises(ParameterError, parameter="c", value=c):
        prior(c)


@both_ways
def test_a_parameter_count_prior_turns_the_likelihood_into_bic_and_aic(families):
    table = make_table(weights="whole")
    source = MemoryCounts(table)
    for c, score in ((table.total_weight**-0.5, BIC()), (1 / math.e, AIC())):
        likelihood = LogLikelihood(structure_prior=ParameterCountPrior(c))
        assert families(likelihood, source) == pytest.approx(families(score, source), rel=1e-12)


@pytest.mark.parametrize("odds", [[1.0, 2.0], [[1.0, 2.0]], [[1.0, 0.0], [1.0, 1.0]],
                                  [[1.0, np.inf], [1.0, 1.0]]])  # fmt: skip
def test_odds_are_a_square_of_positive_numbers(odds):
    with raises(ParameterError, about="square"):
        EdgeOdds(odds)


def test_odds_fit_the_data():
    score = BIC(structure_prior=EdgeOdds(np.ones((2, 2))))
    with raises(ParameterError, about="2 variables"):
        score_families(score, MemoryCounts(make_table()), [(0, ())])


def test_a_prior_network_fits_the_data():
    with raises(FitError, about="2 states"):
        table = make_table(cards=(3, 3, 2, 4, 1, 3))
        score_families(BDe(PRIOR), MemoryCounts(table), [(0, ())])


def test_scores_by_name():
    classes = {"loglik": LogLikelihood, "aic": AIC, "bic": BIC, "mdl": BIC, "k2": K2, "bdeu": BDeu,
               "nal": NodeAverageLikelihood}  # fmt: skip
    assert set(score_names()) == set(classes)
    for name, kind in classes.items():
        assert type(as_score(name.upper())) is kind
    own = BDeu(3)
    assert as_score(own) is own
    with raises(UnknownNameError, parameter="criterion", value="bicc"):
        as_score("bicc")
    with raises(ParameterError, parameter="criterion"):
        as_score(BIC)


def test_a_family_too_large_to_count():
    table = make_table(cards=(300, 300, 300))
    with raises(TableSizeError, about="table 1"):
        score_families(BIC(), MemoryCounts(table), [(0, ()), (0, (1, 2))])


def test_scores_show_what_they_are():
    assert repr(K2(0.5)) == "K2(alpha=0.5)"
    assert repr(BDeu(2)) == "BDeu(equivalent_sample_size=2.0)"
    assert repr(BIC(structure_prior=EdgePrior(0.5))) == "BIC(structure_prior=EdgePrior(c=0.5))"
    assert isinstance(BIC().structure_prior, UniformPrior)
