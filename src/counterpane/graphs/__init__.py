"""Graphs on nodes 0 … n−1: final, self-checking structures, and the algorithms that return them."""

from counterpane.graphs.dag import Dag
from counterpane.graphs.equivalence import (
    Cpdag,
    consistent_extension,
    cpdag,
    same_class,
)
from counterpane.graphs.mixed import MixedEdge, MixedGraph, m_separated
from counterpane.graphs.orientation import with_known_directions
from counterpane.graphs.regions import (
    degrees_of_freedom,
    face_coefficients,
    faces,
    region_graph,
)
from counterpane.graphs.separation import d_separated, moralize, separated
from counterpane.graphs.triangulate import (
    JunctionTree,
    Triangulation,
    is_chordal,
    junction_tree,
    min_fill,
)
from counterpane.graphs.undirected import UndirectedGraph

__all__ = [
    "Cpdag",
    "Dag",
    "JunctionTree",
    "MixedEdge",
    "MixedGraph",
    "Triangulation",
    "UndirectedGraph",
    "consistent_extension",
    "cpdag",
    "d_separated",
    "degrees_of_freedom",
    "face_coefficients",
    "faces",
    "is_chordal",
    "junction_tree",
    "m_separated",
    "min_fill",
    "moralize",
    "region_graph",
    "same_class",
    "separated",
    "with_known_directions",
]
