"""`python -m counterpane` is the command."""

import os
import sys

from counterpane.cli import COMMANDS
from counterpane.errors import unknown_name
from counterpane.lazy import lazy

app = lazy("counterpane.cli.app")


def main() -> None:
    """Run the command; Ctrl-C while it is being loaded leaves no traceback."""
    # Kernels start their own threads. Starting those of BLAS costs a fifth of a short command.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        _check_command(sys.argv[1:])
        app.run_program()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped; nothing was written.\n")
        sys.exit(130)


def _check_command(words: list[str]) -> None:
    """Refuse a word that is no command before anything is loaded that could run one."""
    word = next((w for w in words if w != "--debug"), "-")
    if not word.startswith("-") and word not in COMMANDS:
        error = unknown_name("the command", word, COMMANDS)
        sys.stderr.write(f"Error: {error} `counterpane --help` tells more.\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
