"""Local log-potentials, and the blanket that turns them into full conditionals."""

from counterpane.potentials.blanket import Blanket
from counterpane.potentials.potential import MAX_CELLS, Potential, check_cells
from counterpane.potentials.rules import Rules
from counterpane.potentials.tree import Tree

__all__ = ["MAX_CELLS", "Blanket", "Potential", "Rules", "Tree", "check_cells"]
