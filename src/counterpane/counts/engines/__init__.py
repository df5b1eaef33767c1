"""Count sources for tables outside memory: files, frames, databases, Dask, Spark."""
