"""Local log-potentials, and the blanket that turns them into full conditionals."""

from counterpane.features.blanket import Blanket
from counterpane.features.potential import MAX_CELLS, Potential, check_cells
from counterpane.features.rules import Rules
from counterpane.features.tree import Tree

__all__ = ["MAX_CELLS", "Blanket", "Potential", "Rules", "Tree", "check_cells"]
