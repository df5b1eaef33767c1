"""Learning from end to end: read, choose a method, fit, measure; what `learn` does."""
