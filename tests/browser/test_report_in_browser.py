"""Reports in a browser without a screen: clicked, typed at, zoomed, printed, and listened to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpane as cp

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

HOSTILE = "</script><img src=x onerror=\"document.title='broken'\">"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    titanic = cp.load_dataset("titanic")
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 300)
    hostile = {
        HOSTILE: np.where(a, "<img src=x onerror=alert(1)>", "'\"&"),
        "{{7*7}}`${1}`": np.where(a ^ (rng.random(300) < 0.1), "x", "\u2028"),
        "__proto__": np.where(a ^ (rng.random(300) < 0.2), "p", "q"),
    }
    models = {
        "network": (cp.StructureSearch().fit(titanic), titanic),
        "classifier": (cp.MarkovClassifier().fit(titanic, "survived"), titanic),
        "tictactoe": (cp.MarkovClassifier().fit(cp.load_dataset("tictactoe"), "class"), None),
        "trees": (cp.DependencyNetworkLearner().fit(titanic), titanic),
        "logistic": (cp.DependencyNetworkLearner(local="logistic").fit(titanic), titanic),
        "hostile": (cp.StructureSearch().fit(hostile), hostile),
        "wide": (_chain(400), None),
    }
    return {
        name: cp.write_report(model, data, folder / f"{name}.html", title=HOSTILE)
        for name, (model, data) in models.items()
    }


def _chain(n: int) -> cp.BayesianNetwork:
    tables: list[Any] = [[0.5, 0.5]] + [
        [[0.9, 0.1], [0.5 - v / 3 / n, 0.5 + v / 3 / n]] for v in range(1, n)
    ]
    dag = cp.Dag(n, [(v - 1, v) for v in range(1, n)])
    return cp.BayesianNetwork(cp.Schema.from_cards([2] * n), dag, tables)


def opened(browser: Any, page: Path) -> None:
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri())
    browser.execute_script("localStorage.clear()")
    browser.refresh()


def node(browser: Any, name: str) -> Any:
    """The name of a column in the graph, which opens its panel."""
    script = """return [...document.querySelectorAll('#graph .monitor-name')].find(
        (b) => b.textContent === arguments[0])"""
    element = browser.execute_script(script, name)
    assert element is not None, name
    return element


def panel_text(browser: Any) -> str:
    text: str = browser.execute_script(
        "const p = document.getElementById('panel'); return p.hidden ? '' : p.innerText"
    )
    return text


def transform(browser: Any) -> str:
    return str(browser.execute_script("return document.querySelector('.view').style.transform"))


def focused(browser: Any) -> str:
    script = """const a = document.activeElement;
        return a.id || a.getAttribute('aria-label') || a.textContent"""
    return str(browser.execute_script(script))


def test_quiet_and_alone(browser: Any, pages: dict[str, Path]) -> None:
    """No page says anything on the console, asks for anything else, or runs a name."""
    for page in pages.values():
        opened(browser, page)
        assert browser.title == HOSTILE
        assert browser.execute_script("return document.images.length") == 0
        browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
        assert browser.title == HOSTILE
        assert browser.get_log("browser") == []
        asked = [
            json.loads(entry["message"])["message"] for entry in browser.get_log("performance")
        ]
        addresses = {
            m["params"]["request"]["url"]
            for m in asked
            if m["method"] == "Network.requestWillBeSent"
        }
        assert addresses == {page.as_uri()}


def test_the_policy_stops_what_is_not_ours(browser: Any, pages: dict[str, Path]) -> None:
    opened(browser, pages["network"])
    browser.execute_script("""
        const script = document.createElement('script');
        script.textContent = 'document.title = "broken"';
        document.body.append(script);
        const image = new Image();
        image.src = 'http://127.0.0.1:9/x.png';
        document.body.append(image);
    """)
    assert browser.title == HOSTILE
    said = " ".join(entry["message"] for entry in browser.get_log("browser"))
    assert "Content Security Policy" in said


def test_a_click_shows_the_table(browser: Any, pages: dict[str, Path]) -> None:
    opened(browser, pages["network"])
    assert panel_text(browser) == ""
    node(browser, "survived").click()
    text = panel_text(browser)
    model = cp.StructureSearch().fit(cp.load_dataset("titanic")).model_
    place = model.schema.index("survived")
    parents = [model.schema.names[p] for p in model.dag.parents(place)]
    assert parents and f"given {', '.join(parents)}" in text
    assert f"{model.tables[place].reshape(-1)[0]:.3f}" in text
    assert "Markov blanket" in text
    assert "Joined, direction open (3)" in text and "Parents" not in text
    link = browser.find_element("css selector", "#panel .links button")
    neighbor = link.text
    link.click()
    assert panel_text(browser).startswith(neighbor)
    browser.find_element("css selector", "#panel button[aria-label=Close]").click()
    assert panel_text(browser) == ""


@pytest.mark.parametrize(
    ("page", "column", "words"),
    [
        ("classifier", "sex", "adds to the log-odds of survived"),
        ("trees", "sex", "Local tree"),
        ("logistic", "sex", "Weights of rules"),
    ],
)
def test_panels_of_other_models(
    browser: Any, pages: dict[str, Path], page: str, column: str, words: str
) -> None:
    opened(browser, pages[page])
    node(browser, column).click()
    assert words in panel_text(browser)


def test_keyboard_alone(browser: Any, pages: dict[str, Path]) -> None:
    opened(browser, pages["network"])
    for _ in range(40):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        if focused(browser).endswith(": details"):
            break
    first = focused(browser)
    assert first.endswith(": details")
    seen = {first}
    for key in (Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_LEFT, Keys.ARROW_RIGHT):
        ActionChains(browser).send_keys(key).perform()
        seen.add(focused(browser))
    assert len(seen) >= 3
    name = focused(browser).removesuffix(": details")
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    assert focused(browser) == "panel"
    assert panel_text(browser).startswith(name)
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    assert panel_text(browser) == ""
    assert focused(browser).removesuffix(": details") == name
    before = transform(browser)
    ActionChains(browser).send_keys("+").perform()
    assert transform(browser) != before
    ActionChains(browser).send_keys("0").perform()
    assert transform(browser) == before


def test_zoom_pan_and_drag(browser: Any, pages: dict[str, Path]) -> None:
    opened(browser, pages["network"])
    start = transform(browser)
    browser.find_element("id", "in").click()
    closer = transform(browser)
    assert closer != start
    graph = browser.find_element("id", "graph")
    corner = ActionChains(browser).move_to_element_with_offset(graph, -600, -190)
    corner.click_and_hold().move_by_offset(60, 40).release().perform()
    moved = transform(browser)
    assert moved != closer and moved.split("scale")[1] == closer.split("scale")[1]
    assert panel_text(browser) == ""
    browser.execute_script(
        "arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: -300, cancelable: true}))",
        graph,
    )
    assert transform(browser).split("scale")[1] != moved.split("scale")[1]
    browser.find_element("id", "fit").click()
    assert transform(browser) == start
    box = node(browser, "sex")
    before, edges = box.rect, _edges(browser)
    ActionChains(browser).click_and_hold(box).move_by_offset(50, 30).release().perform()
    assert box.rect != before
    assert _edges(browser) != edges
    assert panel_text(browser) == ""  # a drag is no click


def _edges(browser: Any) -> str:
    script = (
        "return [...document.querySelectorAll('.edge path')].map((p) => p.getAttribute('d')).join()"
    )
    return str(browser.execute_script(script))


def test_a_click_dims_the_other_edges_until_it_is_closed(
    browser: Any, pages: dict[str, Path]
) -> None:
    opened(browser, pages["network"])
    near = "return [...document.querySelectorAll('.edge.near title')].map((t) => t.textContent)"
    dim = "return document.querySelectorAll('.edge.dim').length"
    graph = browser.find_element("id", "graph")
    node(browser, "age").click()
    corner = ActionChains(browser).move_to_element_with_offset(graph, -430, -150)
    corner.perform()  # away from the box: what was clicked stays
    assert len(browser.execute_script(near)) == 2
    assert all("age" in title for title in browser.execute_script(near))
    assert browser.execute_script(dim) == 3
    browser.find_element("css selector", "#panel button[aria-label=Close]").click()
    browser.execute_script("document.activeElement.blur()")
    assert browser.execute_script(dim) == 0
    label = browser.execute_script("""
        const path = document.querySelector('.edge path');
        const at = path.getPointAtLength(path.getTotalLength() / 4), m = path.getScreenCTM();
        const to = (type) => path.dispatchEvent(new PointerEvent(type, { bubbles: true, button: 0,
          pointerId: 1, clientX: at.x * m.a + m.e, clientY: at.y * m.d + m.f }));
        const graph = document.getElementById('graph');
        graph.setPointerCapture = () => {};
        to('pointerdown'); to('pointerup');
        return path.parentNode.querySelector('title').textContent;
    """)
    assert browser.execute_script(near) == [label]
    assert browser.execute_script(dim) == 4
    ActionChains(browser).move_to_element_with_offset(graph, -550, -150).click().perform()
    assert browser.execute_script(dim) == 0


def test_edges_carry_their_numbers_and_only_known_directions(
    browser: Any, pages: dict[str, Path]
) -> None:
    opened(browser, pages["network"])
    learner = cp.StructureSearch().fit(cp.load_dataset("titanic"))
    script = "return [...document.querySelectorAll('.edge text')].map((t) => t.textContent)"
    assert sorted(browser.execute_script(script)) == sorted(
        f"{e.strength:.2g}" for e in learner.strengths_
    )
    assert browser.execute_script("return document.querySelectorAll('.edge polygon').length") == 0
    listed = browser.find_element("id", "interactions").text
    assert "survived\n—\nsex" in listed or "survived — sex" in listed.replace("\n", " ")
    assert "0.1379" in listed and "→" not in listed


def test_hover_dims_what_is_not_near(browser: Any, pages: dict[str, Path]) -> None:
    opened(browser, pages["tictactoe"])
    count = "return document.querySelectorAll('.dim').length"
    assert browser.execute_script(count) == 0
    ActionChains(browser).move_to_element(node(browser, "middle_right")).perform()
    assert browser.execute_script(count) > 0
    assert browser.execute_script("return document.querySelectorAll('.hyper.near').length") >= 1
    near = "return arguments[0].closest('.monitor').classList.contains('dim')"
    assert not browser.execute_script(near, node(browser, "middle_right"))


def test_search_finds_what_is_not_drawn(browser: Any, pages: dict[str, Path]) -> None:
    opened(browser, pages["wide"])
    drawn = (
        "return [...document.querySelectorAll('#graph .monitor-name')].map((b) => b.textContent)"
    )
    assert len(browser.execute_script(drawn)) == 20  # of many columns, those around one
    browser.find_element("id", "whole").click()
    names = browser.execute_script(drawn)
    assert 0 < len(names) <= 60
    assert "of 400 columns are drawn" in browser.find_element("id", "legend").text
    hidden = next(f"x{v}" for v in range(100, 400) if f"x{v}" not in names)
    field = browser.find_element("id", "find")
    field.send_keys("no such name")
    assert "No such column" in browser.find_element("id", "found").text
    field.send_keys(Keys.ESCAPE, hidden)
    assert browser.find_element("css selector", "#found [aria-selected=true]").text == hidden
    field.send_keys(Keys.ENTER)
    assert panel_text(browser).startswith(hidden)
    assert set(browser.execute_script(drawn)) == {
        hidden,
        f"x{int(hidden[1:]) - 1}",
        f"x{int(hidden[1:]) + 1}",
    }
    browser.find_element("id", "whole").click()
    assert browser.execute_script(drawn) == names


def test_dark_and_light(browser: Any, pages: dict[str, Path]) -> None:
    opened(browser, pages["network"])
    color = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(color)
    browser.find_element("id", "theme").click()
    dark = browser.execute_script(color)
    assert sum(map(int, dark[4:-1].split(","))) < 150 < sum(map(int, light[4:-1].split(",")))

    def becomes(expected: str) -> bool:
        """Whether a page that is loaded again gets a color: what it keeps may be kept late."""

        def again(_: Any) -> bool:
            browser.refresh()
            return bool(browser.execute_script(color) == expected)

        return bool(WebDriverWait(browser, 10).until(again))

    assert becomes(dark)
    browser.execute_script("localStorage.clear()")
    for scheme, expected in (("dark", dark), ("light", light)):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        assert becomes(expected)


@pytest.mark.parametrize("page", ["network", "classifier", "tictactoe", "wide", "hostile"])
@pytest.mark.parametrize("width", [1400, 700])
def test_nothing_overlaps(browser: Any, pages: dict[str, Path], page: str, width: int) -> None:
    browser.set_window_size(width, 1000)
    opened(browser, pages[page])
    script = """
        const rect = (e) => {
            const r = e.getBoundingClientRect();
            return [r.left, r.top, r.right, r.bottom];
        };
        return {
            boxes: [...document.querySelectorAll('#graph .monitor')].map(rect),
            texts: [...document.querySelectorAll('#graph .monitor')].map(
                (g) => [rect(g), rect(g.querySelector('.monitor-name'))]),
            graph: rect(document.getElementById('graph')),
            wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        }"""
    found = browser.execute_script(script)
    browser.set_window_size(1400, 1000)
    assert found["wide"] <= 0
    left, top, right, bottom = found["graph"]
    for i, a in enumerate(found["boxes"]):
        assert left <= a[0] and a[2] <= right and top <= a[1] and a[3] <= bottom
        for b in found["boxes"][:i]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    for box, text in found["texts"]:
        assert box[0] <= text[0] and text[2] <= box[2]


def test_print_shows_every_table(browser: Any, pages: dict[str, Path]) -> None:
    opened(browser, pages["network"])
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    appendix = browser.find_element("id", "appendix")
    assert appendix.is_displayed()
    assert len(appendix.find_elements("css selector", "table")) == 4
    assert not browser.find_element("id", "theme").is_displayed()
    paper = browser.find_element("id", "graph").rect
    boxes = browser.find_elements("css selector", "#graph .monitor")
    assert len(boxes) == 4
    for box in boxes:
        assert paper["x"] <= box.rect["x"] and paper["y"] <= box.rect["y"]
        assert box.rect["x"] + box.rect["width"] <= paper["x"] + paper["width"]
        assert box.rect["y"] + box.rect["height"] <= paper["y"] + paper["height"]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert not appendix.is_displayed()
    assert len(browser.print_page()) > 20_000


def test_measures_are_on_the_page(browser: Any, pages: dict[str, Path]) -> None:
    opened(browser, pages["classifier"])
    text = browser.find_element("id", "fit-section").text
    for words in ("2,201 rows in 5 folds", "log-loss", "Confusion"):
        assert words in text
    chart = "return document.querySelector('#calibration .chart').getAttribute('aria-label')"
    assert "yes" in browser.execute_script(chart)
    browser.find_element("css selector", "#calibration option[value='0']").click()
    assert "of no;" in browser.execute_script(chart)
    learned = browser.find_element("id", "learned").text
    assert "MarkovClassifier()" in learned and "fingerprint" in learned
    told = browser.find_element("id", "trace").text
    assert "The search took 10 steps" in told and "log-posterior went from" in told
    steps = browser.find_element("css selector", "#trace details")
    assert not steps.find_element("tag name", "table").is_displayed()
    steps.click()
    assert len(steps.find_elements("css selector", "tbody tr")) == 10


def test_cards_use_the_width_and_effects_lead(browser: Any, pages: dict[str, Path]) -> None:
    """Two cards side by side on a desktop, one on a phone; a classifier's effects come first."""
    places = """return [...document.querySelectorAll('main > section')]
        .filter((s) => s.offsetParent).map((s) => [s.id, s.getBoundingClientRect().toJSON()])"""
    for page, first in (("classifier", "interactions"), ("network", "graph-section")):
        opened(browser, pages[page])
        for width in (1300, 390):
            size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 640}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            seen = dict(browser.execute_script(places))
            assert seen["overview"]["width"] > 0.85 * width
            assert list(seen)[:2] == ["overview", first]
            assert list(seen)[-1] == "trace"
            beside = seen["interactions"]["top"] == seen["fit-section"]["top"]
            assert beside == (width == 1300)
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
