"""
Edge probabilities: exact, and by sampling
==========================================

``ExactPosterior`` sums over all networks; ``OrderMCMC`` samples the probable ones, and gives
standard errors.
"""

import matplotlib.pyplot as plt

import counterpane as cp

table = cp.load_dataset("breast_cancer").select(range(9))
exact = cp.ExactPosterior("bdeu").fit(table)

# %%
# The probability of each edge; rows are parents, columns are children.
ax = cp.plots.edge_probabilities(exact)

# %%
# The same by sampling partitions, which is unbiased, and orders, which favors networks that are
# consistent with many orders.
fig, ax = plt.subplots(figsize=(5, 5), layout="constrained")
for partition, label in ((True, "partitions"), (False, "orders")):
    sampled = cp.OrderMCMC(
        "bdeu", n_samples=300, partition=partition, max_parents=4, random_state=0
    ).fit(table)
    found = sampled.edge_probabilities_.ravel()
    shown = f"{label}, largest R-hat {sampled.rhat_.max():.2f}"
    ax.plot(exact.edge_probabilities_.ravel(), found, ".", label=shown)
ax.plot([0, 1], [0, 1], "k:", linewidth=1)
ax.set(xlabel="exact probability of an edge", ylabel="by sampling", aspect="equal")
ax.legend()
