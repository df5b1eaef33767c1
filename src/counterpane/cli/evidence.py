"""Evidence on the command line: `--given column=state`, as a model takes it."""

from __future__ import annotations

from typing import Any

from counterpane.errors import ParameterError
from counterpane.lazy import lazy

dates = lazy("counterpane.data.dates")
np = lazy("numpy")


def evidence_of(given: list[str] | None) -> dict[str, str]:
    """The evidence in options of the form column=state."""
    evidence = {}
    for item in given or []:
        name, sign, state = item.partition("=")
        if not sign or not name:
            raise ParameterError(
                f"--given {item!r} is not of the form column=state; write it as sex=female."
            )
        evidence[name.strip()] = state.strip()
    return evidence


def evidence_for(model: Any, evidence: dict[str, str]) -> dict[str, str]:
    """Evidence with dates such as 3/4/2021 read as they were when the model was learned."""
    order = (model.provenance or {}).get("day_first", {})
    read = {n: dates.day_number(s, day_first=order[n]) for n, s in evidence.items() if n in order}
    return evidence | {
        n: dates.date_texts(np.array([d]))[0] for n, d in read.items() if d is not None
    }
