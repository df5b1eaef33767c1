"""The explorer as a person uses it: clicks, keys, sliders, undo, cases, print, hostile names."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpane as cp

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

HOSTILE = [
    "</script><img src=x onerror=\"document.title='broken'\">",
    "a'\"`${1}{{7*7}}&amp;",
    "\u202eabc\u202c \u200f\u05d0\u05d1",
    "🙂" * 30,
    "x" * 300,
    "__proto__",
]


@pytest.fixture(scope="module")
def titanic() -> cp.BayesianNetwork:
    model: cp.BayesianNetwork = cp.StructureSearch().fit(cp.load_dataset("titanic")).model_
    return model


@pytest.fixture
def explorer(browser: Any, tmp_path: Path) -> Callable[..., Path]:
    """Opens the explorer of a model and returns its path."""

    def open_page(model: Any, **options: Any) -> Path:
        path = Path(cp.explore_model(model, tmp_path / "page.html", **options))
        browser.set_window_size(1400, 1000)
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get(path.as_uri())
        return path

    return open_page


def state(browser: Any, column: str, text: str, place: str = "#graph") -> Any:
    script = """
        const monitor = [...document.querySelectorAll(arguments[2] + ' .monitor')].find(
            (m) => m.querySelector('.monitor-name').textContent === arguments[0]);
        return [...monitor.querySelectorAll('.state')].find(
            (s) => s.querySelector('.label').textContent === arguments[1])"""
    return browser.execute_script(script, column, text, place)


def bars(browser: Any, place: str = "#graph") -> dict[str, list[float]]:
    """The shares that the monitors show, by column, in the order of the states."""
    script = """
        return [...document.querySelectorAll(arguments[0] + ' .monitor')].map((m) => [
            m.querySelector('.monitor-name').textContent,
            [...m.querySelectorAll('.value')].map((v) => v.textContent)])"""
    return {
        name: [float("nan") if v == "–" else float(v) / 100 for v in values]
        for name, values in browser.execute_script(script, place)
    }


def chance(browser: Any) -> str:
    return str(browser.find_element("id", "chance").text)


def check(browser: Any, model: Any, evidence: Any = None, **options: Any) -> None:
    """What is shown, soon, is what Python answers, to the digits that are shown."""
    expected = {n: a.probabilities for n, a in model.marginals(evidence, **options).items()}
    for _ in range(100):
        shown = bars(browser)
        if all(np.allclose(shown[n], p, rtol=0, atol=0.00051) for n, p in expected.items()):
            return
        time.sleep(0.1)  # keys and clicks of a busy browser
    for name, answer in expected.items():
        np.testing.assert_allclose(shown[name], answer, rtol=0, atol=0.00051)


def test_clicks_are_evidence(browser: Any, explorer: Any, titanic: Any) -> None:
    explorer(titanic)
    check(browser, titanic)
    assert "nothing is given" in chance(browser)
    state(browser, "sex", "female").click()
    check(browser, titanic, {"sex": "female"})
    assert chance(browser) == f"P(evidence) = {np.exp(titanic.log_evidence({'sex': 'female'})):.4f}"
    shift = ActionChains(browser).key_down(Keys.SHIFT)
    shift.click(state(browser, "status", "crew")).key_up(Keys.SHIFT).perform()
    check(browser, titanic, {"sex": "female", "status": ["first", "second", "third"]})
    state(browser, "sex", "female").click()
    check(browser, titanic, {"status": ["first", "second", "third"]})
    ghost = "return document.querySelectorAll('.ghost:not([hidden])').length"
    assert browser.execute_script(ghost) == 10
    browser.find_element("id", "clear").click()
    check(browser, titanic)
    assert browser.execute_script(ghost) == 0


def test_undo_and_redo(browser: Any, explorer: Any, titanic: Any) -> None:
    explorer(titanic)
    state(browser, "sex", "male").click()
    state(browser, "age", "child").click()
    browser.find_element("id", "undo").click()
    check(browser, titanic, {"sex": "male"})
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL).perform()
    check(browser, titanic)
    browser.find_element("id", "redo").click()
    browser.find_element("id", "redo").click()
    check(browser, titanic, {"sex": "male", "age": "child"})


def test_sliders_and_do(browser: Any, explorer: Any) -> None:
    schema, dag = cp.Schema.from_cards([2, 2, 2]), cp.Dag(3, [(0, 1), (1, 2), (0, 2)])
    rng = np.random.default_rng(1)
    tables = [rng.dirichlet(np.ones(2), [2] * len(dag.parents(v))) for v in range(3)]
    model = cp.BayesianNetwork(schema, dag, tables)
    explorer(model)
    browser.find_element("css selector", "#graph [data-column='1'] .monitor-name").click()
    browser.execute_script("document.querySelector('#panel details').open = true")
    typed = browser.find_elements("css selector", "#panel input[type=number]")
    typed[0].send_keys(Keys.CONTROL, "a")
    typed[0].send_keys("0.25", Keys.TAB)
    check(browser, model, virtual_evidence={"x1": [0.25, 1.0]})
    state(browser, "x1", "1").click()
    browser.find_element("css selector", "#panel input[type=checkbox]").click()
    cut = cp.BayesianNetwork(
        schema, cp.Dag(3, [(1, 2), (0, 2)]), [tables[0], [0.5, 0.5], tables[2]]
    )
    check(browser, cut, {"x1": 1})
    assert "do" in chance(browser)
    assert browser.execute_script("return document.querySelectorAll('.edge.cut').length") == 1


def test_impossible_evidence_says_what_to_retract(browser: Any, explorer: Any) -> None:
    model = cp.BayesianNetwork(
        cp.Schema.from_cards([2, 2]), cp.Dag(2, [(0, 1)]), [[0.5, 0.5], [[1.0, 0.0], [0.2, 0.8]]]
    )
    explorer(model)
    state(browser, "x0", "0").click()
    state(browser, "x1", "1").click()
    alert = browser.find_element("css selector", "[role=alert]")
    assert "impossible" in alert.text and "x0 = 0" in alert.text and "x1 = 1" in alert.text
    assert "impossible" in chance(browser)
    alert.find_element("css selector", "button").click()
    check(browser, model, {"x1": 1})
    assert not browser.find_elements("css selector", "[role=alert]")


def test_a_link_reproduces_evidence_and_cases(browser: Any, explorer: Any, titanic: Any) -> None:
    explorer(titanic)
    state(browser, "sex", "female").click()
    browser.find_element("id", "tool-cases").click()
    name = browser.find_element("css selector", "#panel input[type=text]")
    name.send_keys("women", Keys.ENTER)
    state(browser, "status", "third").click()
    assert "women" in browser.find_element("id", "panel").text
    time.sleep(0.5)  # the address follows
    address = browser.current_url
    browser.get("about:blank")
    browser.get(address)
    check(browser, titanic, {"sex": "female", "status": "third"})
    browser.find_element("id", "tool-cases").click()
    text = browser.find_element("id", "panel").text
    assert "women" in text and "sex = female" in text
    browser.find_element("css selector", "#panel [aria-label='Open women']").click()
    check(browser, titanic, {"sex": "female"})


def test_most_probable_row(browser: Any, explorer: Any, titanic: Any) -> None:
    explorer(titanic)
    state(browser, "sex", "female").click()
    browser.find_element("id", "tool-best").click()
    script = """
        return [...document.querySelectorAll('#graph .state.best')].map((s) => [
            s.closest('.monitor').querySelector('.monitor-name').textContent,
            s.querySelector('.label').textContent])"""
    assert dict(browser.execute_script(script)) == {"sex": "female"} | titanic.map_query(
        evidence={"sex": "female"}
    )


def test_what_to_ask_next_is_mutual_information(browser: Any, explorer: Any, titanic: Any) -> None:
    explorer(titanic, target="survived")
    browser.find_element("id", "tool-ask").click()
    rows = browser.find_elements("css selector", "#panel tbody tr")
    shown = {
        r.find_element("css selector", "button").text: r.find_element("css selector", ".num").text
        for r in rows
    }
    for name in ("sex", "age", "status"):
        joint = titanic.query(["survived", name]).probabilities
        apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
        assert shown[name] == f"{(joint * np.log2(joint / apart)).sum():.4f}"
    browser.find_element("css selector", "#panel .dot").click()
    assert "P(evidence) = " in chance(browser) and "nothing" not in chance(browser)


def test_list_with_filter_and_order(browser: Any, explorer: Any, titanic: Any) -> None:
    explorer(titanic)
    browser.find_element("id", "view-list").click()
    state(browser, "sex", "female", "#list").click()
    browser.find_element("css selector", "#order option[value=change]").click()
    names = list(bars(browser, "#list"))
    moved = {
        n: np.abs(a.probabilities - titanic.marginals()[n].probabilities).sum()
        for n, a in titanic.marginals({"sex": "female"}).items()
    }
    assert names == ["sex", *sorted(moved, key=lambda n: -moved[n])]
    browser.find_element("id", "filter").send_keys("sur")
    assert list(bars(browser, "#list")) == ["survived"]
    browser.find_element("css selector", "#list .monitor-name").click()
    assert browser.find_element("id", "panel").text.startswith("survived")
    browser.find_element(
        "css selector", "#panel > p:last-child button"
    ).click()  # what is around it
    assert browser.find_element("id", "graph").is_displayed()
    assert "survived" in bars(browser)


def test_keys_alone(browser: Any, explorer: Any, titanic: Any) -> None:
    explorer(titanic)
    focused = "return document.activeElement"
    for _ in range(40):  # one column can be reached with Tab, the others from it with arrows
        ActionChains(browser).send_keys(Keys.TAB).perform()
        if browser.execute_script(f"{focused}.className") == "monitor-name":
            break
    for _ in range(5):
        if browser.execute_script(f"{focused}.title") == "status":
            break
        ActionChains(browser).send_keys(Keys.ARROW_LEFT).perform()
    ActionChains(browser).send_keys(Keys.TAB, Keys.ARROW_DOWN, Keys.ENTER).perform()
    check(browser, titanic, {"status": "second"})
    ActionChains(browser).send_keys(Keys.ENTER, "x").perform()
    check(browser, titanic, {"status": ["first", "third", "crew"]})


def test_hostile_names_are_text(browser: Any, explorer: Any) -> None:
    rng = np.random.default_rng(0)
    base = rng.integers(0, 2, 400)
    table = {
        name: np.where(base ^ (rng.random(400) < 0.2), HOSTILE[k - 1] or "x", f"{k}")
        for k, name in enumerate(HOSTILE)
    }
    model = cp.StructureSearch().fit(table).model_
    page = explorer(model, title=HOSTILE[0])
    assert set(bars(browser)) == set(HOSTILE)
    for tool in ("tool-ask", "tool-best", "tool-cases", "view-list"):
        browser.find_element("id", tool).click()
    browser.execute_script("document.querySelector('#list .state').click()")
    assert browser.title == HOSTILE[0]
    assert browser.execute_script("return document.images.length") == 0
    assert browser.get_log("browser") == []
    messages = [json.loads(e["message"])["message"] for e in browser.get_log("performance")]
    sent = {
        m["params"]["request"]["url"].partition("#")[0]
        for m in messages
        if m["method"] == "Network.requestWillBeSent"
    }
    assert sent == {page.as_uri()}
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.execute_script(wide) <= 0


def test_in_a_notebook(browser: Any, titanic: Any, tmp_path: Path) -> None:
    """The frame has its source inside, and answers clicks."""
    page = tmp_path / "notebook.html"
    page.write_text(
        f"<!DOCTYPE html><meta charset=utf-8>{titanic.explore()._repr_html_()}", "utf-8"
    )
    browser.get_log("browser")
    browser.get(page.as_uri())

    def shows_states(driver: Any) -> bool:
        # A sandboxed frame has a process of its own: a frame entered before Chromium moves its
        # document there stays empty, so each attempt enters it again.
        driver.switch_to.default_content()
        driver.switch_to.frame(driver.find_element("css selector", "iframe"))
        return bool(state(driver, "sex", "female").is_displayed())

    WebDriverWait(browser, 60).until(shows_states)
    state(browser, "sex", "female").click()
    check(browser, titanic, {"sex": "female"})
    browser.switch_to.default_content()
    assert browser.get_log("browser") == []
