"""Hugin's NET: what is read, what is refused and at which line, and what is written."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane.errors import FileFormatError
from counterpane.storage import load
from error_checks import raises

GOOD = """% a comment; with ) marks
net
{
    name = "lungs; }";  node_size = (50 50);
}
node smoke { label = "Smoker?"; position = (1 2); states = ("yes, 5%" no); }
discrete node "kind of" {
  states = ("a" "b" "c\\"d");
  subtype = label;
}
node lung { states = ("x" "y"); }
potential (lung | "kind of" smoke)
{
  data = (((0.1 0.9) % the first
           (0.2 0.8))
          ((0.3 0.7) (0.4 0.6))
          ((1 0) (5e-1 .5)));
}
potential (smoke) { data = (0.25 0.75); }
potential ("kind of" | ) { HR_Desc = "none"; data = (0.5 0.25 0.25); }
"""


@pytest.fixture(name="parsed")
def parse_in_folder(tmp_path):
    """A function from the text of a NET file to its network."""

    def parsed(text):
        (tmp_path / "text.net").write_text(text, encoding="utf-8", newline="")
        return load(tmp_path / "text.net")

    return parsed


def check_good(network):
    assert network.schema.names == ("smoke", "kind of", "lung")
    assert network.schema["smoke"].states == ("yes, 5%", "no")
    assert network.schema["kind of"].states == ("a", "b", 'c"d')
    assert network.dag.edges == ((0, 2), (1, 2))
    expected = [[[0.1, 0.9], [0.3, 0.7], [1, 0]], [[0.2, 0.8], [0.4, 0.6], [0.5, 0.5]]]
    np.testing.assert_array_equal(network.tables[2], expected)


def test_all_of_the_grammar_is_read(parsed):
    check_good(parsed(GOOD))


def test_a_class_around_it_is_passed_over(parsed):
    start = GOOD.index("node smoke")
    check_good(parsed(f"class Lungs {{ inputs = (); outputs = (lung);\n{GOOD[start:]} }}"))
    with raises(FileFormatError, about="text.net"):
        parsed(f"class Lungs {{ inputs = ();\n{GOOD[start:]}")


def test_rows_need_no_parentheses_of_their_own(parsed):
    text = GOOD.replace("(((0.1 0.9) % the first", "(0.1 0.9")
    text = text.replace("(0.2 0.8))", "0.2 0.8").replace("((0.3 0.7) (0.4 0.6))", "0.3 0.7 0.4 0.6")
    check_good(parsed(text.replace("((1 0) (5e-1 .5)))", "1 0 5e-1 .5)")))


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("node lung", "utility lung", 11, "'lung' is a utility node; only discrete chance"),
        ("node lung", "decision lung", 11, "'lung' is a decision node"),
        ("node lung", "continuous node lung", 11, "'lung' is a continuous node"),
        ("node lung", "node smoke", 11, "'smoke' is declared twice"),
        ('("x" "y")', '("x" "x")', 11, "lists the state 'x' more than once"),
        ('states = ("x" "y");', "", 11, "'lung' has 0 states"),
        ('("x" "y");', '("x" "y"); states = ("x" "y");', 11, "lists its states twice"),
        ('("x" "y")', '("x" ("y"))', 11, r"'\(' stands in the block of node 'lung'"),
        ('lung | "kind of" smoke', 'lung | "kind of" smoker', 12, "'smoker' is not known; did you"),
        ('lung | "kind of" smoke', 'lung | "kind of" lung', 12, "twice"),
        ('lung | "kind of" smoke', 'lung "kind of" smoke', 12, r"where '\|' or '\)' is needed"),
        ("(0.3 0.7)", "(0.3 0.7 0)", 16, "a row of 'lung' has 3 numbers, not 2"),
        (" (0.4 0.6)", "", 12, "10 numbers are given for 'lung'; 12 are needed"),
        ("(0.4 0.6)", "(0.4 0.5)", 12, r"P\(lung \| kind of=b, smoke=no\) sums to 0.9; 1"),
        ("(1 0)", "(0 0)", 12, "sums to 0; 1 is needed"),
        ("0.3", "-0.3", 16, "'-0.3' stands in the potential of 'lung' where a prob"),
        ("0.3", "nan", 16, "'nan'"),
        ("0.3", "x", 16, "'x'"),
        ("0.3", "1e999", 16, "'1e999'"),
        ("data = (0.25 0.75);", "", 19, "the potential of 'smoke' has no data"),
        ("data = (0.25 0.75)", "data = 0.25", 19, "'0.25' stands in .* data in parentheses"),
        ("(0.25 0.75);", "(0.25 0.75); data = (1 0);", 19, "data twice"),
        ("(0.25 0.75);", "(0.25 0.75));", 19, r"'\)' stands in the potential of 'smoke'"),
        ("potential (smoke) { data = (0.25 0.75); }", "", 6, "'smoke' has no probabilities"),
        ("net\n", "met\n", 2, "'met' stands in the file where 'net'"),
        ("HR_Desc", '"HR_Desc"', 20, "where a field's name is needed"),
    ],
)  # fmt: skip
def test_errors_name_the_line(parsed, old, new, line, words):
    assert GOOD.count(old) == 1
    with pytest.raises(FileFormatError, match=f"line {line}: .*{words}"):
        parsed(GOOD.replace(old, new))


def test_a_cycle_is_refused(parsed):
    text = GOOD.replace("(smoke) { data = (0.25 0.75); }", "(smoke | lung) { data = (1 0 1 0); }")
    with raises(FileFormatError, about=("'lung'", "'smoke'")):
        parsed(text)


def test_deep_nesting_is_only_counted(parsed):
    deep = GOOD.replace("(0.25 0.75)", "(" * 100_000 + "0.25 0.75" + ")" * 100_000)
    check_good(parsed(deep))
    with pytest.raises(FileFormatError):
        parsed(GOOD.replace("(0.25 0.75)", "(" * 300_000 + "0.25 0.75"))


def test_states_are_quoted_and_names_where_they_must(parsed, tmp_path):
    parsed(GOOD).save(tmp_path / "again.net", plain_names=False)
    text = (tmp_path / "again.net").read_text(encoding="utf-8")
    assert 'node smoke\n{\n  states = ("yes, 5%" "no");' in text
    assert 'potential (lung | smoke "kind of")' in text
    check_good(load(tmp_path / "again.net"))
