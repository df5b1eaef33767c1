"""Arguments that do not fit a kernel raise TypeError, which names the function and the argument."""

from __future__ import annotations

import array
import ctypes
import inspect
import random
import re
from types import BuiltinFunctionType

import numpy as np
import pytest

from counterpane import _core
from counterpane._core import bayesian, counts, learn_independence, scores, search
from error_checks import raises

AREAS = sorted(name for name, value in vars(_core).items() if inspect.ismodule(value))
CALLS = 400  # of each function


def refused(function, args, argument, what=""):
    """Expect TypeError that names the function and the argument."""
    with pytest.raises(TypeError) as caught:
        function(*args)
    message = str(caught.value)
    assert message.startswith(f"{function.__name__}: argument '{argument}' ")
    assert what in message


# ---- one wrong argument ------------------------------------------------------------------------


def names_of(function):
    return list(inspect.signature(function).parameters)


def weighted():
    """Arguments that fit `count_weighted`."""
    return {
        "codes": np.array([[0, 1, 1], [1, 0, 2]], np.uint8),
        "weights": np.array([1.5, 2.0, 4.0]),
        "cards": np.array([2, 3]),
        "scopes": np.array([0, 1]),
        "scope_from": np.array([0, 2]),
        "out_from": np.array([0, 6]),
        "queries": np.array([0]),
        "row_from": 0,
        "row_to": 3,
        "out": np.zeros(6),
    }


def misaligned(values):
    memory = bytearray(values.nbytes + 1)
    shifted = np.frombuffer(memory, values.dtype, offset=1).reshape(values.shape)
    shifted[...] = values
    return shifted


def read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def replaced(**changes):
    return [*(weighted() | changes).values()]


def test_what_fits_is_counted():
    args = weighted()
    assert list(args) == names_of(counts.count_weighted)
    counts.count_weighted(*args.values())
    assert args["out"].tolist() == [0.0, 1.5, 0.0, 2.0, 0.0, 4.0]


@pytest.mark.parametrize("n", [0, 1, 9, 11, 30])
def test_number_of_arguments(n):
    args = (replaced() * 3)[:n]
    with pytest.raises(TypeError, match=f"^count_weighted takes 10 arguments, {n} were given$"):
        counts.count_weighted(*args)


def test_keywords_are_refused():
    with raises(TypeError, about="keyword"):
        counts.count_weighted(**weighted())


@pytest.mark.parametrize("argument", ["codes", "weights", "cards", "scopes", "out"])
@pytest.mark.parametrize(
    "value", [None, 3, 2.5, "text", [0, 1], (0, 1), {}, object(), int, b"", np.float64(1.0)]
)
def test_no_array(argument, value):
    refused(counts.count_weighted, replaced(**{argument: value}), argument)


@pytest.mark.parametrize("argument", ["codes", "weights", "cards", "scope_from", "out"])
@pytest.mark.parametrize(
    "dtype", ["i1", "i2", "i4", "u8", "f2", "f4", "c16", "O", "S8", "U2", "M8[s]", "V8", "?"]
)
def test_dtype(argument, dtype):
    args = weighted()
    args[argument] = np.zeros(args[argument].shape, dtype)
    refused(counts.count_weighted, args.values(), argument)


def test_messages_list_the_types():
    args = replaced(codes=np.zeros((2, 3), np.int64))
    refused(counts.count_weighted, args, "codes", "holds int64 where uint8, uint16 or uint32 is")
    args = replaced(weights=np.zeros(3, np.float32))
    refused(counts.count_weighted, args, "weights", "holds float32 where float64 or int64 is")
    args = replaced(out=np.zeros(6, np.int64))  # the weights are floats
    refused(counts.count_weighted, args, "out", "holds int64 where float64 is")


@pytest.mark.parametrize("argument", ["codes", "weights", "cards", "queries", "out"])
def test_dimensions(argument):
    values = weighted()[argument]
    for ndim in {0, 1, 2, 3, 9} - {values.ndim}:
        wrong = np.zeros((1,) * ndim, values.dtype)
        what = f"has {ndim} dimensions where {values.ndim} are needed"
        refused(counts.count_weighted, replaced(**{argument: wrong}), argument, what)


