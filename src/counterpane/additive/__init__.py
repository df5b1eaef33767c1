"""Classifiers that are sums of effects of sets of columns."""
