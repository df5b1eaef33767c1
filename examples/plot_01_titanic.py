"""
Which edges can be believed
===========================

Four hundred of the people aboard the Titanic. A network is learned on each of 100 bootstrap samples
of them: how often is an edge found again?
"""

import numpy as np

import counterpane as cp

everybody = cp.load_dataset("titanic")
some = np.random.default_rng(0).choice(everybody.n_rows, 400, replace=False)
table = everybody.take(some)
found = cp.bootstrap(cp.StructureSearch("bic"), table, n=100, random_state=0)

# %%
# The width of an edge is its strength: the share of samples that join the two, in either direction.
ax = cp.plots.graph(found.averaged_graph(0.3), marked=["survived"])

# %%
# All pairs that were ever joined: the share of samples that join them, and of these the share that
# leaves the direction open.
for edge in found.strength:
    pair = f"{edge['from']:>9} — {edge['to']:<9}"
    print(f"{pair} {edge['strength']:.2f}  {edge['undirected']:.2f}")
