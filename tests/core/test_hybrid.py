"""The kernels of local networks beside the learner in plain Python."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from counterpane._core import hybrid
from reference.hybrid_reference import TIE, Reference, blanket

CODES = [np.uint8, np.uint16, np.uint32]
CARDS = np.array([2, 3, 2, 4, 2, 3])
ROWS = 150
MEMBERS = np.array(
    [[0, 1, 2, -1], [1, 0, 3, 5], [5, 2, -1, -1], [3, -1, -1, -1], [4, 0, 1, 2], [2, 4, 5, -1]]
)


def some_table(dtype=np.uint8, weighted=False):
    rng = np.random.default_rng(2)
    codes = np.array([rng.integers(0, r, ROWS) for r in CARDS], dtype)
    codes[2] = np.where(rng.random(ROWS) < 0.8, codes[0], codes[2])
    codes[1] = np.where(rng.random(ROWS) < 0.7, codes[0] + codes[2], codes[1])
    codes[5] = np.where(rng.random(ROWS) < 0.7, codes[3] // 2, codes[5])
    weights = rng.integers(0, 4, ROWS).astype(float) if weighted else np.zeros(0)
    return hybrid.Data(codes, weights, CARDS)


def scratch_of(width=4, most=16):
    rows = min(ROWS, 72)
    return hybrid.Scratch(
        np.zeros(ROWS, np.uint32),
        np.zeros(4096, np.int32),
        np.zeros((width, rows), np.uint32),
        np.zeros(rows),
        np.zeros((2, rows), np.uint32),
        np.zeros(256 * most),
        np.zeros(256 * most),
    )


def reference_of(data, ml=False):
    weights = data.weights if data.weights.size else None
    return Reference(data.codes.T, CARDS, "abcdef", weights, prior=3.0, ml=ml)


def terms_of(reference):
    penalty = 0.5 * np.log(reference.total)
    return hybrid.Terms(3.0, 0.0 if reference.ml else 3.0, penalty, TIE)


def networks_of(members, parents):
    """{child: parents} of each row."""
    out = []
    for columns, sets in zip(members.tolist(), parents.tolist(), strict=True):
        own = [v for v in columns if v >= 0]
        out.append(
            {c: {u for a, u in enumerate(own) if sets[k] >> a & 1} for k, c in enumerate(own)}
        )
    return out


def learned(data, reference, members=MEMBERS):
    parents, scores = np.zeros_like(members), np.zeros(len(members))
    variables = np.array([v for v in range(6) if v in members[v]])
    hybrid.learn_networks(
        data, terms_of(reference), variables, members, scratch_of(), parents, scores
    )
    return variables, parents, scores


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ml", [False, True])
def test_learn_networks(dtype, weighted, ml):
    data = some_table(dtype, weighted)
    reference = reference_of(data, ml)
    reference.order = [4, 0, 1, 3, 2, 5]
    rank = reference.order.index
    members = np.array(
        [
            sorted((v for v in row if v >= 0), key=rank) + [-1] * list(row).count(-1)
            for row in MEMBERS
        ]
    )
    variables, parents, scores = learned(data, reference, members)
    found = networks_of(members, parents)
    for v in variables.tolist():
        expected = reference.learn({u for u in members[v].tolist() if u >= 0})
        assert found[v] == expected
        assert scores[v] == pytest.approx(reference.likelihood(v, expected))
    assert sum(len(p) for v in variables for p in found[v].values()) > 5


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("weighted", [False, True])
def test_fill_tables(dtype, weighted):
    data = some_table(dtype, weighted)
    reference = reference_of(data)
    variables, parents, _ = learned(data, reference)
    expected, table_from = [], [0]
    for v, network in enumerate(networks_of(MEMBERS, parents)):
        for c in network if v in variables else ():
            if c != v and v not in network[c]:
                continue
            own = [u for u in network if u in network[c]]  # in the network's order
            counts, totals = reference.count([*own, c]), reference.count(own)
            for given in product(*(range(CARDS[u]) for u in own)):
                for s in range(CARDS[c]):
                    chance = reference.probability(counts, totals, c, own, s, given, 3.0)
                    expected.append(np.log(chance))
        table_from.append(len(expected))
    out = np.zeros(len(expected))
    hybrid.fill_tables(
        data,
        terms_of(reference),
        variables,
        MEMBERS,
        parents,
        scratch_of(),
        np.array(table_from),
        out,
    )
    assert out == pytest.approx(np.array(expected))


def test_insert_relatives():
    rank = np.array([3, 0, 5, 1, 4, 2])
    relatives = np.array([[5, 0, -1], [4, 1, 3], [2, 5, 3]])
    out = np.full((6, 4), -1)
    out[:, 0] = range(6)
    hybrid.insert_relatives(relatives, 2, rank, out)
    for v in range(6):
        own = {v} | ({u for u in relatives[v - 2].tolist() if u >= 0} if 2 <= v < 5 else set())
        assert out[v].tolist() == sorted(own, key=lambda u: rank[u]) + [-1] * (4 - len(own))
    hybrid.insert_relatives(np.array([[0]]), 4, rank, out)  # no room is left
    assert 0 not in out[4]


@pytest.mark.parametrize("width", [2, 4, 6])
def test_blankets(width):
    data = some_table()
    _, parents, _ = learned(data, reference_of(data))
    parents[2] = [0, 1, 0, 0]
    networks = networks_of(MEMBERS, parents)
    rank = np.array([3, 0, 5, 1, 4, 2])

    def row(nodes):
        return sorted(nodes, key=lambda u: rank[u]) + [-1] * (width - len(nodes))

    united = np.zeros((6, width), np.int64)
    hybrid.unite(MEMBERS, parents, rank, united)
    for v in range(6):
        union = set().union(*(blanket(v, network) for network in networks if v in network)) | {v}
        if len(union) > width:
            assert united[v, 0] == -1
        else:
            assert united[v].tolist() == row(union)
    out = np.zeros((6, width), np.int64)
    hybrid.fill_blankets(MEMBERS, parents, rank, out)
    for v in range(6):
        own = {v} | (blanket(v, networks[v]) if v in networks[v] else set())
        if len(own) <= width:
            assert out[v].tolist() == row(own)
