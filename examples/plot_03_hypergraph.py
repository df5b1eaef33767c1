"""
The hyperedges of tic-tac-toe
=============================

``MarkovClassifier`` on all boards on which a game can end: does the first player win? It finds
effects of the center and the corners, of pairs, and of the triples that are lines of the board
(Jakulin & Rish).
"""

import matplotlib.pyplot as plt

import counterpane as cp

table = cp.load_dataset("tictactoe")
target = table.schema.names[-1]
classifier = cp.MarkovClassifier().fit(table, target)

# %%
# The squares in their positions on the board. Green nodes have an effect on the class alone, blue
# lines join two squares with a joint effect, and red dashes join three.
squares = table.schema.names[:-1]
where = {name: (i % 3, -(i // 3)) for i, name in enumerate(squares)}
fig, ax = plt.subplots(figsize=(7, 6))
classifier.plot(average=False, positions=where, ax=ax)

# %%
# The steps in which the best structure was built.
for hyperedge in classifier.hyperedges_:
    print(" × ".join(hyperedge))
print("log-posterior", round(classifier.log_posterior_, 3))

# %%
# Without a class: a Markov network of all columns, by the same score. Two joint effects of three
# columns describe the passengers of the Titanic.
learner = cp.MarkovNetworkLearner().fit(cp.load_dataset("titanic"))
print([hyperedge for hyperedge in learner.hyperedges_ if len(hyperedge) == 3])
learner.plot()
