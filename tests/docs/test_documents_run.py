"""The blocks of README, tutorial and guides work as they stand: in their order, in an empty folder.

Of `sh` blocks the lines that call `counterpane` are run, of `python` blocks everything; a `text`
block that follows one shows some of the lines it prints.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = ("analyst", "class-probabilities", "numbers", "imputing", "exchanging", "scripts",
          "comparing-learners", "ranking-links", "large-tables", "messy-files")  # fmt: skip
DOCUMENTS = ("README.md", "docs/tutorial.md", *(f"docs/how-to/{name}.md" for name in GUIDES),
             "docs/papers/batra.md")  # fmt: skip
SECONDS = 120  # for one command
NAMESPACE: dict[str, Any] = {"__name__": "block"}  # of the process that runs a document's blocks
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", flags=re.M | re.S)


class Block(NamedTuple):
    """A block that is run, and what it is said to print."""

    language: str
    text: str
    shown: str


def blocks_of(document: str) -> list[Block]:
    path = ROOT / document
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    found: list[Block] = []
    for match in BLOCK.finditer(text):
        language, body = match.groups()
        if language in ("sh", "python"):
            found.append(Block(language, body, ""))
            end = match.end()
        elif language == "text" and found and not text[end : match.start()].strip():
            found[-1] = found[-1]._replace(shown=body)
    return found


BLOCKS = {document: blocks_of(document) for document in DOCUMENTS}
QUICK = ("README.md", "docs/tutorial.md")  # the others are slow tests
NUMBERED = [
    pytest.param(document, i, marks=() if document in QUICK else pytest.mark.slow)
    for document, blocks in BLOCKS.items()
    for i in range(len(blocks))
]


class Reader:
    """Follows a document in a folder of its own, and does nothing twice."""

    def __init__(self, document: str, folder: Path) -> None:
        self.blocks = BLOCKS[document]
        self.folder = folder
        self.printed: list[str | Exception] = []
        spawn = multiprocessing.get_context("spawn")
        self.interpreter = ProcessPoolExecutor(1, mp_context=spawn)

    def follow(self, last: int) -> str:
        """What block `last` prints, after all blocks before it."""
        for block in self.blocks[len(self.printed) : last + 1]:
            try:
                self.printed.append(self._run(block))
            except Exception as error:  # told by the test of its own block
                self.printed.append(error)
        found = self.printed[last]
        if isinstance(found, Exception):
            raise found
        return found

    def _run(self, block: Block) -> str:
        if block.language == "python":
            return self.interpreter.submit(executed, block.text, str(self.folder)).result(SECONDS)
        lines = block.text.replace("\\\n", " ").splitlines()
        calls = [shlex.split(line, comments=True) for line in lines]
        ours = [words[1:] for words in calls if words and words[0] == "counterpane"]
        return "".join(self._command(words) for words in ours)

    def _command(self, words: list[str]) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "counterpane", *words], cwd=self.folder, timeout=SECONDS,
            env={**os.environ, "COLUMNS": "120", "PYTHONUTF8": "1"},
            capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"counterpane {words}: {done.stdout}{done.stderr}"
        return done.stdout


def executed(text: str, folder: str) -> str:
    """What a block of Python prints, after the blocks before it; runs in a process of its own."""
    os.environ["MPLBACKEND"] = "agg"
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out):
        exec(compile(text, "block", "exec"), NAMESPACE)
    return out.getvalue()


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Reader]]:
    made = {d: Reader(d, tmp_path_factory.mktemp(Path(d).stem)) for d in DOCUMENTS}
    yield made
    for reader in made.values():
        for process in (reader.interpreter._processes or {}).values():
            process.terminate()  # it may be at work past its time
        reader.interpreter.shutdown(cancel_futures=True)


@pytest.mark.skipif(not BLOCKS["README.md"], reason="the documents are not beside the tests")
@pytest.mark.parametrize(("document", "i"), NUMBERED)
def test_block_runs(readers: dict[str, Reader], document: str, i: int) -> None:
    printed = [" ".join(line.split()) for line in readers[document].follow(i).splitlines()]
    for line in BLOCKS[document][i].shown.splitlines():
        assert " ".join(line.split()) in printed
