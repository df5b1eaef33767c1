"""`counterpane`: from a table to a model, and from a model to an answer.

Commands touch the library through `counterpane`'s lazy names, so that `--help` stays quick.
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from typing import Any

from rich.console import Console
from rich.markup import escape

from counterpane.cli.app import app, clear_progress, interrupted, notes
from counterpane.cli.names import COMMANDS
from counterpane.errors import Advice, CounterpaneError, Setting

# Parameters of the library that are options here.
OPTIONS = {name: "--" + name.replace("_", "-") for name in (
    "encoding", "delimiter", "decimal", "sheet", "time_limit", "missing", "discretize", "target",
    "held_out", "folds", "holdout", "user", "item", "checkpoint",
)} | {"n_jobs": "--jobs", "n_bins": "--bins", "max_bins": "--bins", "random_state": "--seed",
      "required_edges": "--require", "forbidden_edges": "--forbid", "tiers": "--tier"}  # fmt: skip
VALUES = {"checkpoint": "FILE", "target": "COLUMN", "encoding": "NAME", "delimiter": "MARK"}


def main() -> None:
    """Run the command line: every error becomes one sentence and an exit code; see `app`."""
    debug = "--debug" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--debug"]
    _load(sys.argv[1:])
    interrupted.clear()
    notes.quiet = False
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _show_warning
        try:
            app()
        except SystemExit as stop:
            if stop.code == 130 and not interrupted:
                _say("Stopped; nothing was written.")
            raise
        except Exception as error:
            if debug:
                raise
            sentence, code = _sentence(error)
            _say(f"[red]Error:[/red] {escape(sentence)}")
            sys.exit(code)


def _load(words: list[str]) -> None:
    """Import what adds the command to `app`; all of them where none is named, as for --help."""
    known = COMMANDS.get(words[0]) if words else None
    completing = "_COUNTERPANE_COMPLETE" in os.environ
    rooms = [known] if known and not completing else dict.fromkeys(COMMANDS.values())
    for room in rooms:
        import_module(f"counterpane.cli.{room}")
    order = list(COMMANDS)
    app.registered_commands.sort(key=lambda command: order.index(command.callback.__name__))  # type: ignore[union-attr]


def _sentence(error: Exception) -> tuple[str, int]:
    """What went wrong, with a next step, and the exit code."""
    if isinstance(error, CounterpaneError):
        return _spelled(error), 2
    if isinstance(error, MemoryError):
        return "memory ran out; try fewer columns or rows, or --method chow-liu.", 1
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{str(error.filename)!r}: "
        words = error.strerror or str(error)
        return f"{where}{words}; check the path and your rights to it, or name another.", 2
    words = " ".join(str(error).split())
    kind = type(error).__name__
    return f"this should not happen ({kind}: {words}); run again with --debug and report it.", 1


def _spelled(message: BaseException) -> str:
    """The message of an error or warning, its parameters written as options of the command."""
    parts = getattr(message, "parts", (message,))
    return "".join(map(_part, parts))


def _part(part: object) -> str:
    if isinstance(part, Advice):
        return part.command
    if not isinstance(part, Setting) or part.name not in OPTIONS:
        return str(part)
    value = VALUES.get(part.name, "…") if part.value is ... else repr(part.value)
    return f"{OPTIONS[part.name]} {value}"


def _show_warning(message: Warning | str, category: Any, *_: Any, **__: Any) -> None:
    text = message if isinstance(message, str) else _spelled(message)
    if category.__name__ == "StoppedEarly" and "Ctrl-C" in text:
        interrupted.append(text)
    clear_progress()
    notes.print(f"[yellow]Note:[/yellow] {escape(text)}", soft_wrap=True)


def _say(words: str) -> None:
    """Print to standard error, also with --quiet."""
    clear_progress()
    Console(stderr=True, highlight=False).print(words, soft_wrap=True)
