"""The interaction classifier: weights on joint states, by cross-validated ridge."""
