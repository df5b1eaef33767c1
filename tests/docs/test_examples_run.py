"""Every example of the gallery runs, without a warning, and draws what its page shows."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

os.environ.setdefault("MPLBACKEND", "agg")
plt = pytest.importorskip("matplotlib.pyplot", reason="the examples draw: matplotlib is needed")

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))


@pytest.mark.skipif(not EXAMPLES, reason="the examples are not beside the tests")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs(path: Path) -> None:
    try:
        runpy.run_path(str(path), run_name="__main__")
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert figures
        assert all(figure.axes for figure in figures)
        for figure in figures:
            figure.canvas.draw()  # what is wrong in a picture shows when it is drawn
    finally:
        plt.close("all")
