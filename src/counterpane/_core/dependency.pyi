"""Dependency networks: conversion, logistic regressions, trees.

Shapes: src/core/learn/dependency/area.cpp; fields of the named tuples: the headers beside it.
"""

from typing import NamedTuple

from counterpane.typing import Array, Bools, Codes, Floats, Ints, Words

ALL: int
LINEAR: int
SINGLE: int

class RawTerms(NamedTuple):
    targets: Ints
    starts: Ints
    steps: Ints
    offsets: Ints
    codes: Ints
    numbers: Floats

class StateSpace(NamedTuple):
    cards: Ints
    firsts: Ints
    owners: Ints
    base: Floats

class Terms(NamedTuple):
    targets: Ints
    groups: Ints
    variables: Ints
    shares: Floats
    code_offsets: Ints
    codes: Ints
    state_offsets: Ints
    states: Ints
    weights: Floats
    back: Floats

class BaseRows(NamedTuple):
    places: Array  # int32
    shares: Floats
    n_places: int

class FeatureStore(NamedTuple):
    sizes: Ints
    slots: Ints
    hashes: Words
    offsets: Ints
    codes: Ints
    weights: Floats

def count_states(raw: RawTerms, space: StateSpace, counts: Ints, /) -> None: ...
def group_terms(raw: RawTerms, space: StateSpace, terms: Terms, /) -> None: ...
def room_for_term(terms: Terms, modes: Ints, positions: Ints, b: int, /) -> tuple[int, int]: ...
def spread_terms(
    terms: Terms,
    modes: Ints,
    positions: Ints,
    rows: BaseRows,
    store: FeatureStore,
    start: int,
    /,
) -> int: ...
def refill_slots(store: FeatureStore, /) -> None: ...

class LogisticDesign(NamedTuple):
    codes: Codes
    weights: Floats
    columns: Ints
    values: Ints
    flipped: Bools
    starts: Ints
    rows: Array  # int32

def list_feature_rows(
    words: Words, flipped: Bools, n_rows: int, starts: Ints, rows: Array, /
) -> None: ...
def add_margins(
    design: LogisticDesign, features: Ints, weights: Floats, out: Floats, /
) -> None: ...
def solve_logistic(
    design: LogisticDesign,
    target: int,
    l1: float,
    enough: float,
    max_active: int,
    weights: Floats,
    margins: Floats,
    /,
) -> float: ...
def logistic_log_likelihood(design: LogisticDesign, target: int, margins: Floats, /) -> float: ...

class TreeRows(NamedTuple):
    codes: Codes
    weights: Ints
    words: Words
    first: Ints
    columns: Ints
    values: Ints
    bit_rows: Ints
    yes_from: Ints
    yes: Array  # uint16 or uint32

class TreeTerms(NamedTuple):
    price: float
    least: int
    few: int
    unit: float
    pseudo: float
    c_logs: Floats
    n_logs: Floats

class GrownTree(NamedTuple):
    questions: Ints
    children: Ints
    gains: Floats
    counts: Ints

def count_answers(words: Words, bit_rows: Ints, yes_from: Ints, /) -> None: ...
def list_answers(words: Words, bit_rows: Ints, yes_from: Ints, yes: Array, /) -> None: ...
def grow_tree(
    rows: TreeRows, target: int, allowed: Bools, terms: TreeTerms, tree: GrownTree, /
) -> int: ...
def cut_tree(
    tree: GrownTree,
    columns: Ints,
    values: Ints,
    price: float,
    terms: TreeTerms,
    tests: Ints,
    children: Ints,
    log_values: Floats,
    /,
) -> tuple[int, float]: ...
def judge_tree(
    words: Words,
    first: Ints,
    weights: Floats,
    target: int,
    bit_rows: Ints,
    tree: GrownTree,
    prices: Floats,
    terms: TreeTerms,
    masks: Words,
    out: Floats,
    /,
) -> None: ...
