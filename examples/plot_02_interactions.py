"""
A readable classifier and its calibration
=========================================

``InteractionClassifier`` is a sum of the effects of columns and sets of columns on the class. The
pictures show the size of each effect, and the calibration of the probabilities on held-out rows.
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
# Left: the effects on the log-odds in a model of all rows, in nats. Right: the observed share of
# the class in bins of the predicted probability.
classifier = cp.InteractionClassifier().fit(table, "survived")
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
cp.plots.interactions(classifier, ax=left)
cp.plots.calibration(table.column("survived") == "yes", held_out, ax=right)

# %%
# What each interaction adds to the log-odds of a girl in third class.
for record in classifier.explain({"status": "third", "age": "child", "sex": "female"}):
    nats = {label: round(value, 2) for label, value in record["contributions"].items()}
    columns = record["columns"]
    name = "smoothing" if columns is None else " × ".join(columns) or "all rows"
    print(f"{name:14} {nats}")
