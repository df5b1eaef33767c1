"""
A Markov network by few tests
=============================

Three learners find an unknown graph by independence tests, which an oracle answers. All find the
graph; they differ in the number and the size of their tests.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import counterpane as cp

truth = nx.gnp_random_graph(12, 0.15, seed=4)
graph = cp.UndirectedGraph(12, truth.edges)
oracle = cp.Oracle(graph)

learners = {
    "GSMN": cp.GSMN(oracle, potentials=False),
    "GSIMN": cp.GSIMN(oracle, potentials=False),
    "Particle filter": cp.ParticleFilterMN(
        oracle, n_particles=100, potentials=False, random_state=0
    ),
}
nothing = np.zeros((1, 12), dtype=int)  # an oracle needs no rows
for learner in learners.values():
    assert learner.fit(nothing).undirected_ == graph

# %%
# Left: the graph. Right: the tests; the cost of a test is its number of variables.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
nx.draw_networkx(truth, nx.kamada_kawai_layout(truth), ax=left, node_color="lightsteelblue")
left.set_axis_off()
for name, learner in learners.items():
    costs = [test.cost for test in learner.tests_]
    right.plot(np.cumsum(costs), label=f"{name}: {learner.n_tests_} tests, cost {learner.cost_}")
right.set(xlabel="tests", ylabel="cost so far")
right.legend()
