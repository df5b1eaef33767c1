"""Learners: one file a method."""

from counterpane.learn.chow_liu import ChowLiu
from counterpane.learn.driver import StoppedEarly
from counterpane.learn.em import fit_parameters_em
from counterpane.learn.hill_climb import HillClimb
from counterpane.learn.k2_search import K2Search
from counterpane.learn.parameters import fit_parameters
from counterpane.learn.structure_search import GES, StructureSearch

__all__ = [
    "GES",
    "ChowLiu",
    "HillClimb",
    "K2Search",
    "StoppedEarly",
    "StructureSearch",
    "fit_parameters",
    "fit_parameters_em",
]
