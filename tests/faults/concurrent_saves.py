"""Processes that save their own files in one folder at the same time: each save must succeed."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import counterpane as cp


def faults_of(folder: Path, *, processes: int, saves: int) -> list[str]:
    """What went wrong in `saves` saves of each process; a file is read back after each save."""
    model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    children = []
    for k in range(processes):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                path = folder / f"m{k}.cp"
                for _ in range(saves):
                    model.save(path)
                    path.stat()
                code = 0
            except BaseException as error:
                (folder / f"fault{k}").write_text(repr(error))
            finally:
                os._exit(code)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    faults = [path.read_text() for path in sorted(folder.glob("fault*"))]
    faults += [
        f"m{k}.cp is another model"
        for k in range(processes)
        if cp.load(folder / f"m{k}.cp").schema != model.schema
    ]
    left = [name for name in os.listdir(folder) if name.startswith(".counterpane-")]
    return faults + [f"temporary files are left: {left}"] * bool(left)


if __name__ == "__main__":
    counts = [int(text) for text in sys.argv[1:]] or [8, 1000]
    with tempfile.TemporaryDirectory() as where:
        found = faults_of(Path(where), processes=counts[0], saves=counts[1])
    print(f"{counts[0]} processes, {counts[1]:,} saves each: {len(found)} faults")
    print(*found[:10], sep="\n")
