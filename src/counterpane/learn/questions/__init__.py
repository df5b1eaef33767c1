"""Markov network structure from few independence questions."""
