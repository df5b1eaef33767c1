"""What holds for every format: suffixes, names, damage, hostile files, whole writes."""

from __future__ import annotations

import gzip
import os
import tracemalloc

import numpy as np
import pytest

from counterpane.data.schema import Schema, Variable
from counterpane.errors import FileFormatError, ParameterError
from counterpane.formats import FORMAT_OF, files
from counterpane.graphs import Dag
from counterpane.models import BayesianNetwork
from counterpane.models.base import Model
from counterpane.storage import load
from error_checks import raises
from reference.plain_files import uncommented

SUFFIXES = sorted(s for s, found in FORMAT_OF.items() if found.name != "libra")
ONE_EACH = [".bif", ".net", ".uai", ".xdsl", ".xml"]


def small_network():
    """Three variables whose child comes before one of its parents."""
    schema = Schema(
        [
            Variable("smoke", ("no", "yes")),
            Variable("lung", ("low", "middle", "high")),
            Variable("kind", ("a", "b", "c", "d")),
        ]
    )
    rng = np.random.default_rng(3)
    tables = [rng.dirichlet(np.ones(k), size) for k, size in ((2, ()), (3, (2, 4)), (4, ()))]
    return BayesianNetwork(schema, Dag(3, [(0, 1), (2, 1)]), tables)


def assert_same(again, network, suffix):
    if suffix != ".uai":
        assert again.schema == network.schema
    assert again.dag == network.dag
    pairs = zip(again.tables, network.tables, strict=True)
    assert all(a.tobytes() == b.tobytes() for a, b in pairs)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_save_and_load_go_by_suffix(suffix, tmp_path):
    network = small_network()
    for name in (f"net{suffix}", f"net{suffix}.gz", f"NET{suffix.upper()}", f"a.b{suffix}"):
        network.save(tmp_path / name)
        assert_same(load(tmp_path / name), network, suffix)
        zipped = (tmp_path / name).read_bytes()[:2] == b"\x1f\x8b"
        assert zipped == name.endswith(".gz")


def test_a_name_without_suffix_is_native(tmp_path):
    network = small_network()
    network.save(tmp_path / "model")
    assert load(tmp_path / "model").schema == network.schema
    os.rename(tmp_path / "model", tmp_path / "model.bif")  # the first bytes say what it is
    assert load(tmp_path / "model.bif").schema == network.schema


def test_an_unknown_suffix_names_the_known_ones(tmp_path):
    known = ("cp", "bif", "xmlbif", "bifxml", "xml", "uai", "net", "xdsl", "bn")
    for name in ("net.dne", "net.dne.gz"):
        with raises(ParameterError, about="'.dne'") as caught:
            small_network().save(tmp_path / name)
        assert all(f" .{suffix}," in str(caught.value) for suffix in known)
    (tmp_path / "net.dne").write_text("network unknown { }")
    with raises(FileFormatError, about="net.dne") as caught:
        load(tmp_path / "net.dne")
    assert all(f".{suffix}," in str(caught.value) for suffix in known)


def test_a_model_that_is_no_bayesian_network_is_only_saved_as_native(tmp_path, monkeypatch):
    monkeypatch.setattr(BayesianNetwork, "_network", Model._network)
    small_network().save(tmp_path / "net.cp")
    with raises(ParameterError, about="'.bif'"):
        small_network().save(tmp_path / "net.bif")


@pytest.mark.parametrize("suffix", ONE_EACH)
def test_pieces_of_any_size_read_alike(suffix, tmp_path, monkeypatch):
    network = small_network()
    network.save(tmp_path / f"net{suffix}")
    for size in (1, 2, 3, 7, 64, 1000):
        monkeypatch.setattr(files, "PIECE", size)
        assert_same(load(tmp_path / f"net{suffix}"), network, suffix)


@pytest.mark.parametrize("suffix", ONE_EACH)
def test_a_file_cut_anywhere_is_refused(suffix, tmp_path):
    small_network().save(tmp_path / f"net{suffix}")
    data = (tmp_path / f"net{suffix}").read_bytes().rstrip()
    if suffix == ".uai":
        data = data[: data.index(b"\n#")]  # comments with the names follow the last table
        data = data[: data.rindex(b" ")]  # nothing closes the last number
    for size in range(len(data)):
        (tmp_path / f"cut{suffix}").write_bytes(data[:size])
        with pytest.raises(FileFormatError, match=f"cut{suffix}', line [0-9]+: [^\n]+[.?]$"):
            load(tmp_path / f"cut{suffix}")


