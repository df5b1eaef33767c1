"""XMLBIF and GeNIe's XDSL: what is read, what is refused and at which line, and no XML bombs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from counterpane.data.schema import Schema, Variable
from counterpane.errors import FileFormatError, ParameterError
from counterpane.formats import xml_networks
from counterpane.graphs import Dag
from counterpane.models import BayesianNetwork
from counterpane.storage import load
from error_checks import raises
from reference.plain_files import uncommented

XMLBIF = """<?xml version="1.0" encoding="US-ASCII"?>
<!DOCTYPE BIF [
  <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED>
]>
<BIF VERSION="0.3">
<NETWORK>
<NAME>lungs</NAME> <PROPERTY>any = &lt;thing&gt;</PROPERTY>
<VARIABLE TYPE="nature"> <NAME> smoke &amp; er </NAME>
  <OUTCOME>yes, &#233;</OUTCOME> <OUTCOME>no</OUTCOME> </VARIABLE>
<VARIABLE><NAME>kind</NAME><OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME><OUTCOME>c</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>lung</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<DEFINITION>
  <FOR>lung</FOR> <GIVEN>kind</GIVEN> <GIVEN>smoke &amp; er</GIVEN>
  <TABLE>0.1 0.9 <!-- a comment -->
         0.2 0.8
         0.3 0.7  0.4 0.6
         1 0      5e-1 .5 </TABLE>
</DEFINITION>
<DEFINITION><FOR>smoke &amp; er</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>
<DEFINITION><FOR>kind</FOR><TABLE>0.5 0.25 0.25</TABLE></DEFINITION>
</NETWORK>
</BIF>
"""

XDSL = """<?xml version="1.0" encoding="ISO-8859-1"?>
<smile version="1.0" id="lungs" numsamples="1000">
  <nodes>
    <cpt id="smoke">
      <state id="yes" /> <state id="no" />
      <probabilities>0.25 0.75</probabilities>
    </cpt>
    <cpt id="kind">
      <state id="a" /> <state id="b" /> <state id="c" />
      <probabilities>0.5 0.25 0.25</probabilities>
    </cpt>
    <cpt id="lung">
      <state id="x" /> <state id="y" />
      <parents>kind smoke</parents>
      <probabilities>0.1 0.9 0.2 0.8
        0.3 0.7  0.4 0.6  1 0  5e-1 .5</probabilities>
    </cpt>
    <deterministic id="sure">
      <state id="low" /> <state id="high" />
      <parents>kind</parents>
      <resultingstates>high low high</resultingstates>
    </deterministic>
  </nodes>
  <extensions>
    <genie version="1.0" app="GeNIe 4.1" name="lungs"><node id="smoke"><name>s</name></node></genie>
  </extensions>
