"""Counts on an NVIDIA GPU; imported only when a GPU is asked for."""