@pytest.mark.parametrize("suffix", ONE_EACH)
def test_a_zipped_file_cut_anywhere_is_refused(suffix, tmp_path):
    small_network().save(tmp_path / f"net{suffix}.gz")
    data = (tmp_path / f"net{suffix}.gz").read_bytes()
    for size in range(0, len(data), 5):
        (tmp_path / f"cut{suffix}.gz").write_bytes(data[:size])
        with pytest.raises(FileFormatError):
            load(tmp_path / f"cut{suffix}.gz")


@pytest.mark.parametrize("suffix", ONE_EACH)
def test_random_damage_is_refused_or_harmless(suffix, tmp_path):
    network = small_network()
    network.save(tmp_path / f"net{suffix}")
    data = (tmp_path / f"net{suffix}").read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(200):
        damaged = bytearray(data)
        for place in rng.integers(len(data), size=rng.integers(1, 4)):
            damaged[place] = rng.choice(list(b'0.9 (){}<>;"/\\%#|\xff\x00a&'))
        (tmp_path / f"net{suffix}").write_bytes(damaged)
        try:
            again = load(tmp_path / f"net{suffix}")
        except FileFormatError:
            refused += 1
        else:  # a name or a digit changed: still a network
            assert all(np.allclose(t.sum(axis=-1), 1) for t in again.tables)
    assert refused > 50


