"""The command line: a module for each command, named after it."""

COMMANDS = (
    "learn", "plan", "query", "effect", "predict", "explain", "rank", "score", "sample", "impute",
    "update", "compare", "explore", "report", "convert", "fit-weights", "uai", "datasets", "doctor",
)  # fmt: skip
"""The commands in the order of `--help`; that of `learn` is `counterpane.cli.learn.run_learn`.

A dash is an underscore in the names of the module and of the function.
"""
