"""Learned models as pyAgrum and pgmpy read them: the words, the tables, and the way back."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

import counterpane as cp
from counterpane.data.schema import Schema, Variable
from counterpane.errors import FileFormatError
from counterpane.formats.names import plain_word
from counterpane.graphs import Dag
from error_checks import raises
from reference.plain_files import uncommented

SUFFIXES = ["bif", "bifxml", "net", "xdsl"]
FIRST_IS_FASTEST = ("xdsl",)  # for pyAgrum 3.3, against the format's own rule


@pytest.fixture(scope="module")
def pgmpy():
    """pgmpy's readers; its import warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("pgmpy.readwrite", reason="pgmpy is in the extra `bench`")


def messy_table():
    """Names and states of every kind that someone might have, and numbers below zero."""
    rng = np.random.default_rng(5)
    n = 400
    size = rng.normal(0, 1, n)
    kind = np.where(size + rng.normal(0, 0.5, n) > 0, ">50K", "<=50K").astype(object)
    kind[rng.random(n) < 0.1] = None
    return {
        "size (cm), raw": size,
        "Size": rng.integers(0, 3, n),
        "size": np.where(size > 0.5, "A+", np.where(size > -0.5, "A", "A-")),
        "Straße/№ 5": np.where(kind == ">50K", "変数", "变量"),
        "type": rng.choice(["table", "node 1", "states = (", "//", "*/ -- -->", '"%#"'], n),
        "1st": kind,
        "when": np.array("2020-01-01", dtype="M8[D]") + rng.integers(0, 900, n),
        "flag": size > 0,
    }


def learned(name):
    frame = messy_table() if name == "messy" else None
    if name in ("iris", "wine", "breast_cancer"):
        sets = pytest.importorskip("sklearn.datasets")
        bunch = getattr(sets, f"load_{name}")()
        frame = dict(zip(bunch.feature_names, bunch.data.T, strict=True))
        frame["class"] = np.asarray(bunch.target_names)[bunch.target]
    if frame is None:
        table = cp.load_dataset(name)
    else:
        table = cp.Table.from_frame(frame, discretize="quantile", n_bins=3).resolve_missing("state")
    return cp.HillClimb(max_parents=2).fit(table).model_


@pytest.fixture(scope="module", params=["titanic", "iris", "wine", "breast_cancer", "messy"])
def model(request):
    return learned(request.param)


def read_by_pyagrum(pyagrum, path, network):
    """{name: (labels, table with the axes of ours)} of what pyAgrum reads."""
    other = pyagrum.loadBN(str(path))
    result = {}
    for i, variable in enumerate(network.schema):
        family = [network.schema.names[v] for v in (*network.dag.parents(i), i)]
        cpt = other.cpt(variable.name)
        assert set(cpt.names) == set(family)
        if path.suffix[1:] in FIRST_IS_FASTEST:
            family = [*family[-2::-1], family[-1]]
        axes = [cpt.names[::-1].index(name) for name in family]
        table = cpt.toarray().transpose(axes).reshape(network.tables[i].shape)
        result[variable.name] = (other.variable(variable.name).labels(), table)
    return result


def read_by_pgmpy(pgmpy, path, network):
    readers = {
        ".bif": pgmpy.BIFReader,
        ".bifxml": pgmpy.XMLBIFReader,
        ".net": pgmpy.NETReader,
        ".xdsl": pgmpy.XDSLReader,
    }
    other = readers[path.suffix](str(path)).get_model()
    assert other.check_model()
    result = {}
    for i, variable in enumerate(network.schema):
        family = [network.schema.names[v] for v in (*network.dag.parents(i), i)]
        cpd = other.get_cpds(variable.name)
        assert set(cpd.variables) == set(family)
        table = cpd.values.transpose([cpd.variables.index(name) for name in family])
        result[variable.name] = (tuple(cpd.state_names[variable.name]), table)
    return result


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_our_own_files_give_back_names_states_and_cuts(model, suffix, tmp_path):
    path = tmp_path / f"net.{suffix}"
    model.save(path)
    again = cp.load(path)
    assert again.schema == model.schema
    assert again.dag == model.dag
    pairs = zip(again.tables, model.tables, strict=True)
    assert all(a.tobytes() == b.tobytes() for a, b in pairs)


def test_uai_files_keep_names_after_the_tables(model, tmp_path, pyagrum):
    model.save(tmp_path / "net.uai")
    assert cp.load(tmp_path / "net.uai").schema == model.schema
    assert pyagrum.loadBN(str(tmp_path / "net.uai")).size() == len(model.schema)
    assert (tmp_path / "net.uai").read_text().startswith("BAYES\n")


def test_markov_networks_keep_names_in_uai_files(model, tmp_path):
    network = cp.MarkovNetwork(model.schema, model.to_potentials())
    network.save(tmp_path / "net.uai")
    again = cp.load(tmp_path / "net.uai")
    assert again.schema == model.schema
    name = model.schema.names[0]
    theirs = again.query(name).probabilities
    np.testing.assert_allclose(theirs, model.query(name).probabilities, atol=1e-12)


