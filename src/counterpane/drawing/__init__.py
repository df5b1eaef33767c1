"""Layouts of graphs, the routes of their edges, and SVG and DOT text."""
