"""Libra's files: models and rows, as its tools write them, as we do, and hostile ones."""

from __future__ import annotations

import gzip
import tracemalloc

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import CounterpaneError, DataError, FileFormatError
from counterpane.features import Rules, Tree
from counterpane.formats import files, libra, libra_trees
from counterpane.formats.libra import write_libra_data
from counterpane.models.arrays import arrays_of
from error_checks import raises

DN = """2,3,2
DN {
v0 {
tree {
(v1_2
    (v2_0 (v0_0 -0.1 -2.3) (v0_0 -0.7 -0.7))
    (v0_1 -1.5 -0.25))
}

}
v2 {
features {
7 1.2e+00 +v2_1 -v1_0
-0.5 +v2_0
}

0.25 +v2_1 +v0_1
-0.75 +v2_0 +v0_1
}
v1 {
table {
-1.0 +v1_0
-1.25 +v1_1
-0.9 +v1_2
}

}
}
"""
MN = """2,3
MN {
tree {
(v0_1 (v1_2 0.5 -1) 2e-1)
}
1.5 +v0_0 -v1_1
3.0
table {
0.1 +v0_0 +v1_0
0.2 +v0_0 +v1_1
0.3 +v0_0 +v1_2
0.4 +v0_1 +v1_0
0.5 +v0_1 +v1_1
0.6 +v0_1 +v1_2
}
}
"""


