"""Laws of the file formats: what is written is read, whatever the names and numbers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from counterpane.data.schema import Schema, Variable
from counterpane.errors import FileFormatError, ParameterError
from counterpane.graphs import Dag
from counterpane.models import BayesianNetwork
from counterpane.storage import load
from law_settings import examples
from reference.plain_files import uncommented

SETTINGS = examples(40, suppress_health_check=list(HealthCheck))
SUFFIXES = [".bif", ".net", ".uai", ".xdsl", ".xml"]
KEYWORDS = ["table", "default", "network", "node", "data", "states", "property", "BIF", "cpt", "|"]
ODD = [
    *KEYWORDS, " ", " a", "a ", "a b", '"', '\\"', "\\", "\\\\", "//", "/*", "*/", "%", "#x", "a,b",
    "(", ")", "{}", "[1]", ";", "=", "<b>", "</OUTCOME>", "&amp;", "&#65;", "]]>", "<!--", "é",
    "变量", "\t", "\n", "\r\n", "\u00a0", "\u2028", "\u0085", "\ufeff", "-1", "0", "1e5", "nan",
    "None", "'",
]  # fmt: skip
words = st.one_of(
    st.sampled_from(ODD),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
    st.from_regex(r"[A-Za-z_]\w{0,6}", fullmatch=True),
)


@st.composite
def networks(draw, words=words):
    """A network of 1 to 5 variables with 1 to 4 states; some probabilities are 0 or tiny."""
    names = draw(st.lists(words, min_size=1, max_size=5, unique=True))
    schema = Schema(
        Variable(name, tuple(draw(st.lists(words, min_size=1, max_size=4, unique=True))))
        for name in names
    )
    order = draw(st.permutations(range(len(names))))
    pairs = [(a, b) for k, b in enumerate(order) for a in order[:k]]
    dag = Dag(len(names), [pair for pair in pairs if draw(st.booleans())])
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tables = []
    for i in range(dag.n):
        shape = schema.cards[[*dag.parents(i), i]]
        table = rng.random(shape) ** rng.choice([1, 40])
        table[rng.random(shape) < 0.2] = 0
        table[..., 0] += table.sum(axis=-1) == 0
        tables.append(table / table.sum(axis=-1, keepdims=True))
    return BayesianNetwork(schema, dag, tables)


def assert_same(again, network):
    assert again.dag == network.dag
    pairs = zip(again.tables, network.tables, strict=True)
    assert all(a.tobytes() == b.tobytes() for a, b in pairs)


@pytest.mark.parametrize("suffix", SUFFIXES)
@SETTINGS
@given(network=networks())
def test_what_is_written_is_read(suffix, network):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"net{suffix}")
        network.save(path)
        again = load(path)
        assert again.schema == network.schema
        assert_same(again, network)
        try:
            network.save(path, plain_names=False)
        except ParameterError as error:
            assert suffix in (".xml", ".xdsl"), error
            assert "which this format cannot hold" in str(error)
            assert load(path).schema == network.schema  # the file from before
            return
        again = load(path)
        if suffix != ".uai":
            assert again.schema == network.schema
        assert_same(again, network)


@pytest.mark.parametrize("suffix", SUFFIXES)
@SETTINGS
@given(network=networks())
def test_plain_names_are_always_held_and_distinct(suffix, network):
    with tempfile.TemporaryDirectory() as folder:
        network.save(Path(folder, f"net{suffix}"))
        again = load(uncommented(Path(folder, f"net{suffix}")))
    assert_same(again, network)
    assert all(name.isidentifier() and name.isascii() for name in again.schema.names)
    for word in ("table", "node", "data"):
        assert word not in again.schema.names


@pytest.mark.parametrize("suffix", SUFFIXES)
@SETTINGS
@given(network=networks(st.from_regex(r"[a-z]{1,6}", fullmatch=True)), data=st.data())
def test_shuffled_and_broken_texts_give_networks_or_errors(suffix, network, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"net{suffix}")
        network.save(path)
        lines = path.read_text(encoding="utf-8").split("\n")
        first, last = sorted(data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        move = data.draw(st.sampled_from(["drop", "repeat", "swap"]))
        if move == "drop":
            del lines[first : last + 1]
        elif move == "repeat":
            lines[last:last] = lines[first : last + 1]
        else:
            lines[first], lines[last] = lines[last], lines[first]
        path.write_text("\n".join(lines), encoding="utf-8")
        try:
            again = load(path)
        except FileFormatError:
            return
        for table in again.tables:
            np.testing.assert_allclose(table.sum(axis=-1), 1)
