PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(abspath $(BIN)):$(PATH)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# What pip would bring for a build of its own, and for that of pyspark, which has no wheel; zig is the
# compiler where there is none.
BUILD := scikit-build-core cmake ninja setuptools wheel $(if $(shell command -v c++ || command -v clang++),,ziglang)
CORE := CMakeLists.txt $(shell find src/core -name '*.?pp')

.PHONY: help demo test test-slow test-all check faults mutations docs bench cold peers quality papers checked sanitized levels wheel clean

help:  ## list these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | sort | expand -t 11

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# What the package needs is installed while the package itself is built.
DEPENDENCIES := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")
$(VENV)/demo.stamp: pyproject.toml $(CORE) | $(BIN)/python
	rm -rf build/demo
	$(PIP) wheel --no-deps --wheel-dir build/demo . & built=$$!; \
	$(BIN)/python -c '$(DEPENDENCIES)' | $(PIP) install -r /dev/stdin && wait $$built
	$(PIP) install --no-deps --force-reinstall build/demo/*.whl
	touch $@

# Installs the package with the extra that the stamp is named after. The install is editable, and
# the core is built again when it is imported after a change of its sources.
$(VENV)/%.stamp: pyproject.toml | $(BIN)/python
	$(PIP) install $(BUILD)
	$(PIP) install --no-build-isolation -C editable.rebuild=true --editable '.[$*]'
	touch $@

demo: $(VENV)/demo.stamp  ## install, learn Titanic, ask the model a question, write a report
	$(BIN)/counterpane learn titanic --target survived -o titanic.cp
	$(BIN)/counterpane query titanic.cp survived --given sex=female --given status=first --given age=adult
	$(BIN)/counterpane report titanic.cp --data titanic -o titanic.html

PROFILE ?= default
test: $(VENV)/test.stamp  ## run the tests that are not marked slow, in two processes
	$(BIN)/python -m pytest -n 2 --dist loadfile --hypothesis-profile $(PROFILE)

test-slow: $(VENV)/test.stamp  ## run the slow tests: servers, clusters, browsers, guides, every source
	$(BIN)/python -m pytest -n 2 --dist loadfile --hypothesis-profile $(PROFILE) -m slow

test-all: PROFILE = ci
test-all: test test-slow  ## run every test once, the laws on all their examples

check: $(VENV)/check.stamp scripts  ## lint, format, types, architecture; the same for the JavaScript of pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/stubs.py
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/architecture

# The JavaScript of pages: npm packages are for development alone.
node_modules/.package-lock.json: package-lock.json
	npm ci --no-fund --no-audit --silent
	touch $@

.PHONY: scripts
ifeq ($(and $(shell command -v node),$(shell command -v npm)),)
scripts:
	@echo "node or npm is not installed: the JavaScript of pages is not checked"
else
scripts: node_modules/.package-lock.json $(VENV)/check.stamp
	PYTHON=$(abspath $(BIN))/python npm run --silent check
endif

HOURS ?= 8
faults: $(VENV)/test.stamp  ## fuzz files, tables and questions, kill and interrupt, for HOURS; can be stopped and resumed
	cd tests && nice -n 19 ../$(BIN)/python -m faults.campaign --hours $(HOURS) --out ../build/faults

mutations: $(VENV)/test.stamp  ## change forty important lines, one at a time: the tests must notice each
	$(BIN)/python tests/mutations.py

docs: $(VENV)/docs.stamp  ## build the site into docs/_build/html; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

cold:  ## measure the first commands after a fresh install, the build, memory and size
	$(PYTHON) benchmarks/cold.py

bench: $(VENV)/bench.stamp  ## measure counting, growth, weights, Gibbs sampling, engines, text; files go to benchmarks/results
	$(BIN)/python benchmarks/micro/counts.py
	$(BIN)/python benchmarks/micro/growth.py
	$(BIN)/python benchmarks/micro/weights.py
	$(BIN)/python benchmarks/micro/gibbs.py
	$(BIN)/python benchmarks/micro/engines.py --texts
	$(BIN)/python benchmarks/micro/text.py

peers: $(VENV)/bench.stamp  ## measure beside other libraries; needs COUNTERPANE_DATA
	$(BIN)/python benchmarks/peers/bayesian.py
	$(BIN)/python benchmarks/peers/inference.py
	$(BIN)/python benchmarks/peers/chow_liu.py
	$(BIN)/python benchmarks/peers/margins.py
	$(BIN)/python benchmarks/peers/dependency.py

quality: $(VENV)/bench.stamp  ## compare scores on all known networks, for hours; can be resumed
	$(BIN)/python benchmarks/peers/quality.py

papers: $(VENV)/bench.stamp  ## reproduce the papers' tables; hours, can be stopped and resumed; needs COUNTERPANE_DATA
	$(BIN)/python benchmarks/papers/jakulin_rish.py
	$(BIN)/python benchmarks/papers/bromberg_margaritis.py
	$(BIN)/python benchmarks/papers/lowd.py
	$(BIN)/python benchmarks/papers/freno.py

# A second environment with another build of the core; it borrows what the first has installed.
$(VENV)-%/bin/python: pyproject.toml $(CORE) $(VENV)/test.stamp
	$(PYTHON) -m venv --without-pip $(VENV)-$*
	$(BIN)/python -c "import sys; print(*(path for path in sys.path if path.endswith('site-packages')), sep='\n')" > \
	    $$($(VENV)-$*/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/borrowed.pth
	$(VENV)-$*/bin/python -m pip --quiet --disable-pip-version-check install \
	    --no-deps --no-build-isolation --force-reinstall -C build-dir=build/$* $(SETTINGS) .
	touch $@

checked: SETTINGS = -C cmake.define.COUNTERPANE_CHECKED=ON
checked: TESTS = tests/core tests/unit tests/contract tests/property tests/golden tests/faults
checked: $(VENV)-checked/bin/python  ## run the tests of kernels and learners (or TESTS) with every index checked
	$(VENV)-checked/bin/python -m pytest -n 2 --dist loadfile $(TESTS)

sanitized: SETTINGS = -C cmake.define.COUNTERPANE_CHECKED=ON -C cmake.define.COUNTERPANE_SANITIZE=address,undefined
sanitized: TESTS = tests/core tests/unit tests/faults
sanitized: $(VENV)-sanitized/bin/python  ## run the tests of kernels and units (or TESTS) under AddressSanitizer and UBSan
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	$(VENV)-sanitized/bin/python -m pytest -n 2 --dist loadfile $(TESTS) -p no:faulthandler

levels: $(VENV)/test.stamp  ## run the tests of kernels and learners on the lowest instruction level
	COUNTERPANE_LEVEL=v2 $(BIN)/python -m pytest -n 2 --dist loadfile tests/core tests/golden tests/property

wheel: $(VENV)/test.stamp  ## build a wheel and check that it keeps to the stable ABI
	$(PIP) install build abi3audit auditwheel
	$(BIN)/python -m build --wheel --outdir dist .
	$(BIN)/abi3audit --strict --report dist/*.whl
	$(BIN)/auditwheel show dist/*.whl

clean:  ## remove the environments, builds and caches
	rm -rf $(VENV) $(VENV)-checked $(VENV)-sanitized build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf docs/_build docs/_generated docs/api docs/gallery node_modules
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
