"""Posterior probabilities of edges: sums over all networks, and samples of orders."""
