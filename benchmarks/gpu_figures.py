"""The figures and the plot of counting on a card, from lines that `gpu.py` measured elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).parents[1] / "docs"
FIGURES, PLOT = DOCS / "_figures" / "gpu.json", DOCS / "images" / "gpu-products.svg"
LIMIT = 1e15  # bit pairs a second: the best that a plain kernel was measured to reach


def summary(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The figures of the site."""
    for line in lines:
        part = line["part"]
        if part == "check":
            continue
        if part == "suite":
            yield {"what": "tests of count sources on the card", "value": line["tests"]}
            yield {"what": "tests that failed there", "value": line["failed"]}
        if part == "screens" and "pairs_s" in line:
            what = f"{line['n']:,} binary columns × 1,000 rows"
            yield {"what": f"screen of all pairs of {what}", "value": 1e3 * line["pairs_s"],
                   "unit": "ms"}  # fmt: skip
            yield {"what": f"screen of all pairs of {what}: share of 10¹⁵ bit pairs a second",
                   "value": line["pairs_share"]}  # fmt: skip
            yield {"what": f"screen of 16,384 families with {what}", "unit": "ms",
                   "value": 1e3 * line["given_s"]}  # fmt: skip
            yield {"what": f"screen of 16,384 families with {what}: share of 10¹⁵",
                   "value": line["given_share"]}  # fmt: skip
        if part == "products":
            what = f"product of {line['m']:,} × {line['n']:,} sets of {line['rows']:,} rows"
            yield {"what": what, "value": line["ms"], "unit": "ms"}
            yield {"what": f"{what}: share of 10¹⁵ bit pairs a second", "value": line["share"]}
        elif part == "pairs":
            what = f"all pairs of {line['columns']:,} columns × {line['rows']:,} rows"
            yield {"what": f"{what}: the product", "value": line["product_ms"], "unit": "ms"}
            yield {"what": f"{what}: with tables", "value": line["pair_counts_s"], "unit": "s"}
            yield {"what": f"{what}: copied", "value": line["copy_and_pack_s"], "unit": "s"}
            yield {"what": f"{what}: copied by one thread", "value": line["one_thread_copy_s"],
                   "unit": "s"}  # fmt: skip
            yield {"what": f"{what}: host", "value": line["host_pair_counts_s"], "unit": "s"}
            yield {"what": f"{what}: Chow–Liu", "value": line["chow_liu_s"], "unit": "s"}
            yield {"what": f"{what}: Chow–Liu, host", "value": line["host_chow_liu_s"], "unit": "s"}
        elif part == "tables":
            yield {"what": "200 three-way tables", "value": line["ms"], "unit": "ms"}
            yield {"what": "200 three-way tables: host", "value": line["host_ms"], "unit": "ms"}
        elif part in ("known", "large"):
            what = f"{line['name']}, {line['columns']:,} columns × {line['rows']:,} rows"
            for name in ("search_s", "host_search_s"):
                if name in line:
                    on = "host" if name.startswith("host") else "card"
                    stopped = " (stopped)" if on == "host" and line["host_stopped"] else ""
                    yield {"what": f"{what}: {on}{stopped}", "value": line[name], "unit": "s"}
            yield {"what": f"{what}: precision", "value": line["precision"]}
            yield {"what": f"{what}: recall", "value": line["recall"]}
            yield {"what": f"{what}: SHD", "value": line["shd"]}
        elif part == "wide":
            what = f"{line['columns']:,} columns × 1,000 rows"
            yield {"what": f"{what}: learned", "value": line["wall_s"], "unit": "s"}
            yield {"what": f"{what}: host memory", "value": line["peak_gb"], "unit": "GB"}
            yield {"what": f"{what}: precision", "value": line["precision"]}
            yield {"what": f"{what}: recall", "value": line["recall"]}
        elif part == "streaming":
            what = "100,000,000 rows × 100 columns through 4 GB"
            yield {"what": f"{what}: packed once", "value": line["pack_s"], "unit": "s"}
            yield {"what": f"{what}: all pairs", "value": line["pair_counts_s"], "unit": "s"}
            yield {
                "what": f"{what}: 90 three-way tables",
                "value": line["three_way_s"],
                "unit": "s",
            }


def write_figures(options: Any) -> None:
    """`docs/_figures/gpu.json` from lines that were measured elsewhere."""
    lines = [json.loads(x) for path in options.summary for x in path.read_text().splitlines()]
    once = {f["what"]: {**f, "value": float(f"{f['value']:.4g}")} for f in summary(lines)}
    figures = list(once.values())
    record = {"name": "gpu", "script": "benchmarks/gpu.py", "commit": options.commit,
              "date": options.date, "machine": options.machine, "versions": {"cupy": "14.2.0"},
              "figures": figures}  # fmt: skip
    FIGURES.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    plot_products([line for line in lines if line["part"] == "products"])


def plot_products(lines: list[dict[str, Any]]) -> None:
    """The milliseconds of each product against its bit pairs, with the limit."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "gpu", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    last = {(x["m"], x["n"], x["rows"]): x["ms"] for x in lines}
    figure, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    for few, words, marker in ((True, "up to 64 sets on one side", "s"), (False, "more", "o")):
        some = [(m * n * rows, ms) for (m, n, rows), ms in last.items() if (m <= 64) == few]
        axes.plot(*zip(*sorted(some), strict=True), marker, label=words)
    ends = np.array([min(m * n * r for m, n, r in last), max(m * n * r for m, n, r in last)])
    axes.plot(ends, 1e3 * ends / LIMIT, "--", color="gray", label="10¹⁵ bit pairs a second")
    axes.set(xscale="log", yscale="log", xlabel="bit pairs (sets × sets × rows)", ylabel="ms")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(PLOT, metadata={"Date": None})
    pyplot.close(figure)
