"""Model files: the native one, and those that other tools read."""
