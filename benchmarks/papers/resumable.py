"""Long work as lines of a file: what has a line is not done again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from joblib import Parallel, delayed

from counterpane.progress import TextBar
from harness import commit

T = TypeVar("T", bound=tuple[Any, ...])


def run_lines(
    tasks: Sequence[T], run: Callable[[T], list[dict[str, Any]]], path: Path, jobs: int
) -> list[dict[str, Any]]:
    """The records of all tasks, named tuples of plain values; each is run once, ever.

    Every finished task is one line; its records name the commit that ran it. A line that was cut
    short is passed over.
    """
    known = _read(path)
    now = commit()
    left = [task for task in tasks if _key(task) not in known]
    path.parent.mkdir(exist_ok=True)
    workers = Parallel(n_jobs=jobs, return_as="generator_unordered")
    with path.open("a") as file, TextBar(after=0.0) as bar:
        work = (delayed(_labeled)(run, task) for task in left)
        for done, (task, records) in enumerate(workers(work), start=1):
            line = json.dumps([_key(task), [{**record, "commit": now} for record in records]])
            known[_key(task)] = json.loads(line)[1]  # as a later run will read it
            file.write(line + "\n")
            file.flush()
            bar(" ".join(map(str, task)), done, len(left))
    return [record for task in tasks for record in known.get(_key(task), [])]


def finished(tasks: Sequence[T], path: Path) -> list[T]:
    """The tasks that have a line."""
    known = _read(path)
    return [task for task in tasks if _key(task) in known]


def known_records(path: Path) -> list[dict[str, Any]]:
    """The records of all lines of a file."""
    return [record for records in _read(path).values() for record in records]


def restore(path: Path, kept: Path) -> None:
    """Begin with the lines that were kept, where there are none yet."""
    if not path.exists() and kept.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.decompress(kept.read_bytes()))


def keep(path: Path, kept: Path) -> None:
    """Pack the lines, so that a run on another machine goes on."""
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def _labeled(run: Callable[[T], list[dict[str, Any]]], task: T) -> tuple[T, list[dict[str, Any]]]:
    return task, run(task)


def _key(task: tuple[Any, ...]) -> str:
    return json.dumps(task)


def _read(path: Path) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            key, records = json.loads(line)
        except ValueError:
            continue
        found[key] = records
    return found
