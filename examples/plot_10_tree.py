"""
A tree at once
==============

The Chow–Liu tree of thirty measurements of cells, with the diagnosis as its root: each edge is one
of the pairs that tell most of each other.
"""

import counterpane as cp

table = cp.load_dataset("breast_cancer")
learner = cp.ChowLiu("bic", root="class").fit(table)

# %%
ax = cp.plots.graph(learner.model_)

# %%
# The edges that are worth most, in nats.
for parent, child, gain in learner.gains_[:5]:
    print(f"{parent} → {child}: {gain:.0f}")
