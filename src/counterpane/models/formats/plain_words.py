"""Words that every tool reads: ASCII letters, digits and underscores, a letter first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, count

INTERVAL = re.compile(r"[\[(]([^\[\](),;]+)[,;] ?([^\[\](),;]+)[)\]]")
SPAN = re.compile(r"([-−]?[0-9.]+) ?[–—] ?([-−]?[0-9.]+)")  # 10–20
SIGNS = {"<=": " le ", ">=": " ge ", "≤": " le ", "≥": " ge ", "<": " lt ", ">": " gt "}
LETTERS = {
    "ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L",
    "đ": "d", "Đ": "D", "þ": "th", "Þ": "Th", "ı": "i", "µ": "u", "%": " pct ", "&": " and ",
}  # fmt: skip
KEYWORDS = {
    *("network", "variable", "probability", "property", "type", "discrete", "table", "default"),
    *("net", "node", "potential", "states", "data", "continuous", "decision", "utility"),
}  # of BIF and NET


def plain_word(word: str) -> str:
    """The word in ASCII letters, digits and underscores; empty where nothing is left of it.

    >>> [plain_word(w) for w in ("<0.28", "≥-1.5", "[0.28, 0.41)", "length (cm)", "São", "A+")]
    ['lt_0_28', 'ge_minus_1_5', 'from_0_28_to_0_41', 'length_cm', 'Sao', 'A_plus']
    """
    if interval := INTERVAL.fullmatch(word) or SPAN.fullmatch(word):
        word = f"from {interval[1]} to {interval[2]}"
    word = re.sub("|".join(map(re.escape, SIGNS)), lambda sign: SIGNS[sign[0]], word)
    word = re.sub(r"(?<![0-9A-Za-z])[-−](?=\.?[0-9])|(?<=\w)-$", " minus ", word)
    word = re.sub(r"\+(?=\W|$)", " plus ", word)
    word = "".join(LETTERS.get(letter, letter) for letter in word)
    decomposed = unicodedata.normalize("NFKD", word)
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return re.sub(r"[^0-9A-Za-z]+", "_", bare).strip("_")


def plain_words(
    words: Sequence[str],
    allowed: re.Pattern[str],
    *,
    prefix: str,
    empty: str,
    any_case: bool = False,
    keywords: Collection[str] = KEYWORDS,
) -> list[str]:
    """The words, those that are not `allowed` replaced by plain ones; all stay distinct.

    A word that would begin with a digit gets `prefix`; one of which nothing is left is called
    `empty`. With `any_case` two words differ in more than capitals; `keywords` are no words.

    >>> letters = re.compile("[a-z]+")
    >>> plain_words(["a", "A!", "2", "变"], letters, prefix="x_", empty="state", any_case=True)
    ['a', 'A_2', 'x_2', 'state']
    """

    def key(word: str) -> str:
        return word.lower() if any_case else word

    result: list[str | None] = [None] * len(words)
    taken: set[str] = set()
    for place, word in enumerate(words):  # words that may stay have the first choice
        if allowed.fullmatch(word) and word.lower() not in keywords and key(word) not in taken:
            result[place] = word
            taken.add(key(word))
    numbers: dict[str, Iterator[int]] = {}
    for place, word in enumerate(words):
        if result[place] is not None:
            continue
        stem = plain_word(word) or empty
        stem = f"{prefix}{stem}" if not stem[0].isalpha() else stem
        stem = f"{stem}_" if stem.lower() in keywords else stem
        after = numbers.setdefault(key(stem), count(2))
        tried = chain([stem], (f"{stem.rstrip('_')}_{k}" for k in after))
        chosen = next(t for t in tried if key(t) not in taken)
        result[place] = chosen
        taken.add(key(chosen))
    return [word for word in result if word is not None]
