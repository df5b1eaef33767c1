"""Readers of files, frames and streams: each gives blocks of columns."""
