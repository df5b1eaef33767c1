"""`counterpane`: from a table to a model, and from a model to an answer.

Commands touch the library through `counterpane`'s lazy names, so that `--help` stays quick.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

from counterpane.cli import asking, converting, learning
from counterpane.cli.app import app, notes
from counterpane.errors import CounterpaneError

ROOMS = (learning, asking, converting)  # importing them adds their commands to `app`
SHOWN = ("learn", "query", "predict", "rank", "score", "sample", "compare", "convert")
app.registered_commands.sort(key=lambda command: SHOWN.index(command.callback.__name__))  # type: ignore[union-attr]


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    notes.print(f"[yellow]Note:[/yellow] {message}")


def main() -> None:
    """Run the command line: our errors become one sentence, and exit code 2."""
    warnings.showwarning = _show_warning
    try:
        app()
    except CounterpaneError as error:
        if "--debug" in sys.argv:
            raise
        notes.print(f"[red]Error:[/red] {error}", soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        notes.print("Stopped; nothing was written.")
        sys.exit(130)
