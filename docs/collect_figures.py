"""Copies the figures of the site from `benchmarks/results/` to `docs/_figures/`, in the repository.

    python docs/collect_figures.py [folder of results]

Results are not kept in the repository; these extracts are, so that a fresh clone builds the site.
A benchmark that was not run leaves its extract as it is.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PICKS = {  # result: (the script that writes it, what is taken, None for all)
    "cold": ("benchmarks/cold.py", None),
    "counts": ("benchmarks/micro/counts.py", None),
    "growth": ("benchmarks/micro/growth.py", "exponent"),
    "engines": ("benchmarks/micro/engines.py", None),
    "large": ("benchmarks/micro/large.py", None),
    "sources": ("benchmarks/sources.py", None),
    "gibbs": ("benchmarks/micro/gibbs.py", "slowest|618 features|32,840|895|401,721"),
    "missing": ("benchmarks/micro/missing.py", "^distance|^seconds|^false"),
    "weights": ("benchmarks/micro/weights.py", None),
    "causal": ("benchmarks/causal.py", None),
    "pc": ("benchmarks/pc.py", None),
    "pc_quality": ("benchmarks/pc.py", None),
    "pc_databases": ("benchmarks/pc_databases.py", None),
    "interventions": ("benchmarks/interventions.py", None),
    "wide": ("benchmarks/wide.py", None),
    "wide_models": ("benchmarks/wide_models.py", "100,000|growth"),
    "baskets": ("benchmarks/baskets.py", None),
    "explorer": ("benchmarks/explorer.py", None),
    "bayesian": ("benchmarks/peers/bayesian.py", None),
    "quality": ("benchmarks/peers/quality.py", "^b[a-z]+: "),
    "margins": ("benchmarks/peers/margins.py", None),
    "chow_liu": ("benchmarks/peers/chow_liu.py", None),
    "inference": ("benchmarks/peers/inference.py", "times as fast|first marginals"),
    "dependency": ("benchmarks/peers/dependency.py", "times as fast|test PLL$|processor"),
    "lowd": ("benchmarks/papers/lowd.py", None),
    "freno": ("benchmarks/papers/freno.py", "MRR|DOA|slowest|10,000 columns|growth of HRF"),
    "bromberg_margaritis": ("benchmarks/papers/bromberg_margaritis.py", "^speed"),
    "questions": ("benchmarks/questions.py", "^(?!ALARM in DuckDB)"),
    "classifiers": ("benchmarks/classifiers.py", None),
    "classifier_sets": ("benchmarks/classifiers.py", None),
    "classifier_synthetic": ("benchmarks/classifier_tables.py", None),
    "classifier_speed": ("benchmarks/classifier_tables.py", None),
    "classifier_readability": ("benchmarks/classifier_tables.py", None),
    "fresh_tables": ("benchmarks/fresh_tables.py", None),
    "large_tables": ("benchmarks/large_tables.py", None),
    "r_tables": ("benchmarks/r_tables.py", None),
    "first_contact": ("benchmarks/first_contact.py", None),
    "first_contact_r": ("benchmarks/first_contact.py", None),
}
DETAILS: dict[str, tuple[str, ...] | None] = {  # result: columns of its wide table, None for all
    "explorer": None,
    "sources": None,
    "pc_quality": None,
    "pc_databases": None,
    "interventions": None,
    "questions": (
        "learner", "domains", "f1", "precision", "recall", "auc", "cost", "table_cost",
        "contradictions", "seconds",
    ),
    **dict.fromkeys((
        "classifiers", "classifier_sets", "classifier_synthetic", "classifier_speed",
        "classifier_readability", "fresh_tables", "large_tables", "first_contact",
        "first_contact_r",
    )),
    "r_tables": (
        "table", "rows", "columns", "classes", "InteractionClassifier", "LightGBM, tuned",
        "LightGBM, defaults", "logistic regression", "random forest", "difference",
        "CPU, InteractionClassifier (s)", "CPU, LightGBM, tuned (s)",
    ),
}  # fmt: skip


def extract(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """The figures of a result that the site shows, and how they were measured."""
    script, wanted = PICKS[name]
    where = result["circumstances"]
    versions = {"python": where["python"], **{k: v for k, v in where["packages"].items() if v}}
    rows = [row for row in result["results"] if re.search(wanted or "", row["what"])]
    wide = [
        {column: row[column] for column in DETAILS[name] or row if column in row}
        for row in result.get("details", [])
        if name in DETAILS
    ]
    return {
        "name": name,
        "script": script,
        "commit": where["commit"],
        "date": where["when"][:10],
        "machine": f"{where['cores']} cores, {where['machine']}",
        "versions": versions,
        "figures": [figure(row) for row in rows],
        **({"details": wide} if wide else {}),
    }


def figure(row: dict[str, Any]) -> dict[str, Any]:
    """One figure, to five digits, with its target if it has one."""
    what = re.sub(r"^\d  ", "", row["what"])  # some begin with the number of a target
    found = {"what": " ".join(what.split()), "value": float(f"{row['value']:.5g}")}
    if row["unit"]:
        found["unit"] = row["unit"]
    if row.get("limit") is not None:
        found["asked"] = f"{row.get('sign', '≤')} {row['limit']:g}"
    return found


def main(results: Path) -> None:
    """Write the extract of every result that is there."""
    for name in PICKS:
        source = results / f"{name}.json"
        if not source.exists():
            print(f"{name}: no {source.name}; its extract stays as it is")
            continue
        found = extract(name, json.loads(source.read_text(encoding="utf-8")))
        text = json.dumps(found, indent=1, ensure_ascii=False)
        (HERE / "_figures" / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{name}: {len(found['figures'])} figures")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else HERE.parent / "benchmarks" / "results")
