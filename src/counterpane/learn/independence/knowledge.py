"""What known independences imply about others: strong union and the two triangle rules.

In a graph, separation by S is separation by every superset of S (strong union), and if X and Y are
separated by Z then one of them is separated from any third W by Z (transitivity). From these follow
the triangle rules (Bromberg, Margaritis & Honavar 2009). Sets of variables are Python integers, bit
v for variable v.
"""

from __future__ import annotations


class Knowledge:
    """Answers to x ⊥ y | given that follow from those added, each rule applied once.

    Of each pair only the largest sets that leave it dependent and the smallest that make it
    independent are kept: the others follow from these.

    >>> known = Knowledge(4)
    >>> known.add(0, 1, 0b0000, False)
    >>> known.add(1, 2, 0b1000, False)
    >>> known.infer(0, 2, 0), known.infer(0, 2, 0b1000)
    (False, None)
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._exact: dict[tuple[int, int, int], bool] = {}
        self._dependent = _by_pair(n)
        self._independent = _by_pair(n)

    def add(self, x: int, y: int, given: int, independent: bool) -> None:
        """Note an answer."""
        self._exact.setdefault((min(x, y), max(x, y), given), independent)
        kept = (self._independent if independent else self._dependent)[x][y]
        if independent:
            if not any(a | given == given for a in kept):
                kept[:] = [a for a in kept if a & given != given]
                kept.append(given)
        elif not any(a & given == given for a in kept):
            kept[:] = [a for a in kept if a | given != given]
            kept.append(given)

    def infer(self, x: int, y: int, given: int, told: bool | None = None) -> bool | None:
        """Whether x ⊥ y | given, as far as one rule tells; what a triangle tells is noted.

        An answer to the very question comes first, then what was `told` from elsewhere.
        """
        known = self._exact.get((min(x, y), max(x, y), given), told)
        if known is not None:
            return known
        if any(a & given == given for a in self._dependent[x][y]):
            return False  # strong union
        shared = self._dependent_triangle(x, y, given)
        if shared is not None:
            self.add(x, y, shared, False)
            return False
        if any(a | given == given for a in self._independent[x][y]):
            return True  # strong union
        for near, far in ((x, y), (y, x)):
            subset = self._independent_triangle(near, far, given)
            if subset is not None:
                self.add(x, y, subset, True)
                return True
        return None

    def _dependent_triangle(self, x: int, y: int, given: int) -> int | None:
        """A ∩ B ⊇ given with x ⊥̸ w | A and w ⊥̸ y | B; no such A holds w, so w is not given."""
        to_x, to_y = self._dependent[x], self._dependent[y]
        for w in range(self.n):
            if given >> w & 1 or w in (x, y):
                continue
            for a in to_x[w]:
                if a & given == given:
                    for b in to_y[w]:
                        if b & given == given:
                            return a & b
        return None

    def _independent_triangle(self, x: int, y: int, given: int) -> int | None:
        """A ⊆ given with x ⊥ w | A and w ⊥̸ y | B, A ⊆ B.

        The rule is not symmetric in x and y. Used both ways it makes the costs that were printed.
        """
        to_x, to_y = self._independent[x], self._dependent[y]
        for w in range(self.n):
            if w in (x, y):
                continue
            for a in to_x[w]:
                if a | given == given:
                    for b in to_y[w]:
                        if a & b == a:
                            return a
        return None


def _by_pair(n: int) -> list[list[list[int]]]:
    """An empty list for each unordered pair, found from either end."""
    lists: list[list[list[int]]] = [[[] for _ in range(n)] for _ in range(n)]
    for x in range(n):
        for y in range(x):
            lists[x][y] = lists[y][x]
    return lists