def test_order_of_items():
    codes = np.asfortranarray(weighted()["codes"])
    refused(counts.count_weighted, replaced(codes=codes), "codes", "C-contiguous")
    for argument in ("weights", "cards", "out"):
        values = weighted()[argument]
        repeated = np.broadcast_to(values[:1], values.shape)
        for wrong in (np.repeat(values, 2)[::2], values[::-1], repeated):
            refused(counts.count_weighted, replaced(**{argument: wrong}), argument)


@pytest.mark.parametrize("argument", ["weights", "cards", "out"])
def test_order_of_bytes(argument):
    values = weighted()[argument]
    wrong = values.astype(values.dtype.newbyteorder("S"))
    refused(counts.count_weighted, replaced(**{argument: wrong}), argument)


@pytest.mark.parametrize("argument", ["weights", "cards", "out"])
def test_alignment(argument):
    wrong = misaligned(weighted()[argument])
    refused(counts.count_weighted, replaced(**{argument: wrong}), argument)


def test_read_only_arrays_are_read_but_not_written():
    args = {k: read_only(v) if isinstance(v, np.ndarray) else v for k, v in weighted().items()}
    refused(counts.count_weighted, args.values(), "out", "is written to, but is a read-only array")
    counts.count_weighted(*(args | {"out": np.zeros(6)}).values())


def test_extents_agree():
    for changes, argument, what in [
        ({"weights": np.zeros(4)}, "weights", "another extent on axis 0 than 3"),
        ({"cards": np.array([2, 3, 4])}, "cards", "another extent on axis 0 than 2"),
        ({"out_from": np.array([0, 3, 6])}, "out_from", "another extent on axis 0 than 2"),
        ({"scope_from": np.zeros(0, np.int64)}, "scope_from", "extent on axis 0"),
        ({"codes": np.zeros((2, 5), np.uint8)}, "weights", "another extent on axis 0 than 5"),
    ]:
        refused(counts.count_weighted, replaced(**changes), argument, what)
    joint = np.zeros((1, 1), np.int64)
    two, pair = np.array([2]), np.zeros(2, np.int64)
    args = (joint, two, two, pair, pair, False, np.zeros((2, 3), np.int64))
    refused(counts.spread_pairs, args, "out", "another extent on axis 1 than 2")


@pytest.mark.parametrize(
    "value", [1.0, 0.5, np.float64(1.0), 2**63, -(2**63) - 1, 10**30, None, "1", b"1", 1j, [1],
              (1,), np.array([1, 2]), np.array(1.0)]
)  # fmt: skip
def test_no_integer(value):
    refused(counts.count_weighted, replaced(row_from=value), "row_from", "integer of 64 bits")


def test_integers_of_all_kinds():
    for zero in (False, np.int8(0), np.uint64(0), np.array(0)):
        counts.count_weighted(*replaced(row_from=zero))
    counts.count_weighted(*replaced(row_from=2**63 - 1))  # no rows
    counts.count_weighted(*replaced(row_from=5, row_to=-(2**63)))


def families(a):
    """Arguments of `fill_families`."""
    four, one = np.zeros(4), np.ones(2, np.int64)
    return four, four, one, 0, 1, 0, a, np.zeros(2), np.zeros(2), 0.0, np.empty(2)


@pytest.mark.parametrize("value", [None, "1.0", 1j, [1.0], (), {}, np.zeros(2), b"1", 10**400])
def test_no_number(value):
    refused(bayesian.fill_families, families(value), "a", "is not a number")


def test_numbers_of_all_kinds():
    for value in (1, True, 2**70, np.float32(1.5), np.int8(1), np.array(2.5), float("nan")):
        bayesian.fill_families(*families(value))


def pairs(symmetric):
    """Arguments of `spread_pairs`."""
    two, ones = np.array([2]), np.zeros(2, np.int64)
    return np.zeros((1, 1), np.int64), two, two, ones, ones, symmetric, np.zeros((2, 2), np.int64)


@pytest.mark.parametrize("value", [None, "True", 1.0, [True], (), {}, object(), np.zeros(2, bool)])
def test_no_flag(value):
    refused(counts.spread_pairs, pairs(value), "symmetric", "is not True or False")


def test_flags_of_all_kinds():
    for value in (True, 0, np.True_, np.int64(1)):
        counts.spread_pairs(*pairs(value))


# ---- named tuples ------------------------------------------------------------------------------


