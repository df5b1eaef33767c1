"""`python -m counterpane` is the command."""

import os
import sys
from importlib import import_module


def main() -> None:
    """Run the command; Ctrl-C while it is still being loaded leaves no traceback."""
    # Kernels have threads of their own. Starting those of BLAS costs a fifth of a short command.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        _check_command(sys.argv[1:])
        run = import_module("counterpane.cli.main").main
    except KeyboardInterrupt:
        sys.stderr.write("Stopped; nothing was written.\n")
        sys.exit(130)
    run()


def _check_command(words: list[str]) -> None:
    """Refuse a word that is no command before anything is loaded that could run one."""
    word = next((w for w in words if w != "--debug"), "-")
    known = import_module("counterpane.cli.names").COMMANDS
    if not word.startswith("-") and word not in known:
        error = import_module("counterpane.errors").unknown_name("the command", word, known)
        sys.stderr.write(f"Error: {error} `counterpane --help` tells more.\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
