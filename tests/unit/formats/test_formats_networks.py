"""Known networks in every format: exact round trips, and exchange with pyAgrum both ways."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from counterpane.storage import load
from reference.plain_files import uncommented

FOLDER = Path(os.environ.get("COUNTERPANE_DATA", "")) / "networks"
NETWORKS = sorted(p.name.split(".")[0] for p in FOLDER.glob("*.bif.gz"))
SUFFIXES = ["bif", "bifxml", "uai", "net", "xdsl"]
# In these two, pyAgrum 3.3 reads and writes the first parent as the fastest, against the formats'
# own rule, in which it is the last.
FIRST_IS_FASTEST = ("uai", "xdsl")
needs_data = pytest.mark.skipif(not NETWORKS, reason="COUNTERPANE_DATA has no networks folder")


def opened(name):
    return load(FOLDER / f"{name}.bif.gz")


def in_axes(cpt, names):
    """A table of pyAgrum with its axes in the order of `names`."""
    return cpt.toarray().transpose([cpt.names[::-1].index(name) for name in names])


@needs_data
@pytest.mark.parametrize("name", NETWORKS)
def test_every_format_keeps_tables_bit_for_bit(name, tmp_path):
    network = opened(name)
    for suffix in ("cp", "cp.gz", *SUFFIXES, "xdsl.gz"):
        path = tmp_path / f"net.{suffix}"
        network.save(path)
        again = load(path)
        assert again.schema == network.schema
        assert again.dag == network.dag
        pairs = zip(again.tables, network.tables, strict=True)
        assert all(a.tobytes() == b.tobytes() for a, b in pairs)


@needs_data
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_pyagrum_reads_what_is_written(suffix, name, tmp_path, pyagrum):
    network = opened(name)
    path = tmp_path / f"net.{suffix}"
    network.save(path)
    other = pyagrum.loadBN(str(path))
    plain = load(uncommented(path)).schema  # the words that the file has
    changed = {s for a, b in zip(network.schema, plain, strict=True) if a != b for s in a.states}
    if suffix != "uai":  # which has no words; child has 0-3_days, link 1_1, GeNIe identifiers
        assert changed == set() or name in ("child", "link") or suffix == "xdsl"
        assert network.schema.names == plain.names
    assert other.size() == len(network.schema)
    names = [str(i) if suffix == "uai" else v for i, v in enumerate(network.schema.names)]
    for i, table in enumerate(network.tables):
        parents = network.dag.parents(i)
        assert set(other.cpt(names[i]).names) == {names[v] for v in (*parents, i)}
        parents = parents[::-1] if suffix in FIRST_IS_FASTEST else parents
        theirs = in_axes(other.cpt(names[i]), [names[v] for v in (*parents, i)])
        # pyAgrum's readers keep single precision.
        np.testing.assert_allclose(theirs.ravel(), table.ravel(), rtol=1e-6, atol=1e-12)
        if suffix != "uai":
            assert other.variable(names[i]).labels() == plain[i].states


@needs_data
@pytest.mark.parametrize("name", ["asia", "cancer", "alarm", "insurance"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_pyagrum_writes_is_read(suffix, name, tmp_path, pyagrum):
    opened(name).save(tmp_path / "ours.net")
    other = pyagrum.loadBN(str(tmp_path / "ours.net"))
    path = tmp_path / f"theirs.{suffix}"
    pyagrum.saveBN(other, str(path))
    network = load(path)
    assert len(network.schema) == other.size()
    for i, variable in enumerate(network.schema):
        cpt = other.cpt(i if suffix == "uai" else variable.name)
        child, *listed = cpt.names
        names = [*listed, child]
        if suffix == "uai":
            ours_of = {other.variable(j).name(): f"x{j}" for j in other.nodes()}
            theirs = in_axes(cpt, [*listed[::-1], child])  # see FIRST_IS_FASTEST
            names = [ours_of[n] for n in names]
        else:
            theirs = in_axes(cpt, names)
            assert variable.states == other.variable(child).labels()
        family = [*network.dag.parents(i), i]
        axes = [family.index(network.schema.index(n)) for n in names]
        ours = network.tables[i].transpose(axes)
        # pyAgrum writes six digits in some formats.
        np.testing.assert_allclose(ours.ravel(), theirs.ravel(), rtol=1e-5, atol=1e-12)
