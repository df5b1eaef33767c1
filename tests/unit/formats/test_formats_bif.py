"""BIF: what is read, what is refused and at which line, and what is written."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from counterpane.data.schema import Schema, Variable
from counterpane.errors import FileFormatError, ParameterError
from counterpane.graphs import Dag
from counterpane.models import BayesianNetwork
from counterpane.storage import load
from error_checks import raises
from reference.plain_files import uncommented

GOOD = """// a comment
network "lungs; and more" { property author = "x; y" ; }
variable "smoke er" {
  type discrete [ 2 ] { "yes, often", no };
  property position = (1, 2) ;
}
variable lung { /* block
  comment */ type discrete [3] { <5, 12+ >=7.5 }; }
variable a/b { type discrete [ 2 ] { -1, 2.5 }; }
probability ( lung | "smoke er", a/b ) {
  (no, 2.5) 0.1, 0.2, 0.7;
  default 0.5 0.25 0.25;
  ("yes, often", -1) 1e-3, 9.99e-1, 0;
  property note = "any";
}
probability ( "smoke er" ) { table 0.25, 0.75; }
probability ( a/b | "smoke er" ) { table 0.1 0.2 0.9 0.8; }
"""


@pytest.fixture(name="parsed")
def parse_in_folder(tmp_path):
    """A function from the text of a BIF file to its network."""

    def parsed(text):
        (tmp_path / "text.bif").write_text(text, encoding="utf-8", newline="")
        return load(tmp_path / "text.bif")

    return parsed


def test_all_of_the_grammar_is_read(parsed):
    network = parsed(GOOD)
    assert network.schema.names == ("smoke er", "lung", "a/b")
    assert network.schema["lung"].states == ("<5", "12+", ">=7.5")
    assert network.schema["smoke er"].states == ("yes, often", "no")
    assert network.dag.edges == ((0, 1), (0, 2), (2, 1))
    lung = network.tables[1]
    np.testing.assert_allclose(lung[0, 0], [0.001, 0.999, 0])
    np.testing.assert_allclose(lung[1, 1], [0.1, 0.2, 0.7])
    np.testing.assert_allclose(lung[0, 1], [0.5, 0.25, 0.25])
    np.testing.assert_allclose(network.tables[2], [[0.1, 0.9], [0.2, 0.8]])


def test_parents_in_any_order_and_blocks_before_their_variables(parsed):
    network = parsed(
        "probability ( c | b, a ) { (x, n) 1 0; (y, n) 0 1; (x, m) 0.5 0.5; (y, m) 0.25 0.75; }"
        "probability ( b ) { table 0.5 0.5; } probability ( a ) { table 0.5 0.5; }"
        "variable a { type discrete [2] { n, m }; } variable b { type discrete [2] { x, y }; }"
        "variable c { type discrete [2] { u, v }; }"
    )
    assert network.tables[2].tolist() == [[[1, 0], [0, 1]], [[0.5, 0.5], [0.25, 0.75]]]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('[ 2 ] { "yes', '[ 3 ] { "yes', 4, "declares 3 states and lists 2"),
        ("[3]", "[99999999999999999999]", 8, "declares 99999999999999999999 states"),
        ("variable a/b", "variable lung", 9, "'lung' is declared twice"),
        ("{ -1, 2.5 }", "{ -1, -1 }", 9, "more than once"),
        ("{ -1, 2.5 }", "{ -1, 2.5", 9, "where a name is needed"),
        ('"smoke er", a/b )', '"smoke er", a/c )', 10, "'a/c' is not known; did you mean"),
        ('"smoke er", a/b )', "a/b, a/b )", 10, "twice"),
        ("(no, 2.5)", "(no)", 11, "1 states are given for 2 parents"),
        ("(no, 2.5)", "(no, 3)", 11, "'3' is not one of 2 states"),
        ("0.1, 0.2, 0.7", "0.1, 0.9", 11, "2 numbers are given for 'lung'; 3 are needed"),
        ("0.1, 0.2, 0.7", "0.1, 0.2, 0.6", 11, "sums to 0.9"),
        ("0.1, 0.2, 0.7", "0.1, -0.2, 1.1", 11, "'-0.2'"),
        ("0.1, 0.2, 0.7", "nan nan nan", 11, "'nan'"),
        ("0.1, 0.2, 0.7", "1_0 inf 1", 11, "'1_0'"),
        ("  default 0.5 0.25 0.25;\n", "", 10, "2 of 4 rows of 'lung' are missing"),
        ('("yes, often", -1)', "(no, 2.5)", 13, "given twice"),
        ("  property note", "  default 1 0 0; property note", 10, "more than one default"),
        ("table 0.25, 0.75;", "table 0.25, 0.75; table 1 0;", 16, "given twice"),
        ('probability ( "smoke er" )', "probability ( lung )", 16, "twice"),
        ("table 0.25, 0.75", "table 0.25, 0.75, 0", 16, "3 numbers"),
        ('probability ( "smoke er" ) { table 0.25, 0.75; }', "", 3, "'smoke er' has no prob"),
        (
            'probability ( "smoke er" ) { table 0.25, 0.75; }',
            'probability ("smoke er" | a/b) { default 1 0; }',
            16,
            "form a cycle",
        ),
        ('network "lungs', 'netwerk "lungs', 2, "'netwerk' stands in the file where 'network'"),
        ("/* block", "/ * block", 7, "'/'"),
        ("comment */", "comment", 7, "never closed"),
        ("0.9 0.8; }\n", '0.9 0.8; } "', 17, "never closed"),
    ],
)
def test_errors_name_the_line(parsed, old, new, line, words):
    assert GOOD.count(old) == 1
    with pytest.raises(FileFormatError, match=f"line {line}: .*{words}"):
        parsed(GOOD.replace(old, new))


def test_a_text_cut_anywhere_is_refused_or_incomplete(parsed):
    for size in range(len(GOOD.rstrip()) - 1):
        with pytest.raises(FileFormatError):
            parsed(GOOD[:size])


def test_a_table_whose_columns_do_not_sum_to_one_is_refused_by_name(parsed):
    with raises(FileFormatError, about=("er=yes", "line 17")):
        parsed(GOOD.replace("0.1 0.2 0.9 0.8", "0.1 0.9 0.2 0.8"))


def test_a_table_that_would_not_fit_is_refused_before_it_is_allocated(parsed):
    names = [f"v{i}" for i in range(30)]
    text = "".join(f"variable {n} {{ type discrete [2] {{ a, b }}; }}" for n in names)
    text += f"probability ( v0 | {', '.join(names[1:])} ) {{ default 0.5 0.5; }}"
    with raises(FileFormatError, about=("'v0'", "line 1")):
        parsed(text)


def test_hostile_texts_take_linear_time(parsed):
    for text in ("/*" * 200_000, '"' + "\\" * 400_001, "(" * 400_000, "/" * 400_000, "a" * 10**6):
        with pytest.raises(FileFormatError):
            parsed(text)
        with pytest.raises(FileFormatError):
            parsed("variable x { type discrete [ 2 ] { " + text)


NAMES = [
    "plain", "with blank", "1a", "5", "a,b", "a;b", "(x)", "x|y", '"quoted"', "back\\slash\\",
    "//", "/*", "a/b", "é", "table", "property", "new\nline", "{", "default", "<5", "None",
]  # fmt: skip


def awkward():
    """A network whose names and states need every care."""
    rng = np.random.default_rng(5)
    schema = Schema(
        [Variable(name, tuple(NAMES[: i % 4 + 2])) for i, name in enumerate(NAMES)]
        + [Variable("all", tuple(NAMES)), Variable("one", ("", 2))]
    )
    dag = Dag(len(schema), [(i, i + 1) for i in range(len(schema) - 1)])
    tables = [
        rng.dirichlet(np.ones(schema.cards[i]), size=tuple(schema.cards[list(dag.parents(i))]))
        for i in range(dag.n)
    ]
    return BayesianNetwork(schema, dag, tables)


def test_only_what_needs_quotes_has_them(tmp_path):
    awkward().save(tmp_path / "net.bif", plain_names=False)
    text = (tmp_path / "net.bif").read_text(encoding="utf-8")
    for bare in ("variable plain {", "variable a/b {", "variable <5 {", "variable é {"):
        assert bare in text
    for quoted in ('variable "a,b" {', 'variable "//" {', 'variable "\\"quoted\\"" {'):
        assert quoted in text


def test_plain_names_are_plain_and_distinct(tmp_path):
    awkward().save(tmp_path / "net.bif")
    again = load(uncommented(tmp_path / "net.bif"))
    texts = [*again.schema.names, *again.schema["all"].states]
    assert all(t.replace("-", "").replace(".", "").isidentifier() or t.isdigit() for t in texts)
    assert again.schema.names[:2] == ("plain", "with_blank")


def test_states_that_share_a_text_cannot_be_written_as_they_are(tmp_path):
    schema = Schema([Variable("v", (1, "1"))])
    with raises(ParameterError, about="'v'"):
        BayesianNetwork(schema, Dag(1), [[0.5, 0.5]]).save(tmp_path / "net.bif", plain_names=False)
    assert list(tmp_path.iterdir()) == []
    BayesianNetwork(schema, Dag(1), [[0.5, 0.5]]).save(tmp_path / "net.bif")
    assert load(tmp_path / "net.bif").schema == schema


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "net.bif.gz"
    data = gzip.compress(GOOD.encode())
    for broken in (data[: len(data) // 2], data[:-9] + b"123456789", b"\x1f\x8b nothing"):
        path.write_bytes(broken)
        with pytest.raises(FileFormatError):
            load(path)
    (tmp_path / "net.bif").write_bytes(GOOD.encode("utf-16"))
    with raises(FileFormatError, about="net.bif"):
        load(tmp_path / "net.bif")
    (tmp_path / "empty.bif").write_bytes(b"")
    with raises(FileFormatError, about="0 variables"):
        load(tmp_path / "empty.bif")


@pytest.mark.parametrize("name", ["net.bif", "net.bif.gz"])
def test_what_is_written_is_read_back_exactly(tmp_path, name):
    network = awkward()
    network.save(tmp_path / name)
    again = load(tmp_path / name)
    assert again.schema.names == network.schema.names
    assert [v.states for v in again.schema] == [v.states for v in network.schema]
    assert again.dag.edges == network.dag.edges
    assert all(
        a.tobytes() == b.tobytes() for a, b in zip(again.tables, network.tables, strict=True)
    )
    assert (tmp_path / name).read_bytes()[:2] == (b"\x1f\x8b" if name.endswith("gz") else b"//")
