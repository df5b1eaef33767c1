"""
From a dependency network to a Markov network
=============================================

A dependency network has a conditional distribution for each column, each learned separately, and no
joint distribution. The closed-form conversion makes one without optimization; to learn weights by
pseudo-likelihood is slower.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import counterpane as cp

table = cp.load_dataset("breast_cancer").select(range(10))
train = np.random.default_rng(0).random(table.n_rows) < 0.7
rows, fresh = table.take(train), table.take(~train)

network = cp.DependencyNetworkLearner("tree").fit(rows).model_
began = time.perf_counter()
converted = cp.to_markov_network(network, orders="linear", data=rows)
closed = time.perf_counter() - began
began = time.perf_counter()
weighted = cp.fit_weights(network, rows)
learned = time.perf_counter() - began
print(f"closed form {closed * 1000:.0f} ms, weights {learned * 1000:.0f} ms")

# %%
# The structure of the Markov network.
ax = cp.plots.graph(converted)

# %%
# The pseudo-log-likelihood of held-out rows: the probability of each cell given its row.
scores = {
    "dependency network": cp.evaluate.pll(network, fresh),
    "closed form": cp.evaluate.pll(converted, fresh),
    "weights": cp.evaluate.pll(weighted, fresh),
}
fig, ax = plt.subplots(figsize=(7, 2.5), layout="constrained")
means, errors = zip(*((s.mean, s.standard_error) for s in scores.values()), strict=True)
ax.errorbar(means, list(scores), xerr=errors, fmt="o")
ax.set(xlabel="pseudo-log-likelihood, nats a row", ylim=(-0.5, 2.5))
ax.invert_yaxis()
