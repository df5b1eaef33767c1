"""The commands, in the order of `--help`; known without loading them."""

COMMANDS = (
    "learn", "query", "predict", "rank", "score", "sample", "compare", "report", "convert",
    "datasets", "doctor",
)  # fmt: skip
