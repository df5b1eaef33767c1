"""Learners: one file a method, one folder a family."""

from counterpane.learn.bayesian.chow_liu import ChowLiu
from counterpane.learn.bayesian.hill_climb import HillClimb
from counterpane.learn.bayesian.k2_search import K2Search
from counterpane.learn.bayesian.structure_search import GES, StructureSearch
from counterpane.learn.driver import StoppedEarly
from counterpane.learn.em import fit_parameters_em
from counterpane.learn.parameters import fit_parameters

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
