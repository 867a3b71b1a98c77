# Every target sets itself up; Python >= 3.11, make and the package registries are all it needs.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow check docs figures format bench bench-scrapy requirements clean-cache clean screenshots

BIN := .venv/bin
READY := .venv/.ready

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): scripts/setup.sh pyproject.toml requirements/dev.txt requirements/uv.txt
	@sh scripts/setup.sh

setup: $(READY) ## make the environment in .venv

demo: $(READY) ## optimal beside uniform on a local web, live, with the dashboard; Ctrl-C ends
	@$(BIN)/recrawl demo

test: $(READY) ## the tests, doctests and examples of README and docs
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -q

test-slow: $(READY) ## the long checks
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -q -m slow

check: $(READY) ## format, lint and types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

screenshots: $(READY) ## take the pictures of docs/web.md anew (needs chromium; some minutes)
	@RECRAWL_SCREENSHOTS=docs/screenshots $(BIN)/python -m pytest -q tests/web/test_browser.py -k screenshots

docs: $(READY) ## the documentation, in build/docs/index.html; a warning is an error
	@$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/docs-trees docs build/docs

figures: $(READY) ## draw the figures of the documentation anew
	@$(BIN)/python docs/figures.py

format: $(READY) ## rewrite files in the house format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(READY) ## speed and quality, each as a ratio to a named baseline
	@$(BIN)/python -m benchmarks

bench-scrapy: $(READY) ## Scrapy in an environment of its own (.bench), the baseline of the engine's speed
	@uv=$$(command -v uv || echo .tools/bin/uv); [ -x .bench/bin/python ] || "$$uv" venv --quiet .bench; \
	"$$uv" pip sync --quiet --python .bench/bin/python --require-hashes requirements/bench.txt

requirements: $(READY) ## compile the pinned, hashed requirement files anew
	@sh scripts/requirements.sh

clean-cache: ## forget compiled loops (needed after editing one that others call)
	@find src -name '*.nb[ic]' -delete

clean: ## remove what the targets made
	rm -rf .venv .tools build dist .mypy_cache .ruff_cache .hypothesis
