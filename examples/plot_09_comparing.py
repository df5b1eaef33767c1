"""
Comparing learners
==================

Four network searches are compared by one score, and five classifiers by held-out rows.
"""

import numpy as np

import counterpane as cp

# %%
# The score of each search on a table of nine columns.
table = cp.load_dataset("tictactoe")
searches = {
    "ChowLiu": cp.ChowLiu("bic"),
    "HillClimb": cp.HillClimb("bic"),
    "GES": cp.GES("bic"),
    "StructureSearch": cp.StructureSearch("bic", effort="thorough"),
}
scores = {name: learner.fit(table).score_ for name, learner in searches.items()}
best = max(scores.values())
records = [{"method": name, "BIC below the best, nats": best - s} for name, s in scores.items()]
ax = cp.plots.comparison(records, "BIC below the best, nats")

# %%
# Log-loss on held-out thirds: lower is better; too small a probability of the true class costs
# much.
fold = np.random.default_rng(0).integers(0, 3, table.n_rows)
target = table.schema.names[-1]
classifiers = {
    "NaiveBayes": cp.NaiveBayes(),
    "TAN": cp.TAN(),
    "BayesNetClassifier": cp.BayesNetClassifier(),
    "MarkovClassifier": cp.MarkovClassifier(),
    "InteractionClassifier": cp.InteractionClassifier(),
}
records = []
for name, classifier in classifiers.items():
    losses = []
    for k in range(3):
        fitted = classifier.fit(table.take(fold != k), target)
        rows = table.take(fold == k)
        own = np.searchsorted(fitted.classes_, rows.column(target))
        losses.append(-fitted.predict_log_proba(rows)[np.arange(rows.n_rows), own].mean())
    error = np.std(losses) / np.sqrt(2)
    records.append({"method": name, "log-loss, nats": np.mean(losses), "error": error})
ax = cp.plots.comparison(records, "log-loss, nats", error="error")
