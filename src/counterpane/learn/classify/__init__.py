"""What classifiers share, and those that are Bayesian networks."""
