"""Ctrl-C at any moment of a command: no traceback, and exit code 130."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import numpy as np

import counterpane as cp
from counterpane.cli import app

COMMANDS = (
    ("learn", "titanic", "-o", "out.cp"),
    ("learn", "titanic", "--target", "survived", "-o", "out.cp"),
    ("learn", "titanic", "--method", "order-mcmc", "-o", "out.cp"),
    ("learn", "titanic", "--method", "hill-climb", "--checkpoint", "c.cp", "-o", "out.cp"),
    ("report", "m.cp", "--data", "titanic", "-o", "out.html"),
    ("compare", "titanic", "--method", "chow-liu", "--method", "hill-climb"),
    ("sample", "m.cp", "-n", "200000", "-o", "out.csv"),
    ("query", "m.cp", "survived"),
    ("impute", "m.cp", "gaps.csv", "-o", "out.csv"),
    ("datasets",),
)
DONE = (0, 130)


@cache
def _model() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.cp"
        cp.ChowLiu().fit(cp.load_dataset("titanic")).model_.save(path)
        return path.read_bytes()


def _in_child(words: tuple[str, ...], folder: Path, wait: float) -> tuple[int, str]:
    """The exit code and the errors of a command that gets Ctrl-C after a while, in a fork."""
    errors = folder / "errors.txt"
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            out = os.open(errors, os.O_CREAT | os.O_WRONLY)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(out, 2)
            sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
            os.chdir(folder)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.argv = ["counterpane", *words]
            run = app._run_program

            def started() -> None:  # signals outside of the program are not its affair
                os.write(go, b"x")
                try:
                    run()
                finally:
                    signal.signal(signal.SIGINT, signal.SIG_IGN)

            app._run_program = started  # type: ignore[assignment]
            code = 0
            try:
                app.run_program()
            except SystemExit as stop:
                code = int(stop.code or 0)
            except BaseException:
                import traceback

                traceback.print_exc()
                code = 1
            sys.stderr.flush()
            os._exit(code)
        finally:
            os._exit(99)
    os.read(ready, 1)
    time.sleep(wait)
    os.kill(child, signal.SIGINT)
    _, status = os.waitpid(child, 0)
    os.close(ready)
    os.close(go)
    return os.waitstatus_to_exitcode(status), errors.read_text()


def _in_process(words: tuple[str, ...], folder: Path, wait: float) -> tuple[int, str]:
    """As `_in_child`, of a new interpreter: Ctrl-C comes while it loads the library."""
    program = (  # tells that it has begun from inside of `main`
        "import os, counterpane.__main__ as m; check = m._check_command; "
        "m._check_command = lambda words: (os.write(1, b'x'), check(words)); m.main()"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", program, *words], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert started.stdout is not None
    started.stdout.read(1)
    time.sleep(wait)
    started.send_signal(signal.SIGINT)
    errors = started.communicate()[1]
    return started.returncode, errors


def try_once(seed: int) -> str | None:
    """What is wrong with how one command ends."""
    rng = np.random.default_rng([seed, 11])
    words = COMMANDS[int(rng.integers(len(COMMANDS)))]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "m.cp").write_bytes(_model())
        (folder / "gaps.csv").write_text("sex,survived\nmale,\n,yes\n" * 50)
        code, errors = _in_child(words, folder, float(rng.exponential(0.15)))
        whole = [p for p in folder.glob("out.cp") if not cp.load(p).schema.names]
    if code not in DONE or "Traceback" in errors or whole:
        return f"Ctrl-C in {' '.join(words)}, seed {seed}: code {code}, {errors[-600:]}"
    return None
