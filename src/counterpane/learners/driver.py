"""The loop around every iterative learner: progress, time limit, Ctrl-C, checkpoint and resume.

A learner gives a `Search`: a first state, a step from one state to the next, and when it is done.
States are named tuples, see `checkpoint`, and a step never changes the state it is given, so the
last whole state is always there to return or to save.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from counterpane.data.schema import Schema
from counterpane.disk import check_writable, path_error
from counterpane.errors import ParameterError, PathError, Setting
from counterpane.learners.checkpoint import Saved, read_checkpoint, write_checkpoint
from counterpane.progress import Control, Report, Stopped, TextBar

SAVE_EVERY = 30.0  # seconds between two checkpoints

S = TypeVar("S", bound=tuple[Any, ...])

CTRL_C = "Ctrl-C"  # the reason of a stop by the user


class StoppedEarly(UserWarning):
    """Warns that a learner stopped by its time limit or Ctrl-C; the model is the best so far.

    >>> import warnings
    >>> import counterpane as cp
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always", cp.StoppedEarly)
    ...     learner = cp.HillClimb(time_limit=1e-9).fit(cp.load_dataset("titanic"))
    >>> told[0].category.__name__, learner.model_.dag.n_edges
    ('StoppedEarly', 0)
    """

    def __init__(self, *parts: object, reason: str = "") -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts
        self.reason = reason

    @property
    def by_user(self) -> bool:
        """Whether Ctrl-C was the reason."""
        return self.reason == CTRL_C


class CheckpointWarning(UserWarning):
    """Warns that a checkpoint could not be written or deleted; the search goes on without it.

    >>> issubclass(CheckpointWarning, UserWarning)
    True
    """


def _warn_of_checkpoint(words: str) -> None:
    warnings.warn(CheckpointWarning(f"the checkpoint {words}"), stacklevel=5)


class Search(ABC, Generic[S]):
    """An iterative search, without its loop."""

    @abstractmethod
    def start(self) -> S:
        """The first state."""

    @abstractmethod
    def step(self, state: S, ctl: Control) -> tuple[S, dict[str, Any]]:
        """The next state, and a record of what was done."""

    @abstractmethod
    def done(self, state: S) -> bool:
        """Whether the search has ended."""

    def state_type(self, fresh: S) -> Any:
        """The type of states, of which `fresh` is the first."""
        return type(fresh)

    def check(self, state: S) -> None:
        """Raise a `ValueError` for a state from a file that this search cannot have."""

    def size(self, state: S) -> tuple[float, float | None]:
        """(done, total) for progress; the total is None if it is unknown."""
        return 0.0, None


def to_end(search: Search[S], ctl: Control) -> S:
    """The last state of a search that is one step of another."""
    state = search.start()
    while not search.done(state):
        ctl.check()
        state, _ = search.step(state, ctl)
    return state


@contextmanager
def _ctrl_c_cancels(ctl: Control) -> Iterator[list[int]]:
    """The first Ctrl-C lets a step end with its result so far; the second interrupts it.

    The list holds the signal once it came. Where others handle it, or in a thread, nothing changes.
    """
    pressed: list[int] = []

    def cancel(number: int, _: object) -> None:
        pressed.append(number)
        ctl.cancel()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    ours = threading.current_thread() is threading.main_thread()
    ours = ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, cancel)
    try:
        yield pressed
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


class Outcome(NamedTuple, Generic[S]):
    """The last state, the records of all steps, and why it stopped early, if it did."""

    state: S
    trace: list[dict[str, Any]]
    stopped: str | None


@dataclass
class Driver:
    """How a search is run; the parameters that all long learners share.

    `progress` is True for a bar on a terminal, or a function (what, done, total). `checkpoint` is
    a file that holds the state while the search runs; a search that finds it there, written by the
    same learner on the same data (`fingerprint`), goes on from it to the same result.
    """

    schema: Schema
    fingerprint: dict[str, Any] = field(default_factory=dict)
    time_limit: float | None = None
    progress: bool | Report = False
    checkpoint: str | os.PathLike[str] | None = None

    def run(self, search: Search[S], what: str) -> Outcome[S]:
        """Step until the search is done or must stop."""
        self._check()
        state, trace, spent = self._resume(search)
        stopped = None
        saved = time.monotonic()
        ctl = Control.within(self.time_limit)
        with self._reporting() as report, _ctrl_c_cancels(ctl) as pressed, ctl.watching():
            try:
                while not search.done(state):
                    ctl.check()
                    began = time.monotonic()
                    state, info = search.step(state, ctl)
                    spent += time.monotonic() - began
                    trace.append({"step": len(trace), "seconds": spent, **info})
                    if report is not None:
                        report(what, *search.size(state))
                    if self.checkpoint is not None and time.monotonic() - saved > SAVE_EVERY:
                        self._try_to_save(state, trace, spent)
                        saved = time.monotonic()
            except (Stopped, KeyboardInterrupt) as reason:
                stopped = CTRL_C if pressed or not isinstance(reason, Stopped) else reason.reason
        if stopped is not None:
            self._keep_for_later(state, trace, spent, stopped, what)
        elif self.checkpoint is not None:
            try:
                Path(self.checkpoint).unlink(missing_ok=True)
            except OSError as error:
                _warn_of_checkpoint(str(path_error(error, self.checkpoint, "deleted")))
        return Outcome(state, trace, stopped)

    def _check(self) -> None:
        """Refuse bad parameters before the search starts."""
        if self.time_limit is not None and not self.time_limit > 0:
            raise ParameterError(
                Setting("time_limit", self.time_limit), "; seconds above zero are needed."
            )
        if self.checkpoint is not None:
            try:
                check_writable(self.checkpoint, special=False)
            except PathError as error:
                setting = Setting("checkpoint", str(self.checkpoint))
                raise PathError(error.errno, error.filename, setting, f": {error}") from None

    @contextmanager
    def _reporting(self) -> Iterator[Report | None]:
        if self.progress is True:
            with TextBar() as bar:
                yield bar
        else:
            yield self.progress or None

    def _keep_for_later(
        self, state: Any, trace: list[dict[str, Any]], spent: float, reason: str, what: str
    ) -> None:
        hint = ("pass ", Setting("checkpoint"), " to be able to go on.")
        if self.checkpoint is not None and self._try_to_save(state, trace, spent):
            hint = ("fit again with ", Setting("checkpoint", str(self.checkpoint)), " to go on.")
        number = f"{len(trace)} step{'' if len(trace) == 1 else 's'}"
        steps = f"after {number}; the result is the best so far"
        if not trace:
            steps = "before its first step; the result is only what it starts from"
        words = f"{what} was stopped ({reason}) {steps}: "
        warnings.warn(StoppedEarly(words, *hint, reason=reason), stacklevel=4)

    def _try_to_save(self, state: Any, trace: list[dict[str, Any]], spent: float) -> bool:
        """Save the state; a disk that fails is no reason to lose what was learned: it warns."""
        try:
            self._save(state, trace, spent)
        except OSError as error:  # write_native raises PathError
            _warn_of_checkpoint(f"{error} The search goes on, and what it learns is not lost.")
            return False
        return True

    def _save(self, state: Any, trace: list[dict[str, Any]], spent: float) -> None:
        assert self.checkpoint is not None
        saved = Saved(state, trace, spent)
        write_checkpoint(self.checkpoint, self.schema, self.fingerprint, saved)

    def _resume(self, search: Search[S]) -> Saved[S]:
        """The saved state, trace and seconds, or the fresh ones."""
        fresh = search.start()
        if self.checkpoint is None or not Path(self.checkpoint).exists():
            return Saved(fresh, [], 0.0)
        where = self.checkpoint, self.schema, self.fingerprint
        return read_checkpoint(*where, fresh, search.state_type(fresh), search.check)
