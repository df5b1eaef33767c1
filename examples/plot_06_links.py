"""
Ranking the next item
=====================

In these baskets items come in groups of five: seven in ten users who have one item also buy the
next one of its group. One item of each basket is hidden, and each ranker ranks it.
"""

import matplotlib.pyplot as plt
import numpy as np

import counterpane as cp

rng = np.random.default_rng(0)
baskets = np.zeros((1500, 40), dtype=bool)
for item in range(40):
    led = baskets[:, item - 1] & (item % 5 > 0)
    baskets[:, item] = rng.random(1500) < np.where(led, 0.7, 0.08)
baskets = baskets[baskets.sum(axis=1) > 1]

wanted = np.array([rng.choice(np.flatnonzero(basket)) for basket in baskets])
known = baskets.copy()
known[np.arange(len(known)), wanted] = False

# %%
# The share of users whose hidden item is among the first k of the list.
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for learner in ("hybrid", "pairwise", "chow-liu", "naive-bayes"):
    scores = cp.LinkRanker(learner).fit(known.astype(int)).scores(known.astype(int))
    ranks = 1 / cp.evaluate.reciprocal_ranks(scores, wanted, known)
    within = [(ranks <= k).mean() for k in range(1, 21)]
    ax.plot(range(1, 21), within, label=f"{learner}, MRR {(1 / ranks).mean():.3f}")
popular = np.broadcast_to(known.mean(axis=0), known.shape)
ranks = 1 / cp.evaluate.reciprocal_ranks(popular, wanted, known)
ax.plot(range(1, 21), [(ranks <= k).mean() for k in range(1, 21)], "k:", label="popularity")
ax.set(xlabel="places looked at", ylabel="share of hidden items found", ylim=(0, 1))
ax.legend()
