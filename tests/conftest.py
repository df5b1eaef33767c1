"""Where the benchmark data is, and the command line, for tests that need them."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import counterpane as cp
from counterpane.cli.app import run_program
from law_settings import register_profiles

register_profiles()
TESTS = Path(__file__).parent
# Folders and files whose every test is slow: they start servers, clusters or browsers.
SLOW = (
    "browser/",
    "contract/test_dask_cluster.py",
    "contract/test_gpu_source.py",
    "contract/test_postgres_source.py",
    "contract/test_remote_sources.py",
    "contract/test_spark_source.py",
)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow files."""
    for item in items:
        if item.path.is_relative_to(TESTS):
            name = item.path.relative_to(TESTS).as_posix()
            if name.startswith(SLOW):
                item.add_marker("slow")


def pytest_runtest_setup() -> None:
    """Ctrl-C is an interrupt at the start of each test, or one that presses it waits for ever.

    A job in the background ignores it, and so does a command that was stopped: in this process too.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of benchmark data; the test is skipped where there is none."""
    folder = os.environ.get("COUNTERPANE_DATA")
    if not folder:
        pytest.skip("COUNTERPANE_DATA is not set: this test reads the benchmark data")
    return Path(folder)


@pytest.fixture(scope="session")
def pyagrum() -> Any:
    """pyAgrum, the oracle; its import warns, and crashes where warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("pyagrum")


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """The command line, called in an empty folder: (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["counterpane", *words])
        with pytest.raises(SystemExit) as stop:
            run_program()
        out = capsys.readouterr()
        return int(stop.value.code or 0), out.out, out.err

    return call


CHROMIUM, CHROMEDRIVER = shutil.which("chromium"), shutil.which("chromedriver")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser without a screen."""
    if not CHROMIUM or not CHROMEDRIVER:
        pytest.skip("Chromium and its driver are not installed")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1400,1000",
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(CHROMEDRIVER))
    driver.set_script_timeout(120)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def titanic() -> cp.Table:
    """The table of most reports."""
    return cp.load_dataset("titanic")
