"""How many random examples a law meets: all in continuous integration, a third elsewhere."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

ALL = 100  # examples of a law that states no number


def register_profiles() -> None:
    """Register "ci" and load "default"; a busy machine is no failure, so there is no deadline."""
    settings.register_profile("ci", deadline=None, max_examples=ALL)
    settings.register_profile("default", deadline=None, max_examples=ALL // 3)
    settings.load_profile("default")


def examples(n: int, **options: Any) -> settings:
    """Settings of a law that meets `n` examples, or the share of them that the profile takes."""
    return settings(max_examples=max(1, n * settings().max_examples // ALL), **options)
