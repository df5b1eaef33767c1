"""Gradient boosting with trees that look at few columns on a path."""
