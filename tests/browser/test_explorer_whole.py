"""The explorer on larger models: random clicks, accessibility, sizes of the window, paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpane as cp

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
CLICKS = """
const [seed, clicks] = arguments, bad = [];
let state = seed;
const next = (n) => {
  state = (state * 1103515245 + 12345) % 2147483648;
  return Math.floor(state / 65536) % n;
};
for (let k = 0; k < clicks; k++) {
  const rows = document.querySelectorAll('#graph .state'), row = rows[next(rows.length)];
  const what = next(12);
  if (what === 0) document.getElementById('undo').click();
  else if (what === 1) document.getElementById('clear').click();
  else row.dispatchEvent(new MouseEvent('click', { bubbles: true, shiftKey: what === 2 }));
  const impossible = document.querySelector('[role=alert]');
  for (const monitor of document.querySelectorAll('#graph .monitor')) {
    const values = [...monitor.querySelectorAll('.value')].map((v) => v.textContent);
    const total = values.reduce((sum, v) => sum + Number(v), 0);
    const wrong = impossible ? values.some((v) => v !== '–') : !(Math.abs(total - 100) < 0.4);
    const bars = [...monitor.querySelectorAll('.bar')].map((b) => b.style.transform.slice(7, -1));
    const off = (b, i) => !(Math.abs(100 * Number(b) - Number(values[i])) < 0.06);
    if (wrong || (!impossible && bars.some(off))) bad.push([k, values, bars]);
  }
  if (/NaN|Infinity|undefined/.test(document.body.innerText)) bad.push([k, 'NaN']);
  if (impossible) { impossible.querySelector('button').click(); }
}
document.getElementById('clear').click();
return bad;
"""


@pytest.fixture(scope="module")
def alarm(shared_data: Path) -> cp.BayesianNetwork:
    model: cp.BayesianNetwork = cp.load(shared_data / "networks" / "alarm.bif.gz")
    return model


def shown(browser: Any) -> list[list[str]]:
    script = """return [...document.querySelectorAll('#graph .monitor')].map(
        (m) => [...m.querySelectorAll('.value')].map((v) => v.textContent))"""
    values: list[list[str]] = browser.execute_script(script)
    return values


def test_a_thousand_random_clicks_on_alarm(browser: Any, alarm: Any, tmp_path: Path) -> None:
    """Impossible evidence included: no NaN, and at the end all bars are back at the prior."""
    browser.get(Path(alarm.explore(tmp_path / "alarm.html")).as_uri())
    browser.get_log("browser")
    before = shown(browser)
    for part in range(10):
        assert browser.execute_script(CLICKS, part + 1, 100) == []
    assert shown(browser) == before
    assert browser.get_log("browser") == []


def test_bars_of_alarm_are_those_of_python(browser: Any, alarm: Any, tmp_path: Path) -> None:
    browser.get(Path(alarm.explore(tmp_path / "alarm.html")).as_uri())
    rng = np.random.default_rng(0)
    row = alarm.sample(1, random_state=0)
    browser.find_element("id", "whole").click()
    evidence = {
        name: row[name].tolist()[0]
        for name in rng.choice(alarm.schema.names, 6, replace=False).tolist()
    }
    for name, state in evidence.items():
        place = alarm.schema[name].code(state)
        at = f"#graph [data-column='{alarm.schema.index(name)}'] [data-state='{place}']"
        browser.execute_script("document.querySelector(arguments[0]).click()", at)
    script = """return [...document.querySelectorAll('#graph .monitor')].map((m) => [
        m.dataset.column, [...m.querySelectorAll('.value')].map((v) => v.textContent)])"""
    bars = dict(browser.execute_script(script))
    for name, answer in alarm.marginals(evidence).items():
        texts = bars[str(alarm.schema.index(name))]
        assert texts == [f"{100 * p:.1f}" for p in answer.probabilities] or np.allclose(
            [float(t) for t in texts], 100 * answer.probabilities, atol=0.0501
        )


@pytest.mark.skipif(
    not AXE.exists(), reason="axe-core is not there: npm install --no-save axe-core"
)
@pytest.mark.parametrize("kind", ["network", "classifier", "report"])
def test_axe_finds_no_serious_violation(browser: Any, tmp_path: Path, kind: str) -> None:
    titanic = cp.load_dataset("titanic")
    path = tmp_path / "page.html"
    if kind == "report":
        cp.write_report(cp.StructureSearch().fit(titanic), titanic, path)
    elif kind == "network":
        cp.explore_model(cp.StructureSearch().fit(titanic), path)
    else:
        cp.explore_model(cp.InteractionClassifier().fit(titanic, "survived"), path)
    browser.set_window_size(1400, 1000)
    found: dict[str, Any] = {}
    for theme in ("light", "dark"):
        media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        for steps in ("", "tool-ask", "tool-cases", "view-list", "name"):
            browser.get("about:blank")
            browser.get(path.as_uri())
            browser.execute_script("document.querySelector('#graph .state').click()")
            if steps == "name":
                browser.find_element("css selector", "#graph .monitor-name").click()
                browser.execute_script(
                    "document.querySelector('#panel details')?.toggleAttribute('open')"
                )
            elif steps:
                browser.find_element("id", steps).click()
            browser.execute_script(AXE.read_text("utf-8"))
            violations = browser.execute_async_script(
                "axe.run().then((r) => arguments[0](r.violations))"
            )
            for violation in violations:
                if violation["impact"] in ("serious", "critical"):
                    where = [node["html"][:160] for node in violation["nodes"][:3]]
                    found[f"{theme} {steps} {violation['id']}"] = where
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert found == {}


@pytest.mark.parametrize("width", [1400, 800, 390])
def test_nothing_is_wider_than_the_window(
    browser: Any, alarm: Any, tmp_path: Path, width: int
) -> None:
    page = Path(alarm.explore(tmp_path / "alarm.html"))
    size = {"width": width, "height": 840, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())
    script = """
        const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
        const rects = [...document.querySelectorAll('.monitor')].filter((m) => m.offsetParent)
            .map((m) => m.getBoundingClientRect()).map((r) => [r.left, r.top, r.right, r.bottom]);
        const size = (n) => parseFloat(getComputedStyle(n).fontSize);
        const names = [...document.querySelectorAll('.monitor-name')].filter((n) => n.offsetParent)
            .map((n) => size(n) * n.getBoundingClientRect().width / n.offsetWidth);
        return { wide, rects, names }"""
    seen = browser.execute_script(script)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert seen["wide"] <= 0
    assert len(seen["rects"]) == (37 if width == 390 else 20)  # a list, or what is around a column
    for i, a in enumerate(seen["rects"]):
        for b in seen["rects"][:i]:
            assert (
                a[2] <= b[0] + 0.5 or b[2] <= a[0] + 0.5 or a[3] <= b[1] + 0.5 or b[3] <= a[1] + 0.5
            )
    if width != 800:
        assert min(seen["names"]) >= 7.5


def test_a_large_network_starts_around_one_column(
    browser: Any, shared_data: Path, tmp_path: Path
) -> None:
    pigs = cp.load(shared_data / "networks" / "pigs.bif.gz")
    browser.set_window_size(1400, 1000)
    browser.get(Path(pigs.explore(tmp_path / "pigs.html")).as_uri())
    assert 2 < len(shown(browser)) <= 25
    browser.find_element("id", "whole").click()
    assert len(shown(browser)) == 60
    browser.find_element("id", "view-list").click()
    browser.find_element("id", "filter").send_keys(pigs.schema.names[7])
    name = browser.find_element("css selector", "#list .monitor-name")
    assert name.text == pigs.schema.names[7]


PLACES = """
    const graph = document.getElementById('graph').getBoundingClientRect();
    const names = [...document.querySelectorAll('#graph .monitor-name')];
    const boxes = [...document.querySelectorAll('#graph .monitor')];
    const size = (n) => parseFloat(getComputedStyle(n).fontSize);
    return {
        graph: [graph.left, graph.top, graph.width, graph.height],
        letters: names.map((n) => size(n) * n.getBoundingClientRect().width / n.offsetWidth),
        rects: boxes.map((m) => m.getBoundingClientRect())
            .map((r) => [r.left, r.top, r.right, r.bottom]) }"""


@pytest.fixture
def phone(browser: Any) -> Iterator[Any]:
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    touch = "Emulation.setTouchEmulationEnabled"
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd(touch, {"enabled": True, "maxTouchPoints": 2})
    yield browser
    browser.execute_cdp_cmd(touch, {"enabled": False})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_phone_draws_what_is_around_a_column_in_rows(
    phone: Any, shared_data: Path, tmp_path: Path
) -> None:
    """Names can be read without zooming, and no box covers another."""
    pigs = cp.load(shared_data / "networks" / "pigs.bif.gz")
    phone.get(Path(pigs.explore(tmp_path / "pigs.html")).as_uri())
    phone.find_element("id", "view-graph").click()
    seen = phone.execute_script(PLACES)
    left, _, width, _ = seen["graph"]
    assert len(seen["rects"]) > 5
    assert min(seen["letters"]) >= 9
    assert all(r[0] >= left - 1 and r[2] <= left + width + 1 for r in seen["rects"])
    for i, a in enumerate(seen["rects"]):
        for b in seen["rects"][:i]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_two_fingers_zoom_and_set_nothing(phone: Any, alarm: Any, tmp_path: Path) -> None:
    phone.get(Path(alarm.explore(tmp_path / "alarm.html")).as_uri())
    phone.find_element("id", "view-graph").click()
    before = phone.execute_script(PLACES)
    left, top, width, height = before["graph"]
    x, y = left + width / 2, top + height / 2

    def touch(kind: str, apart: float) -> None:
        fingers = [{"x": x, "y": y - apart, "id": 0}, {"x": x, "y": y + apart, "id": 1}]
        points = [] if kind == "touchEnd" else fingers
        phone.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 40)
    for apart in (50, 60, 70, 80):
        touch("touchMove", apart)
    touch("touchEnd", 80)
    after = phone.execute_script(PLACES)
    wide = [[r[2] - r[0] for r in seen["rects"]] for seen in (before, after)]
    np.testing.assert_allclose(wide[1], 2 * np.array(wide[0]), rtol=0.02)
    assert "nothing is given" in phone.find_element("id", "chance").text
