"""What would need more memory than there is says so, in one sentence, before it begins."""

from __future__ import annotations

import gzip
import time

import numpy as np
import pytest

import counterpane as cp
from counterpane import memory
from counterpane.checks import accepts
from counterpane.learners.registry import LEARNERS
from error_checks import raises
from faults.peak import peak_growth

GIB = 2**30
LITTLE = 2**29  # a sanitizer alone holds 2**28 bytes of what was freed


@pytest.fixture
def two_gigabytes(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2 * GIB)


# ---- one place knows the memory -----------------------------------------------------------------


def test_memory_of_the_control_group(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    monkeypatch.setattr(memory, "PROCESS", tmp_path)
    inner = tmp_path / "jobs" / "mine"
    inner.mkdir(parents=True)
    (tmp_path / "cgroup").write_text("0::/jobs/mine\n")
    for folder, limit, used in ((inner, "max", 5), (inner.parent, str(3 * 10**6), 10**6)):
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text(f"{used}\n")
        (folder / "memory.stat").write_text("anon 7\ninactive_file 500000\n")
    assert memory.available_memory() == 3 * 10**6 - 10**6 + 500_000
    (inner / "memory.max").write_text("105\n")
    assert memory.available_memory() == 100 + 500_000


def test_memory_of_a_group_of_version_1_in_a_container(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    monkeypatch.setattr(memory, "PROCESS", tmp_path)
    (tmp_path / "memory").mkdir()
    (tmp_path / "cgroup").write_text("5:cpu:/x\n4:memory:/docker/abc\n")
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("1000000")
    (tmp_path / "memory" / "memory.usage_in_bytes").write_text("400000")
    (tmp_path / "memory" / "memory.stat").write_text("total_inactive_file 0")
    assert memory.available_memory() == 600_000


def test_a_limit_of_the_process_counts(monkeypatch):
    before = memory.available_memory()
    monkeypatch.setattr(memory.resource, "getrlimit", lambda _: (10**15, 10**15))
    assert memory.available_memory() <= before * 1.1
    monkeypatch.setattr(memory.resource, "getrlimit", lambda _: (10**6, 10**6))
    assert memory.available_memory() == 0


def test_a_failed_allocation_is_an_error_of_ours():
    @accepts()
    def ask():
        raise MemoryError

    with raises(cp.CounterpaneError, about="memory"):
        ask()


# ---- learners -----------------------------------------------------------------------------------


def fit_error(entry, table):
    learner = entry.make(time_limit=5.0)
    grown, began = peak_growth(), time.process_time()
    with pytest.raises(cp.CounterpaneError) as caught:
        learner.fit(table)
    assert grown() < GIB
    assert time.process_time() - began < 60
    return str(caught.value)


SEARCHES = "structure-search", "hill-climb", "ges", "k2"
STATES = ("chow-liu", "order-mcmc", "hybrid", "pairwise", "pfmn", "gsimn", "gsmn", "dn-boosted",
          "dn-tree", "dn-logistic", "exact-posterior")  # fmt: skip
COLUMNS = ("hill-climb", "ges", "k2", "pfmn", "gsimn", "gsmn", "exact-posterior", "order-mcmc")


@pytest.fixture(scope="module")
def many_states():
    rng = np.random.default_rng(0)
    codes = [*(rng.permutation(60_000) for _ in range(3)), rng.integers(0, 2, 60_000)]
    return cp.Table(cp.Schema.from_cards([60_000] * 3 + [2]), np.array(codes, dtype=np.uint16))


@pytest.fixture(scope="module")
def many_columns():
    codes = np.random.default_rng(0).integers(0, 2, (100_000, 10)).astype(np.uint8)
    return cp.Table(cp.Schema.from_cards([2] * 100_000), codes)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.usefixtures("two_gigabytes")
def test_columns_of_60000_states(many_states, name):
    message = fit_error(next(e for e in LEARNERS if e.name == name), many_states)
    assert "merge rare states" in message
    assert "GB" in message


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.usefixtures("two_gigabytes")
def test_searches_pass_by_pairs_of_60000_states(many_states, name):
    grown, began = peak_growth(), time.process_time()
    learner = next(e for e in LEARNERS if e.name == name).make(time_limit=30.0).fit(many_states)
    assert grown() < GIB
    assert time.process_time() - began < 60
    assert learner.model_.query(["x3"]).probabilities.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", [*SEARCHES, "chow-liu"])
@pytest.mark.usefixtures("two_gigabytes")
def test_one_column_of_30000_states_beside_others(name):
    rng = np.random.default_rng(1)
    hidden, n = rng.integers(0, 3, 50_000), 50_000
    some = [(hidden + (rng.random(n) < 0.3)) % 3 for _ in range(4)]
    codes = np.array([*some, rng.permutation(n) % 30_000], dtype=np.uint16)
    table = cp.Table(cp.Schema.from_cards([3] * 4 + [30_000]), codes)
    make = next(e for e in LEARNERS if e.name == name).make
    grown = peak_growth()
    learner = make(criterion="bic").fit(table)
    assert grown() < LITTLE
    alone = make(criterion="bic").fit(table.select(range(4)))
    assert {*map(frozenset, learner.graph_.edges)} == {*map(frozenset, alone.graph_.edges)}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.usefixtures("two_gigabytes")
def test_100000_columns(many_columns, name):
    message = fit_error(next(e for e in LEARNERS if e.name == name), many_columns)
    assert "fewer columns" in message or "lower max_candidates" in message


def test_samples_of_too_many_rows():
    model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    for n in (10**12, 10**30):
        with raises(cp.CounterpaneError, about="draw"):
            model.sample(n)
        with raises(cp.CounterpaneError, about="4 columns"):
            model.sample(n, weighted=True)


# ---- readers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.csv.gz", "t.jsonl.gz", "t.arff.gz", "m.bif.gz", "m.cp.gz"])
def test_packed_files_that_swell(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"a,b\n" + b"0,1\n" * 25_000_000))
    assert path.stat().st_size < 110_000
    grown = peak_growth()
    with raises(cp.CounterpaneError, about="200"):
        cp.load(path) if name.startswith("m.") else cp.read(path)
    assert grown() < 2**27


def test_usual_packed_tables_are_read(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.choice(["yes,male,third,adult", "no,female,first,child"], 200_000, p=[0.9, 0.1])
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(("a,b,c,d\n" + "\n".join(rows)).encode()))
    assert cp.read(path).n_rows == 200_000


def test_few_words_that_ask_for_much(tmp_path):
    (tmp_path / "a.mn").write_text("65535,65535\nMN {\n1.0 +v0_1 +v1_1\n}\n")
    names = [f"v{i}" for i in range(26)]
    blocks = [f"variable {n} {{ type discrete [2] {{ a b }}; }}" for n in names]
    blocks += [f"probability ({n}) {{ table .5 .5; }}" for n in names[:-1]]
    blocks += [f"probability (v25 | {' '.join(names[3:-1])}) {{ default .5 .5; }}"]
    (tmp_path / "b.bif").write_text("network n {}\n" + "\n".join(blocks))
    grown = peak_growth()
    model = cp.load(tmp_path / "a.mn")
    for ask in (lambda: model.log_partition, lambda: cp.load(tmp_path / "b.bif")):
        with raises(cp.CounterpaneError, about="cells"):
            ask()
    assert model.sample(2, method=cp.Gibbs(n_samples=4, burn_in=2)).n_rows == 2
    assert grown() < GIB


def test_a_tree_augmented_classifier_of_60000_states(many_states):
    """It packed all states first, which took 1.4 GB."""
    grown = peak_growth()
    classifier = cp.TAN().fit(many_states, "x3")
    assert grown() < LITTLE
    assert classifier.predict_proba(many_states.take(range(2))).sum(axis=1) == pytest.approx([1, 1])
