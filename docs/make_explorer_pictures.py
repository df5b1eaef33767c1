"""Takes the pictures of the explorer in `docs/images/`, with Chromium and Selenium.

python docs/make_explorer_pictures.py
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver

import counterpane as cp

IMAGES = Path(__file__).parent / "images"
CLICK = """
const [column, state, shift] = arguments;
const row = document.querySelector(`#graph [data-column="${column}"] [data-state="${state}"]`);
row.dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: shift }));
"""


def browser(width: int, height: int) -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--window-size={width},{height}")
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    size = {"width": width, "height": height, "deviceScaleFactor": 1.25, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    return driver


def click(driver: Any, model: Any, column: str, state: str, *, shift: bool = False) -> None:
    variable = model.schema[column]
    driver.execute_script(CLICK, model.schema.index(column), variable.code(state), shift)


def take(driver: Any, name: str) -> None:
    """A picture of few colors, which is a small file."""
    time.sleep(0.5)
    driver.save_screenshot(str(IMAGES / name))
    Image.open(IMAGES / name).convert("RGB").quantize(160).save(IMAGES / name, optimize=True)
    driver.quit()


def main() -> None:
    """The Titanic with evidence and what to ask next; ALARM around its strongest column."""
    titanic = cp.StructureSearch().fit(cp.load_dataset("titanic")).model_
    with tempfile.TemporaryDirectory() as folder:
        driver = browser(1180, 640)
        page = cp.explore_model(titanic, f"{folder}/t.html", title="titanic", target="survived")
        driver.get(Path(str(page)).as_uri())
        click(driver, titanic, "sex", "female")
        click(driver, titanic, "status", "crew", shift=True)
        driver.find_element("id", "tool-ask").click()
        take(driver, "explorer.png")
        alarm = cp.load(Path(os.environ["COUNTERPANE_DATA"]) / "networks" / "alarm.bif.gz")
        driver = browser(1400, 860)
        driver.get(Path(alarm.explore(f"{folder}/a.html", title="ALARM")).as_uri())
        click(driver, alarm, "SAO2", "LOW")
        click(driver, alarm, "PRESS", "HIGH")
        take(driver, "explorer-alarm.png")


if __name__ == "__main__":
    main()
