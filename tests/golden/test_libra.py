"""Closed-form conversion: the values of Libra 1.1's own test suite, from its files."""

from __future__ import annotations

import gzip

import pytest

import counterpane as cp

VALUES = {  # mean pseudo-log-likelihood: rotations both ways, the orders of the file, all orders
    "a1": (-3.464474, -3.464474, -3.464474),
    "a3": (-3.471251, -3.471251, -3.471251),
    "alarm": (-6.724228, -10.573745, -6.708411),
}


@pytest.mark.parametrize("name", VALUES)
def test_libra_agrees_on_the_converted_network(shared_data, name):
    folder = shared_data / "libra"
    network = cp.load(folder / f"{name}.dn.gz")
    rows = cp.read(folder / f"{name}.data.gz", schema=network.schema)
    text = gzip.decompress((folder / f"{name}.order.gz").read_bytes()).decode()
    orders = [[int(v) for v in line.split(",")] for line in text.split()]
    assert len(orders) == {"alarm": 2}.get(name, 6)
    ways = ({"orders": "linear"}, {"orders": orders}, {"orders": "all", "max_length": 3})
    for options, expected in zip(ways, VALUES[name], strict=True):
        model = cp.to_markov_network(network, data=rows, **options)
        mean = model.pseudo_log_likelihood(rows, total=True).mean()
        assert mean == pytest.approx(expected, abs=1e-6)


def test_files_come_back_as_they_were(shared_data, tmp_path):
    network = cp.load(shared_data / "libra" / "alarm.dn.gz")
    rows = cp.read(shared_data / "libra" / "alarm.data.gz", schema=network.schema)
    network.save(tmp_path / "again.cn.gz")
    again = cp.load(tmp_path / "again.cn.gz")
    assert (again.pseudo_log_likelihood(rows) == network.pseudo_log_likelihood(rows)).all()
    model = cp.to_markov_network(network, orders="linear", data=rows)
    model.save(tmp_path / "model.mn")
    loaded = cp.load(tmp_path / "model.mn")
    assert (loaded.pseudo_log_likelihood(rows) == model.pseudo_log_likelihood(rows)).all()
