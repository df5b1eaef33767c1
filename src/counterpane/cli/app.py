"""What the commands share: the program, its consoles and its options."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import counterpane as cp
from counterpane.cli.choosing import ALL_METHODS, CLASSIFIERS, FIELDS, METHODS
from counterpane.errors import ParameterError

EXIT_CODES = (
    "Exit codes: 0 done; 1 something broke, or `doctor` found a problem; 2 the command cannot do "
    "what was asked; 130 stopped by Ctrl-C."
)
app = typer.Typer(
    help="Learn discrete graphical models from any table, then ask them questions.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode="markdown",  # which fills paragraphs; others keep the lines of the docstring
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console()
notes = Console(stderr=True, highlight=False)  # silent with --json and --quiet
interrupted: list[str] = []  # what Ctrl-C stopped, in this run of the program


def _names(known: Any, incomplete: str) -> list[str]:
    return [name for name in known if name.startswith(incomplete)]


def complete_method(incomplete: str) -> list[str]:
    """Methods that begin so."""
    return _names(ALL_METHODS, incomplete)


def complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Columns of the model that was named before, that begin so."""
    with contextlib.suppress(Exception):  # a shell that completes must not see errors
        return _names(cp.load(ctx.params["model"]).schema.names, incomplete)
    return []


def complete_evidence(ctx: typer.Context, incomplete: str) -> list[str]:
    """`column=`, or `column=state` after the sign, of the model that was named before."""
    with contextlib.suppress(Exception):
        schema = cp.load(ctx.params["model"]).schema
        name, sign, _ = incomplete.partition("=")
        if not sign:
            return _names([f"{name}=" for name in schema.names], incomplete)
        return _names([f"{name}={state}" for state in schema[name].states], incomplete)
    return []


def complete_data(incomplete: str) -> list[str]:
    """Embedded sets that begin so; the shell itself offers files."""
    return _names(cp.dataset_names(), incomplete)


MODEL_HELP = "A model file: .cp, .bif, .xmlbif, .uai, .net, .xdsl, .bn, .dn or .mn, also with .gz."
DATA_HELP = (
    "A CSV, parquet or ARFF file, a folder or pattern of them, or a set that "
    "`counterpane datasets` lists."
)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]
Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP, autocompletion=complete_data)]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP)]
Given = Annotated[
    list[str] | None,
    typer.Option(
        "--given", "-g", help="Evidence as column=state; repeat.", autocompletion=complete_evidence
    ),
]
Target = Annotated[str | None, typer.Option(help="The column of interest: the class to predict.")]
MethodName = Annotated[
    str,
    typer.Option(
        help=f"auto, which chooses by the task and says why; for a target {', '.join(CLASSIFIERS)};"
        f" else {', '.join([*METHODS, *FIELDS])}.",
        autocompletion=complete_method,
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        help=f"Repeat for each: {', '.join([*METHODS, *FIELDS])}; for a target also "
        f"{', '.join(CLASSIFIERS)}.",
        autocompletion=complete_method,
    ),
]
Use = Annotated[
    list[str] | None,
    typer.Option("--use", help="Use this column even if it looks like an id; repeat."),
]
ScoreName = Annotated[str, typer.Option("--score", help="loglik, aic, bic, k2, bdeu, nal or mdl.")]
Discretize = Annotated[
    str, typer.Option(help="Numeric columns: mdl (needs a target), quantile, none, or auto.")
]
Missing = Annotated[str, typer.Option(help="Missing cells: state, drop, error, available or em.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Threads; all cores unless told.")]
Seed = Annotated[int | None, typer.Option(help="A number that makes the draws repeatable.")]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds for one learner; keeps the best so far.")
]
Encoding = Annotated[
    str | None, typer.Option(help="Of text files, such as latin-1; else it is found.")
]
Delimiter = Annotated[
    str | None, typer.Option(help="Of text files, one character; else it is found.")
]
CsvFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="A CSV file to write, also with .gz.")
]


def _version(asked: bool) -> None:
    if asked:
        console.print(f"counterpane {cp.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error arose; may stand anywhere.")
    ] = False,
) -> None:
    """Options of every command; `main` looks for --debug itself."""


def settle(*, as_json: bool, quiet: bool) -> bool:
    """Whether to show progress; notes are silent where it is not wanted."""
    notes.quiet = as_json or quiet
    return not notes.quiet


def emit(facts: Mapping[str, Any]) -> None:
    """Print one JSON object; a number that is not finite is null."""
    print(json.dumps(_finite(facts)))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def many(n: int, what: str) -> str:
    """A number of things: 1 row, 2 rows."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def threads(jobs: int | None) -> int:
    """The threads that were asked for, or one for each core."""
    return (os.cpu_count() or 1) if jobs is None else jobs


def classify() -> Any:
    """The module of classifiers, imported when it is needed: it would double the time of --help."""
    return import_module("counterpane.cli.classify")


def judging() -> Any:
    """The module of held-out measures, imported when it is needed."""
    return import_module("counterpane.cli.held_out")


def rankers() -> Any:
    """The module of rankers of links, imported when it is needed."""
    return import_module("counterpane.cli.rankers")


def tables() -> Any:
    """The module that reads tables, imported when it is needed."""
    return import_module("counterpane.cli.tables")


def check_place(path: Path | None, *, model: bool = False) -> None:
    """Refuse before the work a file that could not be written after it."""
    if path is not None and model:
        formats = import_module("counterpane.models.formats")
        known = (formats.NATIVE, *formats.SUFFIXES)
        if formats.suffix_of(path) not in known:
            raise ParameterError(
                f"{str(path)!r} has no suffix of a model file; {', '.join(known)} are known."
            )
    if path is not None and path.is_dir():
        raise ParameterError(f"{str(path)!r} is a folder; name a file to write in it.")
    if path is not None and not path.absolute().parent.is_dir():
        raise ParameterError(f"there is no folder {str(path.parent)!r}; make it, or name another.")
    if path is not None and not os.access(path.absolute().parent, os.W_OK):
        raise ParameterError(
            f"the folder {str(path.parent)!r} is not yours to write in; name another."
        )