def measured(tests):
    """Arguments of `measure` for one graph of two nodes."""
    graphs = np.zeros((1, 2, 1), np.uint64)
    return graphs, tests, 0, np.zeros((1, 1, 2, 1), np.uint64), np.zeros(1)


def some_tests(**changes):
    tests = learn_independence.Tests(
        np.array([[0, 1]]), np.zeros((1, 1), np.uint64), np.zeros((1, 2))
    )
    return tests._replace(**changes)


def test_tuples_that_fit():
    learn_independence.measure(*measured(some_tests()))
    learn_independence.measure(*measured(tuple(some_tests())))


@pytest.mark.parametrize(
    "value", [None, 1, "abc", [*some_tests()], (), some_tests()[:2], (*some_tests(), 0), {}]
)
def test_no_tuple_of_that_length(value):
    refused(learn_independence.measure, measured(value), "tests", "is not a named tuple")


def test_fields_that_do_not_fit():
    for changes, argument, what in [
        ({"pairs": None}, "tests.pairs", "is not an array of int64, but"),
        ({"pairs": np.zeros((1, 3), np.int64)}, "tests.pairs", "on axis 1 than 2"),
        ({"given": np.zeros((1, 1))}, "tests.given", "holds float64 where uint64"),
        ({"given": np.zeros((2, 1), np.uint64)}, "tests.given", "on axis 0 than 1"),
        ({"logs": np.zeros(2)}, "tests.logs", "has 1 dimensions where 2"),
        ({"logs": np.zeros((2, 1)).T[:, ::-1]}, "tests.logs", ""),
    ]:
        refused(learn_independence.measure, measured(some_tests(**changes)), argument, what)
    wider = some_tests(given=np.zeros((1, 2), np.uint64))  # not as wide as the graphs
    refused(learn_independence.measure, measured(wider), "tests.given", "on axis 1 than 1")


# ---- what comes after --------------------------------------------------------------------------


def test_refused_buffers_are_let_go():
    memory = bytearray(48)
    view = np.frombuffer(memory)
    for wrong in (view[None], view.view(np.int64), view[::2], view):
        with pytest.raises(TypeError):
            counts.count_weighted(*replaced(out=wrong, row_to="3"))
    counts.count_weighted(*replaced(out=memoryview(memory).cast("d")))
    assert view[1] == 1.5
    del view, wrong
    memory.append(0)  # BufferError while anyone holds a view


# ---- any function, any arguments ---------------------------------------------------------------


class Broken:
    """Fails at whatever it is asked for."""

    def __index__(self):
        raise RuntimeError("no index")

    def __float__(self):
        raise ValueError("no float")

    def __bool__(self):
        raise OverflowError("no truth")

    def __len__(self):
        raise MemoryError


DTYPES = ["u1", "u2", "u4", "u8", "i1", "i4", "i8", "f4", "f8", "?", "c8", "O"]
NOTHING = [None, "", "text", object(), Broken(), {}, set(), int, len, ..., 1j, slice(3)]
NUMBERS = [0, 1, -1, 7, 2**31, 2**63, -(2**63), 2**64, 10**40, 0.5, float("nan"), True, np.True_,
           np.uint8(3), np.float32(1), np.array(4)]  # fmt: skip
BUFFERS = [b"", b"12345678", bytearray(16), memoryview(bytes(8)), array.array("d", [1.0]),
           array.array("q", range(4)), (ctypes.c_double * 3)(), memoryview(bytes(8))[::2],
]  # fmt: skip


def some_array(rng, ndim=None):
    ndim = rng.randrange(6) if ndim is None else ndim
    return np.zeros([rng.randrange(4) for _ in range(ndim)], rng.choice(DTYPES))


def anything(rng, types, depth=0):
    """An argument of a random kind, right or wrong."""
    kind = rng.randrange(8)
    if kind < 3:
        return some_array(rng)
    if kind == 3:
        return rng.choice(NOTHING)
    if kind == 4:
        return rng.choice(NUMBERS)
    if kind == 5:
        return rng.choice(BUFFERS)
    if depth > 1:
        return ()
    if kind == 6 and types:
        fitting = rng.choice(types)
        return fitting._make(anything(rng, types, depth + 1) for _ in fitting._fields)
    return tuple(anything(rng, types, depth + 1) for _ in range(rng.randrange(4)))


def wrong_scalar(rng):
    """What is neither a number nor a flag nor a named tuple of any kernel."""
    return rng.choice([*NOTHING, (), [], [1], np.zeros((2, 2)), np.zeros(3, "S2")])


