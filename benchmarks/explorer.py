"""The explorer in a real browser: milliseconds from a click to all bars, opening, size of the page.

Chromium without a screen opens the explorer of all networks of `$COUNTERPANE_DATA/networks`, clicks
states one after the other and forces a layout after each click. A click's time is the median of the
clicks. Opening is from the request to the end of the load event, the least of five. Layouts and the
writing of a page are processor seconds of Python. Where the machine has other work, let this run
before it: `chrt -r 1 python benchmarks/explorer.py`.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from selenium import webdriver

import counterpane as cp
from counterpane.drawing.layout import lay_out_graph
from counterpane.report.page import ENGINES, page_script, page_source
from harness import publish, seconds

CLICKS = """
const times = [];
for (let k = 0; k < 60; k++) {
  const rows = document.querySelectorAll('#graph .state'), row = rows[(k * 17) % rows.length];
  const began = performance.now();
  row.click();
  document.body.getBoundingClientRect();
  times.push(performance.now() - began);
  const alert = document.querySelector('[role=alert] button');
  if (alert) alert.click();
  if (k % 6 === 5) document.getElementById('clear').click();
}
return times;
"""
FIRST_CLICK = """
document.querySelector('#graph .monitor:not(.target) .state').click();
document.body.getBoundingClientRect();
"""
LIMITS = {"alarm": 10.0, "andes": 300.0}


def browser(profile: str) -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "window-size=1400,900"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={profile}")
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


def open_page(driver: Any, page: Path) -> float:
    """Milliseconds from the request to the end of the load event, the least of five."""
    load = "return performance.getEntriesByType('navigation')[0].loadEventEnd"
    times = []
    for _ in range(5):
        driver.get("about:blank")
        driver.get(page.as_uri())
        times.append(float(driver.execute_script(load)))
    return min(times)


def measure(driver: Any, path: Path, scratch: str) -> dict[str, Any]:
    """One network: layout, page, opening, click."""
    network = cp.load(path)
    names = network.schema.names
    edges = [(names[a], names[b]) for a, b in network.dag.edges]
    page = Path(scratch) / f"{path.name}.html"
    row: dict[str, Any] = {
        "network": path.name.removesuffix(".bif.gz"),
        "columns": len(names),
        "layout, s": seconds(lambda: lay_out_graph(names, edges, directed=True), repeat=3),
        "page written, s": seconds(lambda: network.explore(page), repeat=1),
        "page, kB": page.stat().st_size / 1000,
        "opening, ms": open_page(driver, page),
    }
    if not driver.execute_script("return Boolean(document.querySelector('[aria-disabled]'))"):
        began = processor(driver)
        times = driver.execute_script(CLICKS)
        row["click, processor ms"] = (processor(driver) - began) / len(times)
        row["click, ms"] = statistics.median(times)
    return row


def processor(driver: Any) -> float:
    """Milliseconds of processor time of the page so far: scripts, styles and layout."""
    driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return 1000 * next(float(m["value"]) for m in metrics if m["name"] == "TaskDuration")


def first_click(driver: Any, folder: Path, scratch: str) -> dict[str, Any]:
    """A classifier of tables and boosted trees, few rows of which fit what is clicked."""
    table = cp.read(folder / "uci" / "glass.csv.gz")
    learner = cp.InteractionClassifier().fit(table, table.schema.names[-1])
    page = Path(str(cp.explore_model(learner, f"{scratch}/classifier.html")))
    times = []
    for _ in range(5):
        driver.get("about:blank")
        driver.get(page.as_uri())
        began = processor(driver)
        driver.execute_script(FIRST_CLICK)
        times.append(processor(driver) - began)
    what = "glass, tables pooled with boosted trees: the first click, processor, least of 5"
    return {"what": what, "value": min(times), "unit": "ms", "limit": 100.0}


def main() -> None:
    """Measure all networks, and a classifier."""
    folder = Path(os.environ["COUNTERPANE_DATA"])
    code = max(len(page_script(kind, report=False).encode()) for kind in ENGINES)
    code += sum(len(page_source(name).encode()) for name in ("page.html", "page.css"))
    with tempfile.TemporaryDirectory() as scratch:
        driver = browser(f"{scratch}/profile")
        paths = sorted((folder / "networks").glob("*.bif.gz"))
        details = [measure(driver, path, scratch) for path in paths]
        first = first_click(driver, folder, scratch)
        driver.quit()
    rows: list[dict[str, Any]] = [
        {"what": "code of a page", "value": code / 1000, "unit": "kB", "limit": 120.0}
    ]
    for row in details:
        if row["network"] in LIMITS:
            what = f"{row['network'].upper()}: a click to all bars, median of 60"
            limit = LIMITS[row["network"]]
            rows.append({"what": what, "value": row["click, ms"], "unit": "ms", "limit": limit})
    for column, what, unit, limit in (
        ("opening, ms", "slowest opening", "ms", 1000.0),
        ("layout, s", "slowest layout", "s", 2.0),
    ):
        rows.append(
            {"what": what, "value": max(r[column] for r in details), "unit": unit, "limit": limit}
        )
    rounded = [
        {k: float(f"{v:.3g}") if isinstance(v, float) else v for k, v in row.items()}
        for row in details
    ]
    publish("explorer", [*rows, first], rounded)


if __name__ == "__main__":
    main()
