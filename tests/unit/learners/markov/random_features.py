"""Random features over a few columns, for tests of weights and of their objective."""

from __future__ import annotations

import numpy as np

from counterpane.data import Schema, Table
from counterpane.features import Potential, Rules
from counterpane.learners.markov import pseudo_likelihood

CARDS = (2, 3, 2, 4, 1, 2)


def random_rules(cards, n_rules, seed):
    """(weight, conditions): conjunctions of up to four variables, some negated, some repeated."""
    rng = np.random.default_rng(seed)
    rules = []
    for _ in range(n_rules):
        conditions = []
        for v in rng.permutation(len(cards))[: rng.integers(1, 5)]:
            value = int(rng.integers(cards[v]))
            negated = bool(rng.random() < 0.4) and cards[v] > 1
            conditions += [(int(v), value, negated)] * int(rng.integers(1, 3))
            if negated and cards[v] > 3:
                conditions.append((int(v), (value + 1) % cards[v], True))
        rules.append((float(rng.normal()), conditions))
    return rules


def features(seed=0):
    rng = np.random.default_rng(seed)
    scopes = [(0, 1), (3, 0), (1, 3, 5), (4, 1), (2,)]
    tables = [(s, rng.normal(size=[CARDS[v] for v in s])) for s in scopes]
    return tables, [*random_rules(CARDS, 25, seed), (0.5, [])]


def parts_from(tables, rules, cards=CARDS):
    return [*(Potential(s, t) for s, t in tables), Rules.from_list(cards, rules)]


def table_of(codes, weights=None, cards=CARDS):
    return Table(Schema.from_cards(cards), codes, weights)


def read_as(kind, monkeypatch):
    """Make the objective read rows in one of its ways; returns its options."""
    if kind != "narrow":
        monkeypatch.setattr(pseudo_likelihood, "NARROW", 1)
    if kind == "blocks":
        monkeypatch.setattr(pseudo_likelihood, "BLOCK_ROWS", 7)
    if kind == "unkept":
        monkeypatch.setattr(pseudo_likelihood, "MAX_POSITIONS", 40)
    return {"max_rows": 3} if kind == "streamed" else {}
