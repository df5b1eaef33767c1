PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test check docs bench peers quality papers clean

help:  ## list these targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | sort | expand -t 10

# Installs the package with the extra that the stamp is named after; the demo needs none.
$(VENV)/%.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.$(if $(filter-out demo,$*),[$*])'
	touch $@

demo: $(VENV)/demo.stamp  ## install, learn Titanic, ask the model a question, write a report
	$(BIN)/counterpane learn titanic --target survived -o titanic.cp
	$(BIN)/counterpane query titanic.cp survived --given sex=female --given status=first --given age=adult
	$(BIN)/counterpane report titanic.cp --data titanic -o titanic.html

test: $(VENV)/test.stamp  ## run the test suite, in two processes
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: $(VENV)/check.stamp  ## lint, format, types, architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/architecture

docs: $(VENV)/docs.stamp  ## build the site into docs/_build/html; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(VENV)/bench.stamp  ## measure counting, growth, start-up, weights, Gibbs sampling, engines; files go to benchmarks/results
	$(BIN)/python benchmarks/micro/counts.py
	$(BIN)/python benchmarks/micro/growth.py
	$(BIN)/python benchmarks/micro/startup.py
	$(BIN)/python benchmarks/micro/weights.py
	$(BIN)/python benchmarks/micro/gibbs.py
	$(BIN)/python benchmarks/micro/engines.py --texts

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

clean:  ## remove the environment, caches and compiled kernels
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf docs/_build docs/_generated docs/api docs/gallery
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
