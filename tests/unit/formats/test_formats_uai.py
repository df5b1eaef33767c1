"""UAI: what is read, what is refused and at which line, and what is written."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane.errors import FileFormatError
from counterpane.storage import load
from error_checks import raises

GOOD = """BAYES
3
2 3 2
3
1 0
1 1   # a comment
3 1 0 2

2
 0.25 0.75
3
 0.5 0.25 0.25
12
 0.1 0.9  0.2 0.8
 0.3 0.7  0.4 0.6
 1 0      5e-1 .5
"""


@pytest.fixture(name="parsed")
def parse_in_folder(tmp_path):
    """A function from the text of a UAI file to its network."""

    def parsed(text):
        (tmp_path / "text.uai").write_text(text, encoding="utf-8", newline="")
        return load(tmp_path / "text.uai")

    return parsed


def test_numbers_run_over_the_scope_as_listed_the_last_fastest(parsed):
    network = parsed(GOOD)
    assert network.schema.names == ("x0", "x1", "x2")
    assert network.schema["x1"].states == ("0", "1", "2")
    assert network.dag.edges == ((0, 2), (1, 2))
    expected = [[[0.1, 0.9], [0.3, 0.7], [1, 0]], [[0.2, 0.8], [0.4, 0.6], [0.5, 0.5]]]
    np.testing.assert_array_equal(network.tables[2], expected)
    assert network.query("x2", {"x0": "1", "x1": "0"})["1"] == 0.8


def test_what_is_written(parsed, tmp_path):
    parsed(GOOD).save(tmp_path / "again.uai")
    text = (tmp_path / "again.uai").read_text()
    assert text.startswith("BAYES\n3\n2 3 2\n3\n1 0\n1 1\n3 0 1 2\n\n2\n 0.25 0.75\n\n3\n")
    assert "12\n 0.1 0.9\n 0.3 0.7\n 1.0 0.0\n 0.2 0.8\n" in text


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("BAYES", "LIMID", 1, "'LIMID' stands in the file where 'BAYES' or 'MARKOV' is needed"),
        ("BAYES\n3\n", "BAYES\n0\n", 2, "the number of variables is '0'; 1 to 16384 is"),
        ("BAYES\n3\n", "BAYES\n99999999999\n", 2, "the number of variables is '99999999999'"),
        ("BAYES\n3\n", "BAYES\n" + "9" * 9000 + "\n", 2, "the number of variables is '9999"),
        ("2 3 2\n3\n", "2 3\n3\n", 5, "the number of tables, one for each variable, is '1'"),
        ("2 3 2\n", "2 -3 2\n", 3, "the size of variable 1 is '-3'"),
        ("2 3 2\n", "2 100000 2\n", 3, "the size of variable 1 is '100000'; 1 to 65535"),
        ("2 3 2\n", "2 ³ 2\n", 3, "the size of variable 1 is '³'"),
        ("2 3 2\n3\n", "2 3 2\n2\n", 4, "the number of tables, one for each variable, is '2'"),
        ("1 1   #", "1 3   #", 6, "a variable of scope 1 is '3'; 0 to 2 is needed"),
        ("3 1 0 2", "4 1 0 0 2", 7, "the size of scope 2 is '4'; 1 to 3 is needed"),
        ("3 1 0 2", "3 1 1 2", 13, "the size of table 2 is '12'; 18 is needed"),
        ("1 1   #", "1 0   #", 11, "the size of table 1 is '3'; 2 is needed"),
        ("12\n", "13\n", 13, "the size of table 2 is '13'; 12 is needed"),
        ("12\n", "100000000000\n", 13, "the size of table 2 is '100000000000'; 12 is needed"),
        (" 0.3 0.7  0.4 0.6\n", "", 16, "the file ends inside table 2; it may be cut short"),
        ("5e-1 .5", "5e-1 .5 .5", 16, "'.5' stands in the file after the last table"),
        ("0.3 0.7", "0.3 0.6", 14, r"P\(x2 \| x1=1, x0=0\) sums to 0.9; 1 is needed"),
        ("1 0     ", "0 0     ", 14, "sums to 0;"),
        ("0.3", "-0.3", 15, "'-0.3' stands in table 2 where a probability is needed"),
        ("0.3", "NaN", 15, "'NaN'"),
        ("0.3", "(0.3)", 15, r"'\('"),
    ],
)
def test_errors_name_the_line(parsed, old, new, line, words):
    assert GOOD.count(old) == 1
    with pytest.raises(FileFormatError, match=f"line {line}: .*{words}"):
        parsed(GOOD.replace(old, new))


def test_cycles_and_second_tables_are_refused(parsed):
    text = "BAYES 2 2 2 2 2 1 0 2 0 1  4 .5 .5 .5 .5  4 .5 .5 .5 .5"
    with raises(FileFormatError, about=("'x0'", "'x1'")):
        parsed(text)
    with raises(FileFormatError, about="'x0'"):
        parsed("BAYES 2 2 2 2 1 0 1 0 2 .5 .5 2 .5 .5")
    with raises(FileFormatError, about="'x0'"):
        parsed("BAYES 2 2 2 2 2 0 0 1 1 4 1 0 0 1 2 .5 .5")


def test_a_table_that_would_not_fit_is_refused_before_it_is_read(parsed):
    scope = " ".join(map(str, range(30)))
    with raises(FileFormatError, about=("table 0", "67,108,864 cells")):
        parsed(f"BAYES 30 {'2 ' * 30} 30 " + f"30 {scope} " * 30 + "1073741824 0.5 0.5")
