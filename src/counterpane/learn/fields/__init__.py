"""Potentials, rules and weights of Markov and dependency networks."""