</smile>
"""
LUNG = [[[0.1, 0.9], [0.3, 0.7], [1, 0]], [[0.2, 0.8], [0.4, 0.6], [0.5, 0.5]]]


@pytest.fixture(name="parsed")
def parse_in_folder(tmp_path):
    """A function from the text of an XML file to its network."""

    def parsed(text):
        name = "text.xdsl" if "<smile" in text else "text.xml"
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        return load(tmp_path / name)

    return parsed


def test_all_of_xmlbif_is_read(parsed):
    network = parsed(XMLBIF)
    assert network.schema.names == ("smoke & er", "kind", "lung")
    assert network.schema["smoke & er"].states == ("yes, é", "no")
    assert network.dag.edges == ((0, 2), (1, 2))
    np.testing.assert_array_equal(network.tables[2], LUNG)


def test_all_of_xdsl_is_read(parsed):
    network = parsed(XDSL)
    assert network.schema.names == ("smoke", "kind", "lung", "sure")
    assert network.dag.edges == ((0, 2), (1, 2), (1, 3))
    np.testing.assert_array_equal(network.tables[2], LUNG)
    np.testing.assert_array_equal(network.tables[3], [[0, 1], [1, 0], [0, 1]])


def test_agrum_lists_the_first_parent_fastest_in_xdsl(parsed):
    numbers = "0.1 0.9 0.2 0.8\n        0.3 0.7  0.4 0.6  1 0  5e-1 .5"
    theirs = "0.1 0.9 0.3 0.7 1 0 0.2 0.8 0.4 0.6 0.5 0.5"
    assert numbers in XDSL
    text = XDSL.replace(numbers, theirs).replace("GeNIe 4.1", "aGrUM 3.3.1")
    np.testing.assert_array_equal(parsed(text).tables[2], LUNG)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("<BIF VERSION", "<PMML VERSION", 5, "the root is <PMML>; <BIF> is needed"),
        ("</NETWORK>\n", "", 21, r"this is not XML, or it is cut short \(mismatched tag\)"),
        ("<VARIABLE><NAME>", '<VARIABLE TYPE="utility"><NAME>', 10, "'kind' is of type 'utility'"),
        ("<NAME>lung</NAME>", "<NAME>kind</NAME>", 11, "'kind' is declared twice"),
        ("<NAME>lung</NAME>", "", 11, "<VARIABLE> has 0 <NAME>; one is needed"),
        ("<NAME>lung</NAME>", "<NAME></NAME>", 11, "non-empty string"),
        ("<OUTCOME>y<", "<OUTCOME>x<", 11, "lists the state 'x' more than once"),
        ("<OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME>", "", 11, "'lung' has 0 states"),
        ("<FOR>lung</FOR>", "<FOR>lungs</FOR>", 12, "'lungs' is not known; did you mean 'lung'"),
        ("<FOR>lung</FOR>", "<FOR>kind</FOR>", 12, "the table of 'kind' comes or names a variable"),
        ("<FOR>lung</FOR>", "<FOR>lung</FOR><FOR>kind</FOR>", 12, "<DEFINITION> has 2 <FOR>"),
        ("<GIVEN>kind</GIVEN>", "<GIVEN>lung</GIVEN>", 12, "twice"),
        ("<GIVEN>kind</GIVEN>", "", 14, "12 numbers are given for 'lung'; 4 are needed"),
        ("0.3 0.7  0.4 0.6\n", "\n", 14, "8 numbers are given for 'lung'; 12 are needed"),
        ("0.3 0.7", "0.3 0.6", 14, r"P\(lung \| kind=b, smoke & er=yes, é\) sums to 0.9"),
        ("1 0 ", "0 0 ", 14, "sums to 0; 1 is needed"),
        ("0.3 ", "-0.3 ", 16, "'-0.3' stands in <TABLE> where a probability is needed"),
        ("0.3 ", "nan ", 16, "'nan'"),
        ("0.3 ", "three ", 16, "'three'"),
        ("<TABLE>0.25 0.75</TABLE>", "", 19, "<DEFINITION> has 0 <TABLE>; one is needed"),
        ("<TABLE>0.25 0.75<", "<GIVEN>lung</GIVEN><TABLE>1 0 1 0<", 12, "form a cycle"),
        ("<DEFINITION><FOR>kind</FOR><TABLE>0.5 0.25 0.25</TABLE></DEFINITION>", "", 10, "no prob"),
    ],
)  # fmt: skip
def test_errors_in_xmlbif_name_the_line(parsed, old, new, line, words):
    assert XMLBIF.count(old) == 1
    with pytest.raises(FileFormatError, match=f"line {line}: .*{words}"):
        parsed(XMLBIF.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('<cpt id="lung">', "<cpt>", 12, "<cpt> has no attribute 'id'"),
        ('<cpt id="lung">', '<cpt id="kind">', 12, "'kind' is declared twice"),
        ('<state id="y" />', "<state />", 13, "<state> has no attribute 'id'"),
        ("<parents>kind smoke<", "<parents>kind smoker<", 12, "'smoker' is not known; did you"),
        ("<parents>kind smoke<", "<parents>kind lung<", 12, "twice"),
        ("<parents>kind smoke<", "<parents>kind<", 15, "12 numbers are given for 'lung'; 6 are"),
        ("0.3 0.7", "0.3 0.6", 15, r"P\(lung \| kind=b, smoke=yes\) sums to 0.9"),
        ("0.3", "1e", 16, "'1e' stands in <probabilities>"),
        ("high low high", "high low", 21, "2 states are given for 'sure'; 3 are needed"),
        ("high low high", "high low middle", 21, "'middle' is not one of 2 states"),
        ("<resultingstates>high low high</resultingstates>", "", 18, "has 0 <resultingstates>"),
        ("<nodes>", '<nodes><noisymax id="or"></noisymax>', 3, "'or' is a noisymax node; only cpt"),
        ("<nodes>", '<nodes><utility id="u"></utility>', 3, "'u' is a utility node"),
        ("<extensions>", '<dynamic><order n="1"/></dynamic><extensions>', 24, "is dynamic"),
        (
            "<probabilities>0.25 0.75",
            "<parents>lung</parents><probabilities>1 0 1 0", 4, "of 'smoke', 'lung' form a cycle",
        ),
    ],
)  # fmt: skip
def test_errors_in_xdsl_name_the_line(parsed, old, new, line, words):
    assert XDSL.count(old) == 1
    with pytest.raises(FileFormatError, match=f"line {line}: .*{words}"):
        parsed(XDSL.replace(old, new))


BODY = "<BIF><NETWORK><NAME>&a;</NAME></NETWORK></BIF>"
LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'<!DOCTYPE BIF [<!ENTITY l0 "ha">{LAUGHS}<!ENTITY a "&l9;">]>{BODY}', "entity 'l0'"),
        (f'<!DOCTYPE BIF [<!ENTITY a "{"x" * 50_000}">]>{BODY}', "the entity 'a' is declared"),
        (f'<!DOCTYPE BIF [<!ENTITY a SYSTEM "file:///etc/hostname">]>{BODY}', "the entity 'a'"),
        (f'<!DOCTYPE BIF [<!ENTITY % p SYSTEM "http://127.0.0.1:9/"> %p;]>{BODY}', "entity 'p'"),
        (f'<!DOCTYPE BIF SYSTEM "file:///etc/hostname">{BODY}', "the entity 'a' is declared or"),
        (BODY, "undefined entity"),
        ("<BIF>" + "<NETWORK>" * 100_000, "nested too deep"),
        ("<BIF><NETWORK><NAME " + "x" * 2_000_000, "a tag or comment is longer than 1,048,576"),
        ("<BIF><!-- " + "x" * 2_000_000, "a tag or comment is longer than 1,048,576"),
        ('<?xml version="1.0" encoding="utf-99"?><BIF/>', "encoding"),
        ('<?xml version="1.0" encoding="big5"?><BIF/>', "encoding"),
        ("<BIF>\0</BIF>", "not XML"),
        ("<BIF></BIF>", "0 variables are declared"),
        ("", "not XML, or it is cut short"),
        ("network unknown { }", "not XML, or it is cut short"),
    ],
)
def test_what_could_swell_or_reach_out_is_refused(parsed, text, words):
    tracemalloc.start()
    with pytest.raises(FileFormatError, match=words):
        parsed(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e8


def test_a_record_holds_only_so_many_elements(parsed, monkeypatch):
    monkeypatch.setattr(xml_networks, "MAX_ELEMENTS", 1000)
    with raises(FileFormatError, about="text.xml"):
        parsed("<BIF><NETWORK><VARIABLE>" + "<OUTCOME/>" * 1001)


def test_defaults_of_a_dtd_are_not_multiplied(parsed):
    text = f'<!DOCTYPE BIF [<!ATTLIST OUTCOME a CDATA "{"x" * 100_000}">]>'
    text += "<BIF><NETWORK><VARIABLE>" + "<OUTCOME/>" * 20_000
    tracemalloc.start()
    with raises(FileFormatError, about="text.xml"):
        parsed(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e8


def test_names_that_xdsl_cannot_hold(tmp_path):
    schema = Schema([Variable("two words", ("a b", "c")), Variable("two_words", ("a", "b"))])
    network = BayesianNetwork(schema, Dag(2, [(0, 1)]), [[0.5, 0.5], [[0.5, 0.5], [1, 0]]])
    with raises(ParameterError, about="'two words'"):
        network.save(tmp_path / "net.xdsl", plain_names=False)
    assert list(tmp_path.iterdir()) == []
    network.save(tmp_path / "net.xdsl")
    assert load(tmp_path / "net.xdsl").schema == schema
    again = load(uncommented(tmp_path / "net.xdsl"))
    assert again.schema.names == ("two_words_2", "two_words")
    assert again.schema[0].states == ("a_b", "c")


def test_the_order_of_columns_is_kept_where_parents_come_later(tmp_path):
    schema = Schema.from_cards([2, 2, 2])
    network = BayesianNetwork(
        schema, Dag(3, [(2, 0), (0, 1)]), [[[0.5, 0.5], [1, 0]], [[0, 1], [0.25, 0.75]], [1, 0]]
    )
    network.save(tmp_path / "net.xdsl")
    text = (tmp_path / "net.xdsl").read_text()
    assert text.index('<cpt id="x2">') < text.index('<cpt id="x0">') < text.index('<cpt id="x1">')
    assert load(tmp_path / "net.xdsl").schema.names == ("x0", "x1", "x2")
