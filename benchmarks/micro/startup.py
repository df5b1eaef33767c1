"""Start-up times in fresh processes: import, help, and the main job with cold and warm kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from harness import publish


def run(command: list[str], environment: dict[str, str], folder: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment, cwd=folder)
    return time.perf_counter() - began


def main() -> list[dict[str, Any]]:
    python = sys.executable
    counterpane = str(Path(python).with_name("counterpane"))
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        bare = min(run([python, "-c", "pass"], environment, folder) for _ in range(5))
        imported = min(
            run([python, "-c", "import counterpane"], environment, folder) for _ in range(5)
        )
        helped = min(run([counterpane, "--help"], environment, folder) for _ in range(3))
        job = [counterpane, "learn", "titanic", "--target", "survived"]
        cold = run(job, environment, folder)
        warm = min(run(job, environment, folder) for _ in range(3))
        asked = min(
            run([counterpane, "query", "titanic.cp", "survived"], environment, folder)
            for _ in range(2)
        )
    return [
        {"what": "import counterpane, beyond a bare interpreter", "value": imported - bare,
         "unit": "s", "limit": 0.1},
        {"what": "counterpane --help", "value": helped, "unit": "s", "limit": 0.5},
        {"what": "counterpane learn titanic, kernels not compiled yet", "value": cold,
         "unit": "s", "limit": 20},
        {"what": "counterpane learn titanic, kernels on disk", "value": warm, "unit": "s",
         "limit": 3},
        {"what": "counterpane query titanic.cp survived, kernels on disk", "value": asked,
         "unit": "s"},
    ]  # fmt: skip


if __name__ == "__main__":
    publish("startup", main())
