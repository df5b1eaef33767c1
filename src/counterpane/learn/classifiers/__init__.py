"""Learners of class probabilities."""
