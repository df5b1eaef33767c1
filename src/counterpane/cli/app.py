"""What the commands share: the program, its consoles and its options."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

import counterpane as cp
from counterpane.cli.choosing import ALL_METHODS, CLASSIFIERS, FIELDS, METHODS
from counterpane.errors import ParameterError

EXIT_CODES = (
    "Exit codes: 0 success; 1 an internal error, or `doctor` found a problem; 2 wrong input or "
    "options; 130 stopped by Ctrl-C."
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
        text = import_module("counterpane.data.schema").state_text
        return _names([f"{name}={text(state)}" for state in schema[name].states], incomplete)
    return []


def complete_data(incomplete: str) -> list[str]:
    """Embedded sets that begin so; the shell itself offers files."""
    return _names(cp.dataset_names(), incomplete)


MODEL_HELP = "A model file: .cp, .bif, .xmlbif, .uai, .net, .xdsl, .bn, .dn or .mn, also with .gz."
DATA_HELP = (
    "A CSV, Excel, JSON lines, parquet or ARFF file, a folder or pattern of files, or the name of "
    "an embedded data set (see `counterpane datasets`)."
)
COLUMNS, READING = "Columns", "Reading the file"  # panels of --help
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no notes and no progress.")]
Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP, autocompletion=complete_data)]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP)]
Given = Annotated[
    list[str] | None,
    typer.Option(
        "--given",
        "-g",
        help="Evidence: column=state, column=a|b, or, in quotes, 'column>30'; repeat.",
        autocompletion=complete_evidence,
    ),
]
Target = Annotated[str | None, typer.Option(help="The column to predict (the class).")]
MethodName = Annotated[
    str,
    typer.Option(
        help="The learning method. By default it depends on the task; the reason is printed. With "
        f"a target: {', '.join(CLASSIFIERS)}. With or without: {', '.join([*METHODS, *FIELDS])}.",
        autocompletion=complete_method,
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        help=f"A method to compare; repeat for each: {', '.join([*METHODS, *FIELDS])}; with a "
        f"target also {', '.join(CLASSIFIERS)}.",
        autocompletion=complete_method,
    ),
]
Use = Annotated[
    list[str] | None,
    typer.Option(
        "--use",
        metavar="COLUMN",
        help="Keep a column that looks like an id; repeat.",
        rich_help_panel=COLUMNS,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Leave a column out; repeat.", rich_help_panel=COLUMNS),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Treat the numbers of a column as categories, not as quantities; repeat.",
        rich_help_panel=COLUMNS,
    ),
]
Bins = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="The number of intervals of each numeric column, of equal counts; with mdl, the "
        "largest number. [default: 4]",
        show_default=False,
        rich_help_panel=COLUMNS,
    ),
]
ScoreName = Annotated[
    str,
    typer.Option("--score", help="The network score: loglik, aic, bic, k2, bdeu, nal or mdl."),
]
Discretize = Annotated[
    str,
    typer.Option(
        help="How to cut numeric columns into intervals: mdl (by the target), quantile (equal "
        "counts), none, or auto: mdl with a target, else quantile.",
        rich_help_panel=COLUMNS,
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        help="How to treat missing cells: auto (EM for networks, unless being missing tells "
        "something; a state for classifiers; the choice is printed), state, drop, error, "
        "available or em.",
        rich_help_panel=COLUMNS,
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", help="The number of threads; by default all cores.")
]
Seed = Annotated[int | None, typer.Option(help="The random seed, for repeatable results.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(help="Stop each learner after this many seconds and keep its best model so far."),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="The encoding of a text file, such as latin-1; detected by default.",
        rich_help_panel=READING,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="The field separator of a text file; detected by default.", rich_help_panel=READING
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        help="The decimal mark of a text file, '.' or ','; detected by default.",
        rich_help_panel=READING,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        help="The sheet of an Excel file, by name or number; by default the first.",
        rich_help_panel=READING,
    ),
]
CsvFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="The CSV file to write, also with .gz.")
]


def text_options(
    encoding: str | None, delimiter: str | None, decimal: str | None, sheet: str | None
) -> dict[str, str | None]:
    """How a file is written, as the options of `counterpane.data.files.read_any`."""
    return {"encoding": encoding, "delimiter": delimiter, "decimal": decimal, "sheet": sheet}


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
        bool, typer.Option("--debug", help="Print the traceback of an error; works anywhere.")
    ] = False,
) -> None:
    """Options of every command; `main` looks for --debug itself."""


def settle(*, as_json: bool, quiet: bool) -> bool:
    """Whether to show progress; notes are silent where it is not wanted."""
    notes.quiet = as_json or quiet
    return not notes.quiet


def clear_progress() -> None:
    """Erase the progress line, if there is one, before other text is printed."""
    module = sys.modules.get("counterpane.progress")  # loading it would slow down short commands
    if module is not None:
        module.TextBar.clear()


def note(text: str) -> None:
    """Print a note, dim, on a line of its own."""
    clear_progress()
    notes.print(f"[dim]{escape(text)}[/dim]", soft_wrap=True)


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
