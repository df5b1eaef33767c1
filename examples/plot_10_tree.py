"""
A Chow–Liu tree
===============

The Chow–Liu tree of thirty measurements of cells, with the diagnosis as its root: the tree with the
best BIC score.
"""

import counterpane as cp

table = cp.load_dataset("breast_cancer")
learner = cp.ChowLiu("bic", root="class").fit(table)

# %%
ax = cp.plots.graph(learner.model_)

# %%
# The strongest edges. A tree leaves all directions open.
print(learner.strengths_[:5])
