"""
Missing cells
=============

Cells of samples from a known network are removed at random. The picture shows the error of the
learned P(survived | other columns) for each policy for missing cells.
"""

import matplotlib.pyplot as plt
import numpy as np

import counterpane as cp

titanic = cp.load_dataset("titanic")
truth = cp.StructureSearch("bic").fit(titanic).model_
rows = truth.sample(3000, random_state=0)
right = truth.query_many("survived", titanic.select(["status", "age", "sex"])).probabilities[:, 1]

# %%
# The same rows with more and more missing cells, and a network learned with each policy.
lost = [0.05, 0.1, 0.2, 0.3, 0.4]
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for policy in ("em", "drop", "state"):
    errors = []
    for share in lost:
        gone = np.random.default_rng(1).random(rows.codes.shape) < share
        gaps = cp.Table(rows.schema, np.where(gone, rows.schema.cards[:, None], rows.codes))
        model = cp.HillClimb("bic", missing=policy).fit(gaps).model_
        asked = {name: titanic.column(name) for name in ("status", "age", "sex")}
        found = model.query_many("survived", asked).probabilities
        yes, no = (model.schema["survived"].code(s) for s in ("yes", "no"))
        given = found[:, yes] / (found[:, yes] + found[:, no])  # "state": given that it is known
        errors.append(np.abs(given - right).mean())
    ax.plot(lost, errors, "o-", label=f'missing="{policy}"')
ax.set(xlabel="share of cells lost", ylabel="mean error of P(survived | others)", ylim=(0, None))
ax.legend()