def wrong_array(rng, ndim):
    """What no kernel takes for an array of `ndim` dimensions."""
    shape = (3,) * ndim
    plain = rng.choice(["i8", "f8", "u8", "u2", "u4"])
    kind = rng.randrange(7)
    if kind == 0:
        return rng.choice([*NOTHING, *NUMBERS[:14], (), [1, 2]])
    if kind == 1:
        return np.zeros((3,) * rng.choice([n for n in range(6) if n != ndim]), plain)
    if kind == 2:
        return np.zeros(shape, rng.choice(["c16", "O", "f2", "S3", "U1", "M8[s]", "g", "u1,u2"]))
    if kind == 3:
        return np.zeros(shape, ">" + plain)
    if kind == 4:
        return np.zeros((6, *shape[1:]), plain)[:: rng.choice([2, -2])]
    if kind == 5:
        return misaligned(np.zeros(shape, plain))
    return np.zeros(shape, plain, order="F") if ndim > 1 else np.zeros(6, plain)[::2]


def words_of(function):
    """(name, number of dimensions) of each argument, 0 for a number or a named tuple."""
    line = re.search(r"\((.*)\)$", function.__doc__, re.MULTILINE)[1]
    words = [re.fullmatch(r"(\w+)(\[.*\])?", word) for word in line.split(";")[0].split()]
    return [(w[1], w[2].count(",") + 1 if w[2] else 0) for w in words]


@pytest.mark.parametrize("area", AREAS)
def test_random_arguments(area):
    module = getattr(_core, area)
    types = [v for v in vars(module).values() if isinstance(v, type)]
    rng = random.Random(area)
    functions = [v for v in vars(module).values() if isinstance(v, BuiltinFunctionType)]
    assert functions
    for function in functions:
        words = words_of(function)
        assert [name for name, _ in words] == names_of(function)
        for _ in range(CALLS):
            check_refused(rng, function, words, types)


def check_refused(rng, function, words, types):
    """Call a function with random arguments, at least one of them wrong, or too few or many."""
    args = [anything(rng, types) for _ in words]
    n_wrong = min(rng.choice([1, 1, 2, len(words)]), len(words))
    for place in rng.sample(range(len(words)), n_wrong):
        ndim = words[place][1]
        args[place] = wrong_array(rng, ndim) if ndim else wrong_scalar(rng)
    if rng.random() < 0.1:
        args = [*args, None] if rng.random() < 0.5 else args[1:]
    with pytest.raises(TypeError) as caught:
        function(*args)
    message = str(caught.value)
    if len(args) != len(words):
        expected = f"{function.__name__} takes {len(words)} arguments, {len(args)} were given"
        assert message == expected
        return
    found = re.match(r"(\w+): argument '(\w+)[\w.]*' (is|has|holds) ", message)
    assert found, message
    assert found[1] == function.__name__
    assert found[2] in dict(words)


def test_named_tuples_of_different_sizes():
    """Extents that two named tuples share are compared, though each of them is sound."""

    def store(n):
        return scores.RowStore(
            np.zeros((2, n), np.uint64), np.zeros(4, np.int64), np.zeros(3, np.int64),
            np.zeros(3, np.uint64), np.zeros(3, np.int64), np.zeros((3, 1), np.uint64),
            np.zeros((3, n)), np.zeros((3, n), np.int64), np.zeros(3, np.int64),
            np.zeros(4, np.int64),
        )  # fmt: skip

    def rows(n):
        one, room = np.zeros(1, np.int64), np.zeros(5, np.int64)
        return search.RowRequests(store(n), one, room, np.zeros((5, 1), np.uint64), stop)

    def stop():
        raise KeyboardInterrupt

    def dag(n):
        return search.ParentLists(np.zeros(n + 1, np.int64), np.zeros(9, np.int32))

    free = search.Limits(*np.zeros((2, 0, 1), np.uint64), 3, 1e-7)
    with pytest.raises(KeyboardInterrupt):
        search.ges(rows(6), free, dag(6))
    with raises(TypeError, about=("dag.n", "rows.store.n")):
        search.ges(rows(6), free, dag(7))
    with raises(TypeError, about="'rows.fill'"):
        search.ges(rows(6)._replace(fill=None), free, dag(6))