@pytest.mark.parametrize("tool", ["pyagrum", "pgmpy"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_other_tools_read_the_same_tables(model, suffix, tool, tmp_path, request):
    library = request.getfixturevalue(tool)
    path = tmp_path / f"net.{suffix}"
    model.save(path)
    plain = tmp_path / f"plain.{suffix}"
    plain.write_bytes(path.read_bytes())
    words = cp.load(uncommented(plain))
    read = read_by_pyagrum if tool == "pyagrum" else read_by_pgmpy
    theirs = read(library, path, words)
    for i, variable in enumerate(words.schema):
        labels, table = theirs[variable.name]
        assert variable.name.isidentifier() and variable.name.isascii()
        assert labels == variable.states
        np.testing.assert_allclose(table, model.tables[i], rtol=1e-6, atol=1e-9)


def test_words_say_what_the_originals_are(tmp_path):
    iris = learned("iris")
    iris.save(tmp_path / "iris.bif")
    text = uncommented(tmp_path / "iris.bif").read_text()
    assert "variable petal_width_cm {" in text
    states = cp.load(tmp_path / "iris.bif").schema["petal_width_cm"].states
    cuts = [str(c).replace(".", "_") for c in iris.schema["petal width (cm)"].cuts]
    between = [f"from_{low}_to_{high}" for low, high in pairwise(cuts)]
    assert states == (f"lt_{cuts[0]}", *between, f"ge_{cuts[-1]}")


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("<0.28", "lt_0_28"), ("≥0.28", "ge_0_28"), ("[0.28, 0.41)", "from_0_28_to_0_41"),
        ("[-1.5, -0.25)", "from_minus_1_5_to_minus_0_25"), ("≥1e-05", "ge_1e_05"),
        ("10–19.5", "from_10_to_19_5"),
        ("<-3", "lt_minus_3"), ("<=50K", "le_50K"), (">50K", "gt_50K"), ("≤ 4", "le_4"),
        ("<2020-01-31", "lt_2020_01_31"), ("65+", "65_plus"), ("A-", "A_minus"), ("x-ray", "x_ray"),
        ("5 %", "5_pct"), ("Größe", "Grosse"), ("Überlingen", "Uberlingen"), ("№ 5", "No_5"),
        ("変数", ""), ("__", ""), ("(missing)", "missing"), ("R&D", "R_and_D"),
    ],
)  # fmt: skip
def test_plain_words(word, plain):
    assert plain_word(word) == plain


def odd_network():
    schema = Schema(
        [
            Variable("Age", ("<1", "≥1", None), cuts=(1.0,)),
            Variable("age", (0, 1)),
            Variable("変", ("変", "数", "missing", None)),
            Variable("type", (True, False)),
            Variable("2", ("1", "s_1", "1 ")),
        ]
    )
    tables = [np.full(v.card, 1 / v.card) for v in schema]
    return cp.BayesianNetwork(schema, Dag(5), tables)


@pytest.mark.parametrize("suffix", ["bif", "net", "xdsl", "xml"])
def test_words_are_distinct_and_no_keywords(suffix, tmp_path):
    path = tmp_path / f"net.{suffix}"
    odd_network().save(path)
    again = cp.load(path)
    assert again.schema == odd_network().schema
    assert [type(s) for s in again.schema["type"].states] == [bool, bool]
    plain = cp.load(uncommented(path)).schema
    assert plain.names == ("Age", "age_2", "column", "type_", "v_2")
    assert plain[0].states == ("lt_1", "ge_1", "missing")
    assert plain[2].states == ("state", "state_2", "missing", "missing_2")
    numbers = ("s_0", "s_1") if suffix == "xdsl" else ("0", "1")  # GeNIe wants identifiers
    assert plain[1].states == numbers


def test_a_file_that_was_edited_keeps_its_own_words(tmp_path):
    path = tmp_path / "net.bif"
    odd_network().save(path)
    head, body = path.read_text().split("network unknown")
    path.write_text(f"{head}network unknown{body.replace('lt_1', 'below_1')}")
    schema = cp.load(path).schema
    assert schema["Age"].states == ("below_1", "ge_1", "missing")
    assert schema["age"].states == (0, 1)


@pytest.mark.parametrize(
    "comment",
    ["counterpane: {", "counterpane: [1]", 'counterpane: {"in_file":"Age","name":3}',
     'counterpane: {"in_file":"Age","name":"a","states":{"lt_1":1,"ge_1":1,"missing":2}}'],
)  # fmt: skip
def test_a_damaged_comment_is_refused_with_a_way_out(comment, tmp_path):
    path = tmp_path / "net.bif"
    odd_network().save(path)
    path.write_text(f"// {comment}\n" + uncommented(path).read_text())
    with raises(FileFormatError, about="line 1"):
        cp.load(path)


def test_many_states_take_several_comments(tmp_path):
    states = tuple(f"state  {'é' * (i % 40)} {i}" for i in range(3000))
    schema = Schema([Variable("many", states)])
    network = cp.BayesianNetwork(schema, Dag(1), [np.full(3000, 1 / 3000)])
    for suffix in ("bif", "net", "xml", "uai"):
        network.save(tmp_path / f"net.{suffix}")
        assert cp.load(tmp_path / f"net.{suffix}").schema == schema
        assert max(map(len, (tmp_path / f"net.{suffix}").read_text().split("\n"))) < 10**6
