"""Searches for the structure of a Bayesian network."""
