"""What the commands share: the program, its consoles and options, and how a table is read."""

from __future__ import annotations

from glob import has_magic
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import counterpane as cp
from counterpane.errors import ParameterError, unknown_name

app = typer.Typer(
    help="Learn discrete graphical models from any table, then ask them questions.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console()
notes = Console(stderr=True, highlight=False)

MODEL_HELP = "A model file: .cp, .bif, .xmlbif, .uai, .net, .xdsl, .bn, .dn or .mn, also with .gz."
DATA_HELP = "A CSV, parquet or ARFF file, a folder or pattern of files, or an embedded set."
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")]
Data = Annotated[str, typer.Argument(help=DATA_HELP)]
ModelFile = Annotated[Path, typer.Argument(help=MODEL_HELP)]
Given = Annotated[
    list[str] | None, typer.Option("--given", "-g", help="Evidence as column=state; repeat.")
]
ScoreName = Annotated[str, typer.Option("--score", help="loglik, aic, bic, k2 or bdeu.")]
Discretize = Annotated[
    str, typer.Option(help="Numeric columns: mdl (needs a target), quantile, none, or auto.")
]
Missing = Annotated[str, typer.Option(help="Missing cells: state, drop, error or em.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Threads.")]
Seed = Annotated[int | None, typer.Option(help="A number that makes the draws repeatable.")]


def _version(asked: bool) -> None:
    if asked:
        console.print(f"counterpane {cp.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False,
) -> None:
    """Options of every command; `main` looks for --debug itself."""


def classify() -> Any:
    """The module of classifiers, imported when it is needed: it would double the time of --help."""
    return import_module("counterpane.cli.classify")


def evidence_of(given: list[str] | None) -> dict[str, str]:
    """The evidence in options of the form column=state."""
    found = {}
    for item in given or []:
        name, sign, state = item.partition("=")
        if not sign or not name:
            raise ParameterError(f"--given {item!r} is not of the form column=state.")
        found[name.strip()] = state.strip()
    return found


def is_set(data: str) -> bool:
    """Whether DATA names an embedded set: no file, no pattern of files."""
    return not (Path(data).exists() or Path(data).suffix or has_magic(data))


def in_blocks(data: str) -> bool:
    """Whether DATA names files that are read block by block; what looks is costly to import."""
    return bool(import_module("counterpane.counts.reading").is_large(data))


def read_table(data: str, target: str | None, discretize: str) -> Any:
    """The table of a file, or of an embedded set if no such file exists."""
    if discretize not in ("auto", "mdl", "quantile", "none"):
        raise unknown_name("--discretize", discretize, ("auto", "mdl", "quantile", "none"))
    if is_set(data):
        return cp.load_dataset(data)  # an unknown name is answered with the nearest ones
    if discretize == "auto":
        discretize = "quantile" if target is None else "mdl"
    return cp.read(data, target=target, discretize=None if discretize == "none" else discretize)
