"""
A classifier that can be read, and its calibration
==================================================

``InteractionClassifier`` adds up what columns, and sets of columns, say of the class. How strongly
each of them does, and whether the probabilities are right on rows that were not learned from.
"""

import matplotlib.pyplot as plt
import numpy as np

import counterpane as cp

table = cp.load_dataset("titanic")
fold = np.random.default_rng(0).integers(0, 3, table.n_rows)
held_out = np.empty(table.n_rows)
for k in range(3):
    classifier = cp.InteractionClassifier().fit(table.take(fold != k), "survived")
    held_out[fold == k] = classifier.predict_proba(table.take(fold == k))[:, 1]

# %%
# Left, the effects on the log-odds in a model of all rows, in nats. Right, of the rows to which
# about a probability is given, the share that has the class.
classifier = cp.InteractionClassifier().fit(table, "survived")
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
cp.plots.interactions(classifier, ax=left)
cp.plots.calibration(table.column("survived") == "yes", held_out, ax=right)

# %%
# Why a girl in third class gets her probability: what each interaction adds to the log-odds.
for record in classifier.explain({"status": "third", "age": "child", "sex": "female"}):
    nats = {label: round(value, 2) for label, value in record["contributions"].items()}
    columns = record["columns"]
    name = "smoothing" if columns is None else " × ".join(columns) or "all rows"
    print(f"{name:14} {nats}")
