"""The commands and the modules that hold them, in the order of `--help`; loads none of them."""

COMMANDS = {
    "learn": "learning",
    "query": "asking",
    "predict": "asking",
    "explain": "explaining",
    "rank": "asking",
    "score": "asking",
    "sample": "asking",
    "impute": "imputing",
    "compare": "comparing",
    "report": "reporting",
    "convert": "converting",
    "datasets": "sets",
    "doctor": "doctor",
}
