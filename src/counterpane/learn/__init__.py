"""Learners: one file a method, one folder a family."""

from counterpane.learn.driver import StoppedEarly
from counterpane.learn.em import fit_parameters_em
from counterpane.learn.parameters import fit_parameters
from counterpane.learn.structure.chow_liu import ChowLiu
from counterpane.learn.structure.hill_climb import HillClimb
from counterpane.learn.structure.k2_search import K2Search
from counterpane.learn.structure.structure_search import GES, StructureSearch

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
