"""Scores of known networks against the numbers that bnlearn and pyAgrum report.

bnlearn's are frozen: version 4.8.3, `score(network, data, type = …)` on its own example tables, to
six decimals. pyAgrum runs beside us.
"""

from __future__ import annotations

import gzip
import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from counterpane.counts import MemoryCounts
from counterpane.data import Schema, Table
from counterpane.data.reading import read_table
from counterpane.scores import AIC, BIC, K2, BDeu, LogLikelihood, score_dag, score_families
from reference.random_codes import random_codes

# The true network of each table, as bnlearn writes it.
MODELS = {
    "learning.test": "[A][C][F][B|A][D|A:C][E|B:F]",
    "asia": "[A][S][T|A][L|S][B|S][E|T:L][X|E][D|B:E]",
}
# alarm's network comes from its file, whose names are longer than the table's.
SHORT = dict(re.findall(r"(\w+)=(\w+)", """
    HISTORY=HIST HYPOVOLEMIA=HYP LVEDVOLUME=LVV LVFAILURE=LVF STROKEVOLUME=STKV ERRLOWOUTPUT=ERLO
    HREKG=HREK ERRCAUTER=ERCA HRSAT=HRSA INSUFFANESTH=ANES ANAPHYLAXIS=APL EXPCO2=ECO2
    KINKEDTUBE=KINK MINVOL=MINV PVSAT=PVS PULMEMBOLUS=PMB SHUNT=SHNT INTUBATION=INT PRESS=PRSS
    DISCONNECT=DISC MINVOLSET=MVS VENTMACH=VMCH VENTTUBE=VTUB VENTLUNG=VLNG VENTALV=VALV
    ARTCO2=ACO2 CATECHOL=CCHL
"""))  # fmt: skip
BNLEARN = [
    ("learning.test", LogLikelihood(), -23832.131772),
    ("learning.test", AIC(), -23873.131772),
    ("learning.test", BIC(), -24006.734233),
    ("learning.test", K2(), -23958.695338),
    ("learning.test", BDeu(1), -24028.094778),
    ("learning.test", BDeu(10), -23967.649625),
    ("asia", BIC(), -11109.741873),
    ("asia", BDeu(1), -11095.824183),
    ("asia", BDeu(10), -11142.014366),
    ("alarm", BIC(), -218769.838275),
    ("alarm", BDeu(10), -217749.682479),
]


def true_families(name, folder):
    """{child: parents} of the true network."""
    if name in MODELS:
        found = re.findall(r"\[(\w+)(?:\|([\w:]+))?\]", MODELS[name])
        return {child: parents.split(":") if parents else [] for child, parents in found}
    text = gzip.decompress((folder / "networks" / f"{name}.bif.gz").read_bytes()).decode()
    found = re.findall(r"probability \( (\w+)(?: \| ([\w, ]+))? \)", text)
    return {
        SHORT.get(child, child): [SHORT.get(p, p) for p in parents.split(", ")] if parents else []
        for child, parents in found
    }


@pytest.fixture(scope="module")
def source_of(shared_data):
    """Table name → its counts, read once."""
    held = {}

    def find(name):
        if name not in held:
            held[name] = MemoryCounts(read_table(shared_data / "bnlearn" / f"{name}.csv.gz"))
        return held[name]

    return find


@pytest.mark.parametrize(("name", "score", "expected"), BNLEARN, ids=lambda v: str(v))
def test_bnlearn_agrees_on_the_true_network(source_of, shared_data, name, score, expected):
    source = source_of(name)
    families = true_families(name, shared_data)
    schema = source.schema
    assert set(families) == set(schema.names)
    parents = [schema.indices(families[child]) for child in schema.names]
    assert score_dag(score, source, parents) == pytest.approx(expected, rel=1e-9)


def test_bnlearn_agrees_on_the_empty_network(source_of):
    score = score_dag(BIC(), source_of("learning.test"), [()] * 6)
    assert score == pytest.approx(-28277.593002, rel=1e-9)


# ---- pyAgrum -------------------------------------------------------------------------------------

CARDS = (2, 3, 4, 2)
FAMILIES = [(1, (0, 2)), (1, ()), (2, (3,)), (0, (1, 2, 3)), (3, (2, 0))]


def learner_for(pyagrum, codes):
    network = pyagrum.BayesNet()
    for i, card in enumerate(CARDS):
        network.add(pyagrum.LabelizedVariable(f"x{i}", "", [str(k) for k in range(card)]))
    frame = pd.DataFrame({f"x{i}": column.astype(str) for i, column in enumerate(codes)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pyagrum.BNLearner(frame, network)


def their_scores(learner):
    """Natural logs of what pyAgrum gives to base 2."""
    asked = [(f"x{c}", [f"x{p}" for p in parents]) for c, parents in FAMILIES]
    return [learner.score(child, parents) * math.log(2) for child, parents in asked]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("score", "use", "rel"),  # not AIC: pyAgrum's penalty is one bit a parameter, not one nat
    [
        (LogLikelihood(), "useScoreLog2Likelihood", 1e-12),
        (BIC(), "useScoreBIC", 1e-12),
        (K2(), "useScoreK2", 1e-7),  # its logarithm of Γ is good to eight digits
    ],
    ids=lambda v: str(v),
)
def test_pyagrum_agrees(pyagrum, score, use, rel, seed):
    codes = random_codes(CARDS, 500, seed)
    learner = learner_for(pyagrum, codes)
    getattr(learner, use)()
    ours = score_families(score, MemoryCounts(Table(Schema.from_cards(CARDS), codes)), FAMILIES)
    assert ours == pytest.approx(their_scores(learner), rel=rel)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("times", [1, 5])
def test_pyagrum_agrees_on_bdeu(pyagrum, seed, times):
    # pyAgrum interpolates ln Γ between whole numbers, so the sample size is one that makes every α
    # whole: a multiple of the cells of each family. Other sizes are left to the naive reference.
    codes = random_codes(CARDS, 500, seed)
    size = float(times * np.prod(CARDS))
    learner = learner_for(pyagrum, codes)
    learner.useScoreBD()
    learner.useBDeuPrior(size)
    source = MemoryCounts(Table(Schema.from_cards(CARDS), codes))
    ours = score_families(BDeu(size), source, FAMILIES)
    assert ours == pytest.approx(their_scores(learner), rel=1e-7)
