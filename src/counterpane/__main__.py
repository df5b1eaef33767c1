"""`python -m counterpane` is the command."""

from counterpane.cli.main import main

main()
