"""Conditionals of potentials, rules and trees. Shapes: src/core/features/area.cpp."""

from typing import NamedTuple

from counterpane.typing import Bools, Codes, Floats, Ints

class Parts(NamedTuple):
    """Potentials, rules and trees as flat arrays, and for each variable those it depends on.

    Potential t has the cells from value_offsets[t] on, and the scope and strides
    scope_offsets[t] … scope_offsets[t+1]−1. The potentials that touch variable v are
    potentials[potential_offsets[v] … potential_offsets[v+1]−1]; so for the rules. The trees of
    variable v are tree_offsets[v] … tree_offsets[v+1]−1; tree t has the rows from tree_roots[t] on
    of `nodes`: a variable, a value, the node if it has the value, the node otherwise. A leaf has
    the variable −1, and its states start where nodes[k, 2] says in `leaf_values`.
    """

    cards: Ints
    potential_offsets: Ints
    potentials: Ints
    scope_offsets: Ints
    scopes: Ints
    strides: Ints
    value_offsets: Ints
    values: Floats
    touching_offsets: Ints
    touching: Ints
    rule_weights: Floats
    rule_offsets: Ints
    rule_variables: Ints
    rule_values: Ints
    rule_negated: Bools
    tree_offsets: Ints
    tree_roots: Ints
    nodes: Ints
    leaf_values: Floats

class WordRules(NamedTuple):
    """Rules whose conditions on one variable stand together.

    A condition's place is firsts[v] + s for state s of variable v.
    """

    weights: Floats
    offsets: Ints
    variables: Ints
    places: Ints
    negated: Bools
    firsts: Ints

class RuleMasks(NamedTuple):
    """Rule r counts `weights[r]` where all its entries, offsets[r] … offsets[r+1]−1, hold.

    Entry e holds where `flags[first[e] + state of variables[e]]`; `serves[e]` says whether the rule
    bears on the conditional of that variable. Entries of a rule are sorted by variable.
    """

    weights: Floats
    offsets: Ints
    rules: Ints
    variables: Ints
    first: Ints
    flags: Bools
    serves: Bools

def fill_conditionals(
    parts: Parts, codes: Codes, variables: Ints, start: int, stop: int, out: Floats, /
) -> int: ...
def add_pseudo_log_likelihood(
    parts: Parts, codes: Codes, start: int, stop: int, out: Floats, /
) -> int: ...
def add_log_potential(
    parts: Parts, codes: Codes, start: int, stop: int, out: Floats, /
) -> None: ...
def fill_conditionals_by_words(
    rest: Parts, rules: WordRules, codes: Codes, start: int, stop: int, out: Floats, /
) -> int: ...
def add_pseudo_log_likelihood_by_words(
    rest: Parts, rules: WordRules, codes: Codes, start: int, stop: int, out: Floats, /
) -> int: ...
def find_contradiction(
    cards: Ints, offsets: Ints, variables: Ints, values: Ints, negated: Bools, /
) -> int: ...
def simplify_conditions(
    cards: Ints,
    offsets: Ints,
    variables: Ints,
    values: Ints,
    negated: Bools,
    certain: bool,
    new_offsets: Ints,
    new_variables: Ints,
    new_values: Ints,
    new_negated: Bools,
    /,
) -> int: ...
def mark_paths(cards: Ints, nodes: Ints, roots: Ints, parents: Ints, sizes: Ints, /) -> None: ...
def fill_paths(
    cards: Ints,
    nodes: Ints,
    parents: Ints,
    sizes: Ints,
    leaves: Ints,
    offsets: Ints,
    variables: Ints,
    values: Ints,
    negated: Bools,
    /,
) -> None: ...
