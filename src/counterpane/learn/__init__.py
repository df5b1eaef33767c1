"""Learners: one file a method."""

from counterpane.learn.chow_liu import ChowLiu
from counterpane.learn.driver import StoppedEarly
from counterpane.learn.parameters import fit_parameters

__all__ = ["ChowLiu", "StoppedEarly", "fit_parameters"]
