"""The program: it loads a command, runs it, and turns errors into one sentence and an exit code.

The commands print with the functions of this module. They import numpy and the library lazily, so
that `--help` is fast.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from rich.console import Console, ConsoleOptions, RenderHook
from rich.control import Control
from rich.markup import escape
from rich.segment import Segment

import counterpane as cp
from counterpane.cli import COMMANDS
from counterpane.cli.narrow_output import use_substitutes
from counterpane.disk import as_path, check_writable
from counterpane.errors import (
    Advice,
    CounterpaneError,
    Option,
    ParameterError,
    Setting,
    shortened,
    visible,
)
from counterpane.lazy import lazy
from counterpane.present.table import many as many

formats = lazy("counterpane.formats")
progress = lazy("counterpane.progress")

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")
WIDEST = 1000  # letters of a line that is not broken

EXIT_CODES = (
    "Exit codes: 0 success; 1 an internal error, or `doctor` found a problem; 2 wrong input or "
    "options; 130 stopped by Ctrl-C."
)
# Parameters of the library that are options here.
OPTIONS = {name: "--" + name.replace("_", "-") for name in (
    "encoding", "delimiter", "decimal", "sheet", "time_limit", "missing", "discretize", "target",
    "held_out", "folds", "holdout", "user", "item", "checkpoint",
)} | {"n_jobs": "--jobs", "n_bins": "--bins", "max_bins": "--bins", "random_state": "--seed",
      "criterion": "--score",
      "required_edges": "--require", "forbidden_edges": "--forbid", "tiers": "--tier"}  # fmt: skip
VALUES = {
    "checkpoint": "FILE", "target": "COLUMN", "encoding": "NAME", "delimiter": "MARK",
    "sheet": "NAME",
}  # fmt: skip


class VisibleControls(RenderHook):
    """Shows control characters of names, states and paths as signs, so that none takes effect."""

    def process_renderables(self, renderables: list[Any]) -> list[Any]:
        """What the console prints, its text made visible; its own colors stay."""
        return [r if isinstance(r, Control) else _Visible(r) for r in renderables]


class _Visible:
    def __init__(self, renderable: Any) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for text, style, control in console.render(self._renderable, options):
            yield Segment(text if control else visible(text), style, control)


def make_console(**options: Any) -> Console:
    """A console that no name can take over; the commands print with these alone."""
    made = Console(**options)
    made.push_render_hook(VisibleControls())
    return made


console = make_console()
notes = make_console(stderr=True, highlight=False)  # silent with --json and --quiet
interrupted: list[str] = []  # what Ctrl-C stopped, in this run of the program
stopped_early: list[str] = []  # what Ctrl-C or a time limit stopped


def run_program() -> None:
    """Run the command line: every error becomes one sentence and an exit code, and Ctrl-C 130."""
    try:
        _run_program()
    except KeyboardInterrupt:
        with suppress(ValueError):  # in a thread
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would cut off the words
        _print_error("Stopped; nothing was written.")
        sys.exit(130)


def _run_program() -> None:
    use_substitutes()
    debug = "--debug" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--debug"]
    first = sys.argv[1] if len(sys.argv) > 1 else ""
    completing = "_COUNTERPANE_COMPLETE" in os.environ
    interrupted.clear()
    stopped_early.clear()
    notes.quiet = False
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _show_warning
        try:
            _program([first] if first in COMMANDS and not completing else COMMANDS)()
        except SystemExit as stop:
            if stop.code == 130 and not interrupted:
                _print_error("Stopped; nothing was written.")
            raise
        except Exception as error:
            if debug:
                raise
            if _is_ctrl_c(error):
                raise KeyboardInterrupt from None
            sentence, code = _error_sentence(error)
            _print_error(f"[red]Error:[/red] {escape(sentence)}")
            sys.exit(130 if interrupted else code)


def _is_ctrl_c(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: Python wraps it where a class is being made."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


def _program(commands: Any) -> typer.Typer:
    """The typer program with some of the commands; only their modules are imported."""
    program = typer.Typer(
        help="Learn discrete graphical models from any table, then ask them questions.",
        epilog=EXIT_CODES,
        no_args_is_help=True,
        rich_markup_mode="markdown",  # fills paragraphs; other modes keep the docstring's lines
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    program.callback()(_common_options)
    for name in commands:
        module = name.replace("-", "_")
        function = getattr(lazy(f"counterpane.cli.{module}"), f"run_{module}")
        program.command(name)(spread_groups(function))
    return program


def spread_groups(function: Callable[..., None]) -> Callable[..., None]:
    """The function with an option for each field of those parameters that are dataclasses.

    Typer has no groups of options; this lets commands declare them once and take them together.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {n: hint for n, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in groups:
            parameters.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        group = groups[parameter.name]
        types = get_type_hints(group, include_extras=True)
        parameters += [
            parameter.replace(name=f.name, default=f.default, annotation=types[f.name])
            for f in fields(group)
        ]

    for parameter in parameters:
        _check_paths(parameter.annotation)

    def run(**options: Any) -> None:
        for name, group in groups.items():
            options[name] = group(**{f.name: options.pop(f.name) for f in fields(group)})
        function(**options)

    run.__doc__ = function.__doc__
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _check_paths(annotation: Any) -> None:
    """Let an option or argument that is a path refuse what can name no file, such as "".

    Python takes that for the folder it works in.
    """
    kind, *details = get_args(annotation) or [annotation]
    for detail in details if Path in (kind, *get_args(kind)) else []:
        detail.parser = as_path


def _print_version(wanted: bool) -> None:
    if wanted:
        console.print(f"counterpane {cp.__version__}", highlight=False)
        raise typer.Exit


def _common_options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of an error; works anywhere.")
    ] = False,
) -> None:
    """Options of every command; `run_program` looks for --debug itself."""


