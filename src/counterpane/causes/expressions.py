"""Expressions of probabilities: what an identified effect is computed from, as small dataclasses.

A variable that a sum binds may also stand free outside of it; the text then has a prime, x′.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Probability:
    """P(variables | given), of the distribution that was observed.

    >>> print(Probability(("y",), ("x", "z")))
    P(y | x, z)
    """

    variables: Names
    given: Names = ()

    @property
    def free(self) -> frozenset[str]:
        """The variables of which it is a function."""
        return frozenset((*self.variables, *self.given))

    def text(self, primed: Mapping[str, str]) -> str:
        """With the names of `primed` replaced."""
        left = ", ".join(primed.get(v, v) for v in self.variables)
        right = ", ".join(primed.get(v, v) for v in self.given)
        return f"P({left} | {right})" if right else f"P({left})"

    def __str__(self) -> str:
        return self.text({})


@dataclass(frozen=True)
class Product:
    """The product of `factors`; of none it is 1."""

    factors: tuple[Expression, ...]

    @cached_property
    def free(self) -> frozenset[str]:
        """The variables of which it is a function."""
        return frozenset[str]().union(*(factor.free for factor in self.factors))

    def text(self, primed: Mapping[str, str]) -> str:
        """With the names of `primed` replaced."""
        parts = [
            f"[{factor.text(primed)}]" if isinstance(factor, Sum) else factor.text(primed)
            for factor in self.factors
        ]
        return " ".join(parts) or "1"

    def __str__(self) -> str:
        return self.text({})


@dataclass(frozen=True)
class Sum:
    """The sum of `term` over all states of the variables `over`.

    >>> rain = Product((Probability(("y",), ("x", "z")), Probability(("z",))))
    >>> print(Sum(("z",), rain))
    Σ_{z} P(y | x, z) P(z)
    """

    over: Names
    term: Expression

    @cached_property
    def free(self) -> frozenset[str]:
        """The variables of which it is a function."""
        return self.term.free - set(self.over)

    def text(self, primed: Mapping[str, str]) -> str:
        """With the names of `primed` replaced; a bound name gets a prime if it is taken outside."""
        inner = dict(primed)
        for v in self.over:
            inner[v] = f"{primed[v]}′" if v in primed else v
        return f"Σ_{{{', '.join(inner[v] for v in self.over)}}} {self.term.text(inner)}"

    def __str__(self) -> str:
        return self.text({})


@dataclass(frozen=True)
class Quotient:
    """`numerator` / `denominator`."""

    numerator: Expression
    denominator: Expression

    @cached_property
    def free(self) -> frozenset[str]:
        """The variables of which it is a function."""
        return self.numerator.free | self.denominator.free

    def text(self, primed: Mapping[str, str]) -> str:
        """With the names of `primed` replaced."""
        return f"{{{self.numerator.text(primed)}}} / {{{self.denominator.text(primed)}}}"

    def __str__(self) -> str:
        return self.text({})


Expression: TypeAlias = Probability | Product | Sum | Quotient


def expression_text(expression: Expression) -> str:
    """The expression, with primes for the bound variables that are also free in it.

    >>> inner = Sum(("x",), Product((Probability(("y",), ("x", "z")), Probability(("x",)))))
    >>> print(expression_text(Sum(("z",), Product((Probability(("z",), ("x",)), inner)))))
    Σ_{z} P(z | x) [Σ_{x′} P(y | x′, z) P(x′)]
    """
    return expression.text({name: name for name in expression.free})


def product_of(factors: Iterable[Expression]) -> Expression:
    """The product, with products among the factors opened; one factor stands for itself.

    >>> print(product_of([Product((Probability(("a",)),)), Probability(("b",))]))
    P(a) P(b)
    """
    opened: list[Expression] = []
    for factor in factors:
        opened += factor.factors if isinstance(factor, Product) else [factor]
    return opened[0] if len(opened) == 1 else Product(tuple(opened))


def sum_out(over: Iterable[str], term: Expression, order: Sequence[str]) -> Expression:
    """Σ_over term, simplified; the names of `over` stand in the order of `order`.

    A variable that only one factor has, on the left of its bar, is dropped there: what a
    probability sums to needs no sum.

    >>> print(sum_out(["b"], Product((Probability(("a",)), Probability(("b",), ("a",)))), "ab"))
    P(a)
    """
    summed = {v for v in over if v in term.free}
    if isinstance(term, Sum):
        summed, term = summed | set(term.over), term.term
    factors: list[Expression] = list(term.factors) if isinstance(term, Product) else [term]
    left = [*sorted(summed - set(order)), *(v for v in order if v in summed)]
    for v in reversed(left):  # children first: their parents may then be alone too
        having = [k for k, factor in enumerate(factors) if v in factor.free]
        if len(having) != 1:
            continue
        factor = factors[having[0]]
        if not isinstance(factor, Probability) or v not in factor.variables:
            continue
        rest = tuple(u for u in factor.variables if u != v)
        if rest:
            factors[having[0]] = Probability(rest, factor.given)
        else:
            del factors[having[0]]
        left.remove(v)
    simplified = product_of(factors)
    bound = tuple(v for v in left if v in simplified.free)
    if isinstance(simplified, Sum):
        return Sum((*bound, *simplified.over), simplified.term) if bound else simplified
    return Sum(bound, simplified) if bound else simplified
