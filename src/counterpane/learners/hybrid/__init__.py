"""Hybrid random fields: a small Bayesian network around each variable, blankets merged."""
