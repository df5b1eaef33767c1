"""
Which edges are stable
======================

A network is learned from each of 100 bootstrap samples of 400 people aboard the Titanic. How often
does each edge appear?
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
# All pairs that any sample connects, with the share of the samples that do.
print(found.edges)
