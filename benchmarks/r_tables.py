"""Real tables of R packages: the pool beside tuned LightGBM on tables that no choice was made on.

Needs Rscript and the Debian packages r-cran-{PACKAGE} of `TABLES`; nothing of theirs is kept here.
Three fifths of the rows are learned from, the others predicted. Tables of fewer than 2,000 rows are
split three times; their losses are means. Tables at even places are the open half, to try changes
on; the closed half is looked at once, after all choices.

    python benchmarks/r_tables.py open [--methods pool lr] [--kinds kernlab.spam]
    python benchmarks/r_tables.py closed
    python benchmarks/r_tables.py summary

Every task is one line of `results/r_tables.jsonl`, and is not run again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "papers"))

import numpy as np
import pandas as pd
from resumable import known_records, run_lines

from fresh_tables import RANKED, WORDS, FreshTask, Made, loss_of, summary
from harness import RESULTS

LINES = RESULTS / "r_tables.jsonl"
FOLDER = RESULTS / "r_tables"
SMALL, SPLITS, SHARE = 2000, 3, 0.6
# The class, and columns left out: names of rows, and what is known only together with the class.
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "AER.CreditCard": ("card", ("expenditure", "share")),
    "AER.DoctorVisits": ("nchronic", ("lchronic",)),
    "AER.GSOEP9402": ("school", ()),
    "AER.HMDA": ("deny", ()),
    "AER.HealthInsurance": ("insurance", ()),
    "AER.NMES1988": ("health", ()),
    "AER.PSID7682": ("union", ("id",)),
    "AER.ResumeNames": ("call", ()),
    "AER.SmokeBan": ("smoker", ()),
    "MASS.Aids2": ("status", ("death",)),
    "MASS.crabs": ("sp", ("index",)),
    "TH.data.GlaucomaM": ("Class", ()),
    "TH.data.wpbc": ("status", ("time",)),
    "ade4.banque": ("cableue", ()),
    "carData.Arrests": ("released", ()),
    "carData.CES11": ("abortion", ("id",)),
    "carData.Chile": ("vote", ()),
    "carData.KosteckiDillon": ("headache", ("id",)),
    "carData.MplsStops": ("problem", ("idNum", "date")),
    "carData.TitanicSurvival": ("survived", ()),
    "carData.WVS": ("poverty", ()),
    "carData.Wells": ("switch", ()),
    "caret.dhfr": ("Y", ()),
    "caret.segmentationData": ("Class", ("Cell", "Case")),
    "ggplot2.diamonds": ("cut", ()),
    "kernlab.income": ("INCOME", ()),
    "kernlab.musk": ("Class", ()),
    "kernlab.promotergene": ("Class", ()),
    "kernlab.spam": ("type", ()),
    "kernlab.ticdata": ("CARAVAN", ()),
    "mlbench.DNA": ("Class", ()),
    "mlbench.LetterRecognition": ("lettr", ()),
    "mlbench.Satellite": ("classes", ()),
    "mlbench.Shuttle": ("Class", ()),
    "mlbench.Sonar": ("Class", ()),
    "mlbench.Soybean": ("Class", ()),
    "mlbench.Vowel": ("Class", ()),
    "modeldata.ad_data": ("Class", ()),
    "modeldata.attrition": ("Attrition", ()),
    "modeldata.bivariate_train": ("Class", ()),
    "modeldata.credit_data": ("Status", ()),
    "modeldata.hpc_data": ("class", ()),
    "modeldata.lending_club": ("Class", ()),
    "modeldata.mlc_churn": ("churn", ()),
    "modeldata.penguins": ("species", ()),
    "modeldata.stackoverflow": ("Remote", ()),
    "modeldata.two_class_dat": ("Class", ()),
    "modeldata.wa_churn": ("churn", ()),
    "rpart.solder": ("PadType", ()),
    "survival.colon": ("rx", ("id", "study")),
    "survival.flchain": ("death", ("chapter", "futime")),
    "survival.mgus2": ("death", ("id", "futime", "ptime", "pstat")),
    "survival.nwtco": ("rel", ("seqno", "edrel")),
    "survival.rotterdam": ("recur", ("pid", "rtime", "dtime", "death")),
    "survival.transplant": ("event", ("futime",)),
}
HALVES = {"open": list(TABLES)[::2], "closed": list(TABLES)[1::2]}
EXPORT = """
arguments <- commandArgs(TRUE)
folder <- system.file("data", package = arguments[1])
found <- new.env()
lazy <- file.path(folder, "Rdata")
if (file.exists(paste0(lazy, ".rdb"))) lazyLoad(lazy, envir = found) else
  for (path in list.files(folder, "[.](rda|RData)$", full.names = TRUE)) load(path, envir = found)
write.csv(as.data.frame(get(arguments[2], envir = found)), arguments[3], row.names = FALSE)
"""


@cache
def exported(kind: str) -> pd.DataFrame:
    """A table of a package, written by R once."""
    path = FOLDER / f"{kind}.csv"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        subprocess.run(["Rscript", "-e", EXPORT, *kind.rsplit(".", 1), str(path)], check=True)
    return pd.read_csv(path, low_memory=False)


def made(kind: str, seed: int) -> Made:
    """The rows of a table with a class, shuffled; of every class there are rows to learn from."""
    target, left_out = TABLES[kind]
    frame = exported(kind).drop(columns=list(left_out))
    frame = frame[frame[target].notna()]
    frame = frame.iloc[np.random.default_rng(seed).permutation(len(frame))].reset_index(drop=True)
    rows = round(SHARE * len(frame))
    known = np.unique(frame[target][:rows])
    frame = frame[frame[target].isin(known)].reset_index(drop=True)
    y = np.searchsorted(known, frame[target])
    X = frame.drop(columns=target)
    words = X.columns[[not pd.api.types.is_numeric_dtype(t) for t in X.dtypes]]
    return Made(X.astype(dict.fromkeys(words, "category")), y, rows)


def run(task: FreshTask) -> list[dict[str, Any]]:
    """The loss of a method on one split of a table, and its CPU seconds."""
    return loss_of(task, made(task.kind, task.seed))


def part_of(record: dict[str, Any]) -> str:
    """Which half a table is of."""
    return next(half for half, kinds in HALVES.items() if record["kind"] in kinds)


def merged(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One record for each table and method: means over the splits."""
    splits: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        splits.setdefault((record["kind"], record["method"]), []).append(record)
    return [
        {**some[0], "seed": f"({len(some)} splits)" if len(some) > 1 else "",
         "log_loss": float(np.mean([r["log_loss"] for r in some])),
         "cpu": round(float(np.mean([r["cpu"] for r in some])), 2)}
        for some in splits.values()
    ]  # fmt: skip


def splits_of(kind: str) -> range:
    return range(SPLITS if len(exported(kind)) < SMALL else 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("half", choices=[*HALVES, "summary"])
    parser.add_argument("--methods", nargs="+", default=list(RANKED), choices=list(WORDS))
    parser.add_argument("--kinds", nargs="+", choices=list(TABLES))
    options = parser.parse_args()
    if options.half != "summary":
        tasks = [
            FreshTask(kind, seed, method)
            for kind in HALVES[options.half] if not options.kinds or kind in options.kinds
            for seed in splits_of(kind) for method in options.methods
        ]  # fmt: skip
        run_lines(tasks, run, LINES, 1)
    summary("r_tables", merged(known_records(LINES)), part_of)


if __name__ == "__main__":
    main()
