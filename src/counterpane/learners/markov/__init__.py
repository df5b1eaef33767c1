"""Learners of Markov networks and their weights."""
