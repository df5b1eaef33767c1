"""`python -m counterpane` is the command."""

import sys
from importlib import import_module


def main() -> None:
    """Run the command; Ctrl-C while it is still being loaded leaves no traceback."""
    try:
        run = import_module("counterpane.cli.main").main
    except KeyboardInterrupt:
        sys.stderr.write("Stopped; nothing was written.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
