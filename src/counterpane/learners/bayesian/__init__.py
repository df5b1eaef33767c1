"""Learners of Bayesian networks: searches for a structure, and posteriors over structures."""
