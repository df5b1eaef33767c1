"""The explorer in a real browser: milliseconds from a click to all bars, opening, size of the page.

Chromium without a screen opens the explorer of networks of `$COUNTERPANE_DATA/networks`, clicks
states one after the other and forces a layout after each click. A click's time is the median of the
clicks; the machine's other load is in it. Opening is from the request to the end of the load event,
the least of three. Layouts are processor seconds of `lay_out_graph`.
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
from counterpane.report.page import page_scripts, page_source
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
LIMITS = {"alarm": 10.0, "andes": 300.0}


def browser(profile: str) -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "window-size=1400,900"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={profile}")
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


def measure(driver: Any, name: str, page: Path) -> list[dict[str, Any]]:
    """Rows of one network: a click, opening, bytes."""
    load = "return performance.getEntriesByType('navigation')[0].loadEventEnd"
    opening = []
    for _ in range(3):
        driver.get("about:blank")
        driver.get(page.as_uri())
        opening.append(float(driver.execute_script(load)))
    times = driver.execute_script(CLICKS)
    click: dict[str, Any] = {
        "what": f"{name}: a click to all bars, median of {len(times)}",
        "value": statistics.median(times),
        "unit": "ms",
    }
    opened = {"what": f"{name}: opening", "value": min(opening), "unit": "ms", "limit": 1000.0}
    size = {"what": f"{name}: page", "value": page.stat().st_size / 1000, "unit": "kB"}
    return [click | ({"limit": LIMITS[name]} if name in LIMITS else {}), opened, size]


def main() -> None:
    """Measure ALARM, ANDES, PIGS and the layouts of all networks."""
    folder = Path(os.environ["COUNTERPANE_DATA"]) / "networks"
    code = sum(len(page_source(f"explorer/{name}").encode()) for name in page_scripts("tree"))
    code += sum(len(page_source(name).encode()) for name in ("page.html", "report.css"))
    rows = [
        {
            "what": "code of a network's page",
            "value": code / 1000,
            "unit": "kB",
            "limit": 120.0,
        }
    ]
    with tempfile.TemporaryDirectory() as scratch:
        driver = browser(f"{scratch}/profile")
        for name in ("alarm", "andes", "pigs"):
            network = cp.load(folder / f"{name}.bif.gz")
            rows += measure(driver, name, Path(network.explore(f"{scratch}/{name}.html")))
        driver.quit()
    for path in sorted(folder.glob("*.bif.gz")):
        network = cp.load(path)
        names = network.schema.names
        edges = [(names[a], names[b]) for a, b in network.dag.edges]
        took = seconds(lambda n=names, e=edges: lay_out_graph(n, e, directed=True), repeat=3)
        what = f"{path.name.removesuffix('.bif.gz')}: layout of {len(names)} nodes"
        rows.append({"what": what, "value": took, "unit": "s", "limit": 2.0})
    publish("explorer", rows)


if __name__ == "__main__":
    main()