@pytest.mark.parametrize("suffix", ONE_EACH)
def test_a_zip_bomb_stops_at_the_limit(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 2**22)
    start = b"<smile>" if suffix == ".xdsl" else b"<BIF>" if suffix == ".xml" else b""
    (tmp_path / f"bomb{suffix}.gz").write_bytes(gzip.compress(start + b" \n" * 2**24))
    tracemalloc.start()
    with raises(FileFormatError, about="200"):
        load(tmp_path / f"bomb{suffix}.gz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e7


def claims(suffix):
    """Files of a kilobyte that claim tables of 100 MB and more, with few numbers."""
    names = [f"v{i}" for i in range(24)]
    if suffix == ".bif":
        text = "".join(f"variable {n} {{ type discrete [2] {{ a, b }}; }}" for n in names)
        yield text + f"probability ( v0 | {', '.join(names[1:])} ) {{ (a, a) 0.5 0.5; }}"
        yield text + f"probability ( v0 | {', '.join(names[1:])} ) {{ table 0.5 0.5; }}"
    elif suffix == ".net":
        text = "".join(f'node {n} {{ states = ("a" "b"); }}' for n in names)
        yield text + f"potential (v0 | {' '.join(names[1:])}) {{ data = ((0.5 0.5)); }}"
    elif suffix == ".uai":
        scope = " ".join(map(str, range(24)))
        yield f"BAYES 24 {'2 ' * 24} 24 24 {scope} {'1 0 ' * 23} {2**24} 0.5 0.5"
        yield f"BAYES 24 {'2 ' * 24} 24 24000000000 {scope}"
        yield "BAYES 16000 2 2"
        yield f"BAYES 2 65535 65535 2 2 0 1 1 0 {65535**2} 0.5 0.5"
    elif suffix == ".xdsl":
        text = "".join(
            f'<cpt id="{n}"><state id="a"/><state id="b"/><probabilities>1 0</probabilities></cpt>'
            for n in names[1:]
        )
        for kind, field in (("cpt", "probabilities"), ("deterministic", "resultingstates")):
            yield (
                f'<smile><nodes>{text}<{kind} id="v0"><state id="a"/><state id="b"/><parents>'
                f"{' '.join(names[1:])}</parents><{field}>1 0</{field}></{kind}></nodes></smile>"
            )
    else:
        variable = "<VARIABLE><NAME>{}</NAME><OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME></VARIABLE>"
        given = "".join(f"<GIVEN>{n}</GIVEN>" for n in names[1:])
        yield (
            f"<BIF><NETWORK>{''.join(map(variable.format, names))}<DEFINITION><FOR>v0</FOR>{given}"
            "<TABLE>0.5 0.5</TABLE></DEFINITION></NETWORK></BIF>"
        )


@pytest.mark.parametrize("suffix", ONE_EACH)
def test_claims_that_the_file_does_not_hold_cost_nothing(suffix, tmp_path):
    for text in claims(suffix):
        (tmp_path / f"claim{suffix}").write_text(text)
        tracemalloc.start()
        with pytest.raises(FileFormatError):
            load(tmp_path / f"claim{suffix}")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1e7


def test_long_lists_and_names_are_refused_without_a_long_search(tmp_path):
    states = ", ".join(f"s{i}" for i in range(60_000))
    one = "variable v { type discrete [ %d ] { %s }; }"
    long = "name" * 8_000
    for text, words in (
        (one % (60_001, states + ", s59999"), "'s59999'"),
        (one % (70_000, states + ", t" * 10_000), "65535 names"),
        (
            one.replace("e v", f"e {long}") % (1, "a") + f"probability ( m{long} ) {{ }}",
            "net.bif",
        ),
        ("variable v { type discrete [1] { a }; }" * 20_000, "20000 variables"),
        (one % (1, "x" * 2_000_000), "1,048,576 characters"),
    ):
        (tmp_path / "net.bif").write_text(text)
        with raises(FileFormatError, about=words) as caught:
            load(tmp_path / "net.bif")
        assert len(str(caught.value)) < 700


def test_parents_without_choice_do_not_exceed_the_axes_of_an_array(tmp_path):
    names = [f"v{i}" for i in range(80)]
    text = "".join(f"variable {n} {{ type discrete [1] {{ a }}; }}" for n in names)
    text += f"probability ( v0 | {', '.join(names[1:])} ) {{ default 1; }}"
    (tmp_path / "net.bif").write_text(text)
    with raises(FileFormatError, about="64 axes"):
        load(tmp_path / "net.bif")


@pytest.mark.parametrize("suffix", ONE_EACH)
def test_a_failed_save_leaves_the_old_file_alone(suffix, tmp_path, monkeypatch):
    path = tmp_path / f"net{suffix}"
    small_network().save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(files.os, "fsync", fail)
    with raises(OSError, about="disk"):
        small_network().save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", [".bif", ".net", ".xdsl", ".xml"])
def test_names_that_no_text_holds(suffix, tmp_path):
    schema = Schema([Variable("half \ud800", ("a\x01", "b\ufffe"))])
    network = BayesianNetwork(schema, Dag(1), [[0.5, 0.5]])
    with raises(ParameterError, about="'half \\ud800'"):
        network.save(tmp_path / f"net{suffix}", plain_names=False)
    assert os.listdir(tmp_path) == []
    network.save(tmp_path / f"net{suffix}")
    assert load(tmp_path / f"net{suffix}").schema == schema
    others_see = load(uncommented(tmp_path / f"net{suffix}"))
    assert others_see.schema == Schema([Variable("half", ("a", "b"))])


@pytest.mark.parametrize("suffix", [".bif", ".net", ".xdsl", ".xml"])
def test_rows_that_were_rounded_to_six_digits_are_brought_to_one(suffix, tmp_path):
    row = np.round(np.random.default_rng(1).dirichlet(np.ones(40)), 6)
    network = BayesianNetwork(Schema.from_cards([40]), Dag(1), [row / row.sum()])
    network.save(tmp_path / f"net{suffix}")
    text = (tmp_path / f"net{suffix}").read_text()
    exact = network.tables[0].tolist()
    for number, rounded in zip(exact, (row * (1 + 1e-5)).tolist(), strict=True):
        text = text.replace(repr(number), repr(rounded), 1)
    (tmp_path / f"net{suffix}").write_text(text)
    again = load(tmp_path / f"net{suffix}")
    assert abs(again.tables[0].sum() - 1) < 1e-15
    np.testing.assert_allclose(again.tables[0], network.tables[0], rtol=1e-12)
