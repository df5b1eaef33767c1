"""Small tables that need no file: made by their rules, or taken from scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from counterpane.checks import STRING, accepts
from counterpane.data.table import Table
from counterpane.errors import unknown_name
from counterpane.typing import State

Rows: TypeAlias = Sequence[Sequence[State]]
States: TypeAlias = dict[str, tuple[State, ...]]


@accepts(name=STRING)
def load_dataset(name: str, **options: Any) -> Table:
    """The embedded table called `name`; its class is the last column.

    titanic: the 2201 people aboard (Dawson 1995). tictactoe: the 958 boards on which a game can
    end. monks1, monks2, monks3: all 432 robots with their true class (Thrun et al. 1991). balance:
    all 625 loads of a balance (Siegler 1976). iris, wine and breast_cancer are scikit-learn's, cut
    by Fayyad–Irani against `class`.

    Parameters
    ----------
    name : str
        One of `dataset_names()`.
    **options
        Options of `Table.from_frame`, such as discretize="quantile".

    Returns
    -------
    Table
        The rows.

    Examples
    --------
    >>> load_dataset("titanic")
    Table(2201 rows × 4 columns: Schema(status:4, age:2, sex:2, survived:2))
    """
    if name not in _LOADERS:
        raise unknown_name("dataset", name, _LOADERS)
    return _LOADERS[name](options)


def dataset_names() -> tuple[str, ...]:
    """The names that `load_dataset` knows.

    Returns
    -------
    tuple of str
        The names.

    Examples
    --------
    >>> dataset_names()[:2]
    ('titanic', 'tictactoe')
    """
    return tuple(_LOADERS)


# Died and survived, by status, age and sex: the table that Dawson (1995) drew from the inquiry.
_TITANIC = {
    ("first", "child", "male"): (0, 5),
    ("first", "child", "female"): (0, 1),
    ("first", "adult", "male"): (118, 57),
    ("first", "adult", "female"): (4, 140),
    ("second", "child", "male"): (0, 11),
    ("second", "child", "female"): (0, 13),
    ("second", "adult", "male"): (154, 14),
    ("second", "adult", "female"): (13, 80),
    ("third", "child", "male"): (35, 13),
    ("third", "child", "female"): (17, 14),
    ("third", "adult", "male"): (387, 75),
    ("third", "adult", "female"): (89, 76),
    ("crew", "adult", "male"): (670, 192),
    ("crew", "adult", "female"): (3, 20),
}


def _titanic() -> tuple[States, Rows]:
    states: States = {
        "status": ("first", "second", "third", "crew"),
        "age": ("child", "adult"),
        "sex": ("male", "female"),
        "survived": ("no", "yes"),
    }
    return states, [
        (*person, answer)
        for person, counts in _TITANIC.items()
        for answer, count in zip(states["survived"], counts, strict=True)
        for _ in range(count)
    ]


_LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def _wins(board: str, player: str) -> bool:
    return any(all(board[square] == player for square in line) for line in _LINES)


def _tictactoe() -> tuple[States, Rows]:
    """Every final board: x begins, and a game ends with three in a row or a full board."""
    squares = [f"{v}_{h}" for v in ("top", "middle", "bottom") for h in ("left", "middle", "right")]
    states: States = dict.fromkeys(squares, ("x", "o", "b"))
    final, open_boards = [], {"b" * 9}
    for turn in range(10):
        mover, other = "xo"[turn % 2], "ox"[turn % 2]
        ended = {board for board in open_boards if turn == 9 or _wins(board, other)}
        final += sorted(ended, reverse=True)
        open_boards = {
            board[:square] + mover + board[square + 1 :]
            for board in open_boards - ended
            for square in range(9)
            if board[square] == "b"
        }
    rows = [(*board, "positive" if _wins(board, "x") else "negative") for board in final]
    return {**states, "class": ("negative", "positive")}, rows


def _monks(rule: Callable[..., bool]) -> tuple[States, Rows]:
    sizes = (3, 3, 2, 3, 4, 2)
    states: States = {f"a{i}": tuple(range(1, n + 1)) for i, n in enumerate(sizes, 1)}
    rows = [(*robot, int(rule(*robot))) for robot in product(*states.values())]
    return {**states, "class": (0, 1)}, rows


def _balance() -> tuple[States, Rows]:
    """The side that goes down is the one of the greater weight × distance."""
    names = ("left_weight", "left_distance", "right_weight", "right_distance")
    loads = product(range(1, 6), repeat=4)
    rows = [(a, b, c, d, "LBR"[1 + int(np.sign(c * d - a * b))]) for a, b, c, d in loads]
    return dict.fromkeys(names, (1, 2, 3, 4, 5)) | {"class": ("L", "B", "R")}, rows


def _by_rule(make: Callable[[], tuple[States, Rows]]) -> Callable[[dict[str, Any]], Table]:
    def load(options: dict[str, Any]) -> Table:
        states, rows = make()
        columns = dict(zip(states, zip(*rows, strict=True), strict=True))
        return Table.from_frame(columns, **{"states": states, **options})

    return load


def _from_sklearn(name: str) -> Callable[[dict[str, Any]], Table]:
    def load(options: dict[str, Any]) -> Table:
        # Imported here: scikit-learn takes most of a second, and the other sets do without.
        bunch = getattr(import_module("sklearn.datasets"), f"load_{name}")()
        names = [n.removesuffix(" (cm)").replace(" ", "_") for n in bunch.feature_names]
        classes = tuple(bunch.target_names.tolist())
        columns = dict(zip(names, bunch.data.T, strict=True))
        columns["class"] = bunch.target_names[bunch.target]
        defaults = {"states": {"class": classes}, "discretize": "mdl", "target": "class"}
        return Table.from_frame(columns, **defaults | options)

    return load


_LOADERS: dict[str, Callable[[dict[str, Any]], Table]] = {
    "titanic": _by_rule(_titanic),
    "tictactoe": _by_rule(_tictactoe),
    "monks1": _by_rule(lambda: _monks(lambda a, b, c, d, e, f: a == b or e == 1)),
    "monks2": _by_rule(lambda: _monks(lambda *robot: robot.count(1) == 2)),
    "monks3": _by_rule(
        lambda: _monks(lambda a, b, c, d, e, f: (e == 3 and d == 1) or (e != 4 and b != 3))
    ),
    "balance": _by_rule(_balance),
    "iris": _from_sklearn("iris"),
    "wine": _from_sklearn("wine"),
    "breast_cancer": _from_sklearn("breast_cancer"),
}
