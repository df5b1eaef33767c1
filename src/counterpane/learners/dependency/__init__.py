"""Learners of dependency networks, and their conversion to Markov networks."""