def _error_sentence(error: Exception) -> tuple[str, int]:
    """What went wrong, with a next step, and the exit code."""
    if isinstance(error, CounterpaneError):
        return with_option_names(error), 2
    if isinstance(error, MemoryError):
        return "memory ran out; try fewer columns or rows, or --method chow-liu.", 1
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{str(error.filename)!r}: "
        words = error.strerror or str(error)
        text = f"{where}{words}; check the path and your rights to it, or name another."
        return shortened(text), 2
    words = " ".join(str(error).split())
    kind = type(error).__name__
    text = f"this should not happen ({kind}: {words}); run again with --debug and report it."
    return shortened(text), 1


def with_option_names(message: BaseException | str) -> str:
    """An error, warning or note as text, its parameters written as options of the command."""
    return shortened("".join(map(_part_text, getattr(message, "parts", (message,)))))


def _part_text(part: object) -> str:
    if isinstance(part, Advice | Option):
        return part.command
    if not isinstance(part, Setting) or part.name not in OPTIONS:
        return str(part)
    value = VALUES.get(part.name, "…") if part.value is ... else repr(part.value)
    return f"{OPTIONS[part.name]} {value}"


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    text = with_option_names(message)
    if hasattr(message, "by_user"):  # a StoppedEarly
        stopped_early.append(text)
        interrupted.extend([text] if message.by_user else [])
    _clear_progress()
    notes.print(f"[yellow]Note:[/yellow] {escape(text)}", soft_wrap=True)


def _print_error(words: str) -> None:
    """Print to standard error, also with --quiet."""
    _clear_progress()
    make_console(stderr=True, highlight=False).print(words, soft_wrap=True)


def _clear_progress() -> None:
    """Erase the progress line, if there is one, before other text is printed."""
    module = sys.modules.get("counterpane.progress")  # loading it would slow down short commands
    if module is not None:
        module.TextBar.clear()


@contextmanager
def progress_bar() -> Iterator[Any]:
    """A report function that draws a bar after a second; None with --json and --quiet."""
    if notes.quiet:
        yield None
        return
    with progress.TextBar(after=1.0) as report:
        yield report


def note(text: str) -> None:
    """Print a note, dim, on a line of its own."""
    _clear_progress()
    notes.print(f"[dim]{escape(with_option_names(text))}[/dim]", soft_wrap=True)


def emit(facts: Mapping[str, Any]) -> None:
    """Print one JSON object; a number that is not finite is null."""
    print(json.dumps(_finite(facts)))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def say(text: str, *, end: str = "\n") -> None:
    """Print a line with markup that no terminal breaks or colors."""
    console.print(text, end=end, highlight=False, soft_wrap=True)


def show_table(table: Any) -> None:
    """Print a table with its title and notes; no line is broken, and no number cut off."""
    if table.title:
        say(f"[italic]{escape(table.title)}[/italic]")
    if table.rows:
        show_whole(table.to_rich())
    for words in table.notes:
        show_note(words)


def show_whole(picture: Any) -> None:
    """Print each row of a picture on one line, however narrow the terminal is."""
    width = console.width
    console.width = max(width, WIDEST)
    try:
        console.print(picture)
    finally:
        console.width = width


def show_note(words: str) -> None:
    """Print a line that explains what is above it, if there are words."""
    if words:
        console.print(f"[dim]{escape(with_option_names(words))}[/dim]", soft_wrap=True)


def say_saved(*paths: Path | None, more: str = "") -> None:
    """Print where files were saved."""
    for path in paths:
        if path is not None:
            say(f"Saved to [bold]{escape(str(path))}[/bold]{more}")


def check_output(path: Path | None, *, model: bool = False, picture: bool = False) -> None:
    """Refuse before the work a file that could not be written after it."""
    if path is None:
        return
    if model:
        suffixes = (formats.NATIVE, *formats.FORMAT_OF)
        if formats.suffix_of(path) not in suffixes:
            raise ParameterError(
                f"{str(path)!r} has no suffix of a model file; {', '.join(suffixes)} are known."
            )
    if picture and path.suffix.lower() not in PICTURES:
        raise ParameterError(
            f"--plot {str(path)!r} is no picture; {', '.join(PICTURES)} are known."
        )
    check_writable(path)