def written(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_a_dependency_network_is_read(tmp_path):
    model = cp.load(written(tmp_path, "net.dn", DN))
    assert model.schema == cp.Schema.from_cards([2, 3, 2], prefix="v")
    (tree,), (table,), (listed, single) = model.conditionals
    assert isinstance(tree, Tree) and tree.depth == 2
    leaves = tree.log_values[tree.variables < 0].tolist()
    assert leaves == [[-0.1, -2.3], [-0.7, -0.7], [-0.25, -1.5]]
    assert table.scope == (1,) and table.log_values.tolist() == [-1.0, -1.25, -0.9]
    assert listed.weights.tolist() == [1.2, -0.5] and listed.offsets.tolist() == [0, 2, 3]
    assert listed.negated.tolist() == [False, True, False]
    assert single.weights.tolist() == [0.25, -0.75]


def test_a_markov_network_is_read(tmp_path):
    model = cp.load(written(tmp_path, "net.mn", MN))
    codes = np.array([(a, b) for a in range(2) for b in range(3)]).T
    table = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    tree = np.array([[0.2, 0.2, 0.2], [-1, -1, 0.5]])
    features = np.array([[1.5, 0, 1.5], [0, 0, 0]]) + 3
    np.testing.assert_allclose(
        model.engine.blanket.log_potential(codes), (table + tree + features).reshape(-1)
    )
    assert len(model.potentials) == 1 and model.potentials[0].scope == (0, 1)
    empty = cp.load(written(tmp_path, "empty.mn", "3\nMN {\n}\n"))
    np.testing.assert_allclose(empty.query("v0").probabilities, 1 / 3)


def test_tables_that_are_not_tables_become_rules(tmp_path):
    for lines in ("1.0 +v0_0 +v1_0\n", "1.0 -v0_0\n2.0 -v0_1\n", "1.0 +v0_0\n2.0 +v1_1\n"):
        model = cp.load(written(tmp_path, "net.mn", f"2,2\nMN {{ table {{\n{lines}}} }}"))
        assert not model.potentials and len(model.rules[0]) == lines.count("\n")


def test_trees_that_ask_their_target_above_others_become_rules(tmp_path):
    text = "2,2\nDN { v0 { tree { (v0_0 (v1_0 -1 -2) -3) } } v1 { tree { 0.5 } } }"
    model = cp.load(written(tmp_path, "net.dn", text))
    assert isinstance(model.conditionals[0][0], Rules) and isinstance(
        model.conditionals[1][0], Tree
    )
    found = model.engine.blanket.full_conditionals([[0, 0], [0, 1]], [0])
    np.testing.assert_allclose(found[:, 0] - found[:, 1], [2, 1])


def test_a_bayesian_network_goes_out_and_comes_back(tmp_path):
    rng = np.random.default_rng(0)
    dag = cp.Dag(4, [(0, 2), (1, 2), (3, 1)])
    cards = [2, 3, 2, 4]
    tables = []
    for v in range(4):
        shape = [cards[p] for p in dag.parents(v)]
        tables.append(rng.dirichlet(np.ones(cards[v]), size=shape))
    tables[0][:] = (0, 1)
    model = cp.BayesianNetwork(cp.Schema.from_cards(cards), dag, tables)
    for name in ("net.bn", "net.bn.gz"):
        model.save(tmp_path / name)
        again = cp.load(tmp_path / name)
        assert isinstance(again, cp.BayesianNetwork) and again.dag == dag
        assert again.schema.names == ("v0", "v1", "v2", "v3")
        for ours, theirs in zip(again.tables, tables, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-14)
    text = (tmp_path / "net.bn").read_text()
    assert text.startswith("2,3,2,4\nBN {\nv0 {\ntable {\n-inf +v0_0\n0.0 +v0_1\n}\n}\n")


def test_conditionals_of_a_bayesian_network_are_normalized(tmp_path, monkeypatch):
    monkeypatch.setattr(libra, "BLOCK_CELLS", 5)
    text = "3,2,3\nBN { v0 { 0.0 } v1 { 1.5 +v1_1 -v0_0 } v2 { tree { (v0_1 (v2_0 1 2) 0) } } }"
    model = cp.load(written(tmp_path, "net.bn", text))
    p = 1 / (1 + np.exp(-1.5))
    np.testing.assert_allclose(model.tables[1], [[0.5, 0.5], [1 - p, p], [1 - p, p]])
    q = 1 / (1 + 2 * np.e)
    np.testing.assert_allclose(model.tables[2][1], [q, (1 - q) / 2, (1 - q) / 2])
    for bad, message in (
        ("2,2\nBN { v0 { 1 +v0_0 +v1_0 } v1 { 1 +v0_0 +v1_0 } }", "form a cycle"),
        ("2\nBN { v0 { -inf +v0_0\n-inf +v0_1 } }", "no state is possible"),
    ):
        with pytest.raises(FileFormatError, match=f"net.bn', line 2: .*{message}"):
            cp.load(written(tmp_path, "net.bn", bad))


def deep_tree(depth):
    return "2,2\nDN { v0 { 0 } v1 { tree { " + "(v0_0 1 " * depth + "0" + ")" * depth + " } } }"


def test_deep_trees_need_no_recursion(tmp_path):
    model = cp.load(written(tmp_path, "net.dn", deep_tree(libra_trees.MAX_DEPTH)))
    assert model.conditionals[1][0].depth == libra_trees.MAX_DEPTH
    model.save(tmp_path / "again.dn")
    assert (tmp_path / "again.dn").read_text().count("(") == 2 * libra_trees.MAX_DEPTH + 1
    with raises(FileFormatError, about=("line 2", "1000 questions")):
        cp.load(written(tmp_path, "net.dn", deep_tree(libra_trees.MAX_DEPTH + 1)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1"),
        ("MN { }", "line 1"),
        ("2,0\nMN { }", "'0'"),
        ("2,65536\nMN { }", "'65536'"),
        ("2,x\nMN { }", "'x'"),
        ("2\nAC { }", "'AC'"),
        ("2\nMN\n", "net.mn"),
        ("2\nMN {\n1.0 +v0_0\n", "net.mn"),
        ("2\nMN {\n} more", "'more'"),
        ("2\nMN {\n1.0 +v1_0 }", "line 3"),
        ("2\nMN {\n1.0 +v0_2 }", "value 2"),
        ("2\nMN {\n1.0 +v0_0 +v0_1 }", "line 3"),
        ("2\nMN {\n1.0 +v0 }", "line 3"),
        ("2\nMN {\nnan +v0_0 }", "'nan'"),
        ("2\nMN {\ninf +v0_0 }", "'inf'"),
        ("2\nMN {\n1_0 +v0_0 }", "'1_0'"),
        ("2\nMN {\ntree { (+v0_0 1 2) } }", "net.mn"),
        ("2\nMN {\ntree { (v0_0 1 2 3) } }", "'3'"),
        ("2\nMN {\ntree { (v0_0 1) } }", "')'"),
        ("2\nMN {\ntree { (v0_9 1 2) } }", "line 3"),
        ("2\nMN {\ntree { (v9_0 1 2) } }", "line 3"),
        ("2\nMN {\ntree { } }", "'}'"),
        ("2\nMN {\ntable 3 }", "'3'"),
        ("2\nDN {\nv0 { 1 }\nv0 { 1 } }", "'v0'"),
        ("2\nDN {\nv1 { 1 } }", "'v1'"),
        ("2,2\nDN {\nv0 { 1 } }", "net.mn"),
        ("2\nDN {\nv0 { tree { (v0_0 -inf -inf) } } }", "net.mn"),
        ("65535," * 300 + "\nMN { }", "net.mn"),
    ],
)
def test_hostile_files_are_refused(tmp_path, text, message):
    with raises(FileFormatError, about=message) as caught:
        cp.load(written(tmp_path, "net.mn", text))
    assert caught.match(r"net\.mn', line [0-9]+: [^\n]+[.?]$")


@pytest.mark.parametrize("text", [DN, MN])
def test_files_cut_anywhere_are_refused(tmp_path, text):
    whole = text.rstrip()
    for size in range(len(whole)):
        path = written(tmp_path, "cut.mn", whole[:size])
        with raises(FileFormatError, about="cut.mn"):
            cp.load(path)
    packed = gzip.compress(text.encode())
    for size in range(2, len(packed), 7):
        (tmp_path / "cut.mn.gz").write_bytes(packed[:size])
        with pytest.raises(FileFormatError):
            cp.load(tmp_path / "cut.mn.gz")


def test_pieces_of_any_size_read_alike(tmp_path, monkeypatch):
    path = written(tmp_path, "net.dn", DN)
    expected = arrays_of(cp.load(path))
    for size in (1, 2, 3, 7, 64):
        monkeypatch.setattr(files, "PIECE", size)
        found = arrays_of(cp.load(path))
        assert all((found[name] == expected[name]).all() for name in expected)


@pytest.mark.parametrize("text", [DN, MN])
def test_random_damage_is_refused_or_harmless(tmp_path, text):
    rng = np.random.default_rng(0)
    data = text.encode()
    for _ in range(300):
        bad = bytearray(data)
        for place in rng.integers(0, len(bad), size=3):
            bad[place] = rng.choice(np.frombuffer(b"(){}+-v_0129. \n\xff", dtype=np.uint8))
        (tmp_path / "bad.mn").write_bytes(bad)
        try:
            cp.load(tmp_path / "bad.mn")
        except FileFormatError as error:
            assert "\n" not in str(error)


def test_leaves_of_many_states_take_no_room_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(libra_trees, "MAX_CELLS", 2**16)
    text = "60000,2,2\nDN { v0 { tree { (v1_0 0 (v2_0 1 2)) } } v1 { 0 } v2 { 0 } }"
    path = written(tmp_path, "net.dn", text)
    with raises(FileFormatError, about=("5 nodes", "60000 states")):
        cp.load(path)
    monkeypatch.setattr(libra, "MAX_CELLS", 100)
    tracemalloc.start()
    with raises(FileFormatError, about="100 words"):
        cp.load(written(tmp_path, "net.mn", "2\nMN {\n" + "1 +v0_1\n" * 200_000 + "}\n"))
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()


def test_rows_go_out_and_come_back(tmp_path):
    schema = cp.Schema.from_cards([2, 3, 1], prefix="v")
    codes = [[0, 1, 2, 1], [2, 3, 0, 1], [0, 0, 0, 1]]
    for weights in (None, [1.0, 2.5, 1.0, 0.125]):
        table = cp.Table(schema, codes, weights)
        for name in ("rows.data", "rows.data.gz"):
            write_libra_data(tmp_path / name, table)
            again = cp.read(tmp_path / name)
            assert again.schema == schema and (again.codes == table.codes).all()
            assert (again.weights is None) == (weights is None)
            assert weights is None or again.weights.tolist() == weights
    assert (tmp_path / "rows.data").read_text().splitlines()[1] == "2.5|1,*,0"
    model = cp.Schema.from_cards([2, 5, 4], prefix="v")
    assert cp.read(tmp_path / "rows.data", schema=model).schema == model


def test_a_first_row_above_all_others_tells_the_numbers_of_states(tmp_path):
    table = cp.read(written(tmp_path, "rows.data", "2,4,3\n0,1,*\n\n1, 3,2\n"))
    assert table.schema.cards.tolist() == [2, 4, 3] and table.n_rows == 2
    assert table.codes.tolist() == [[0, 1], [1, 3], [3, 2]]
    plain = cp.read(written(tmp_path, "rows.data", "1,4,3\n0,1,*\n1,3,2\n"))
    assert plain.schema.cards.tolist() == [2, 5, 4] and plain.n_rows == 3
    mixed = cp.read(written(tmp_path, "rows.data", "3|1,0\n0,1\n"))
    assert mixed.weights.tolist() == [3.0, 1.0]
    gone = cp.read(written(tmp_path, "rows.data", "1,*\n0,*\n"))
    assert gone.schema.cards.tolist() == [2, 1] and gone.has_missing.tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("0,1\n0\n", "line 2: 1 numbers where the first row has 2"),
        ("0,1\n0,x\n", "column 1: 'x' is no state"),
        ("0,1\n0,-1\n", "column 1: '-1' is no state"),
        ("0,1\n0,65536\n", "'65536' is no state"),
        ("0,1\n0,\n", "column 1: '' is no state"),
        ("w|0,1\n", "line 1: 'w' is not a weight"),
        ("-1|0,1\n", "weight"),
        ("65534," * 299 + "65534\n", "states in all"),
    ],
)
def test_hostile_rows_are_refused(tmp_path, text, message):
    with pytest.raises((FileFormatError, DataError), match=message) as caught:
        cp.read(written(tmp_path, "rows.data", text))
    assert isinstance(caught.value, CounterpaneError) and "\n" not in str(caught.value)
