"""A frame in, integer codes out."""
