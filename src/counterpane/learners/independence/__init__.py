"""Learners of Markov networks that test conditional independence."""
