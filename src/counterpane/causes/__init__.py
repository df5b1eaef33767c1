"""Cause and effect: what interventions change, and what the data and the graph say about it."""
