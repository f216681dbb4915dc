# Everything runs from a bare clone: each target makes the virtual environment it needs.

PYTHON   ?= python3
VENV     ?= .venv
DEV_VENV ?= .venv-dev
UNITS    ?= 1000000
STRATEGY ?= CONSISTENT_HASH
SEED     ?= 1
OUTPUT   ?= output

# The checkout's own rmqalloc/ is not compiled: no program started here may take it for the installed package.
export PYTHONSAFEPATH := 1
# Hundreds of programs are started: each would compile its modules again.
unexport PYTHONDONTWRITEBYTECODE
# What is costly to make is kept here by content: objects of C, builds of Maven and Go, environments of other releases.
export RMQALLOC_CACHE ?= $(CURDIR)/.cache
# Tests started here test the wheel of this checkout, installed in $(VENV), unless they say otherwise (tests/support/package_under_test.py).
export RMQALLOC_WHEEL_OF := $(CURDIR)
# A JVM opens no file below a folder whose name is not ASCII where this is C.
ifneq ($(filter C POSIX,$(LC_ALL)),)
export LC_ALL := C.UTF-8
endif

BIN   := $(VENV)/bin
WHEEL := build/wheel
NEW_ENOUGH := $(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "rmqalloc needs Python 3.11 or later, this is " + sys.version)'
# What ends up in the wheel; the package is built and installed anew when one of these changes.
SOURCES := setup.py pyproject.toml MANIFEST.in $(wildcard pyx/* pyx/vector/*) \
           $(shell find rmqalloc spark_udfs -name '*.py' -o -name '*.pyi' -o -name '*.properties' -o -name '*.yaml' -o -name '*.json' -o -name '*.txt' -o -path '*/page/*')

PROOFS := bruteforce differential chaos clusters fuzz spark platforms mutation
.PHONY: help dev check style tables test-changed install plan python machine java test test-all test-touched spark-envs nightly test-debug test-isa lint site search wheel proof evidence proofs-in-turn bench bench-quick cliffs movement commands medians instructions performance performance-quick cluster cluster-stop clean browser
help:
	@echo "make plan          assign a made-up fleet of UNITS=$(UNITS) units with STRATEGY=$(STRATEGY) on PySpark"
	@echo "make dev           $(DEV_VENV): the checkout itself, compiled in place; again after an edit of pyx/"
	@echo "make check         style and tests of one package, in place: ROOM=plans"
	@echo "make test-changed  tests of the packages that differ from main, files that are not committed included, in place"
	@echo "make test          build, install and test the wheel, with few examples of each property"
	@echo "make test-all      all tests: releases of Spark, clusters of RocketMQ, kernels compiled in other ways, all pages"
	@echo "make test-touched  what CI runs after make test: thorough tests, all examples, and of the areas what a change touches"
	@echo "make nightly       the tests against slow twins, on very many examples"
	@echo "make test-debug    golden answers and fleets with bounds checks in every kernel"
	@echo "make test-isa      golden answers with every other instruction set this machine has"
	@echo "make wheel         the wheel and one by clang, checked in clean virtual environments"
	@echo "make lint          ruff, mypy and rules of the source"
	@echo "make site          the guide, in build/site; warnings are errors"
	@echo "make tables        tables of the guide's reference, from the code"
	@echo "make search        60 questions of readers, asked of the guide's search"
	@echo "make browser       the guide with a page that plans in the browser, in build/browser/site (root of a Debian; npm, node)"
	@echo "make proof NAME=  a long program that looks for faults ($(PROOFS)); QUICK=1: a short form; ARGS=--help"
	@echo "make evidence      all of these, written to build/evidence/, and make movement"
	@echo "make cluster       a real RocketMQ on loopback, to try things at (make cluster-stop ends it)"
	@echo "make bench         benchmarks against the rivals, as one table (make bench-quick: a short form, which fails where a ratio grew)"
	@echo "make movement      what every strategy moves, Kafka's assignors beside, written to build/evidence/movement.md"
	@echo "make performance   size, import, memory and speed of this tree beside the releases, written to benchmarks/releases/performance.md"
	@echo "make commands      whole commands beside DuckDB, Polars, pyarrow and NumPy, written to docs/reference/benchmarks.md"
	@echo "make medians       the ratios that make bench-quick compares with, written to benchmarks/medians.json"
	@echo "make cliffs        how much more work odd inputs take, against bounds"

# The tests run against what ships: the sdist is made, the wheel is made from the sdist, and the wheel is installed.
ENVIRONMENT := $(PYTHON) tests/support/environments.py
DIGESTS     := PYTHONPATH=tests/support $(PYTHON) -m package_under_test digests
install: $(VENV)/installed
$(VENV)/installed: $(VENV)/packages $(SOURCES)
	@$(DIGESTS) > $@.new
	@$(ENVIRONMENT) wheel $(VENV) $(WHEEL)
	@mv $@.new $@
$(VENV)/packages: pyproject.toml | python
	@$(ENVIRONMENT) packages $(VENV) dev
	@touch $@
python:
	@$(NEW_ENOUGH)

# The checkout itself, compiled in place, in an environment other than the wheel's: what an edit is tested with. Content decides
# what is compiled, and setup.py keeps the objects.
DEV     := RMQALLOC_WHEEL_OF= PYTHONPATH=tests/support $(DEV_VENV)/bin
dev: $(DEV_VENV)/editable
	@$(DEV)/python -m package_under_test || $(DEV)/python setup.py -q build_ext --inplace > build.log 2>&1 || { tail -40 build.log; exit 1; }
$(DEV_VENV)/editable: $(DEV_VENV)/packages
	@$(DEV)/pip install -q --no-deps --no-build-isolation --editable .
	@touch $@
$(DEV_VENV)/packages: pyproject.toml | python
	@$(ENVIRONMENT) packages $(DEV_VENV) dev
	@touch $@

# ROOM is the name of a package's folder of tests: plans, cli, engine.
check: dev
	@$(DEV)/ruff check -q $(wildcard rmqalloc/$(ROOM)) tests/$(ROOM)
	@$(DEV)/ruff format -q --check $(wildcard rmqalloc/$(ROOM)) tests/$(ROOM)
	@$(DEV)/pytest -q $(BESIDE) tests/$(ROOM)
# Measures of style beside known projects: printed, never enforced.
style: dev
	@$(DEV)/python -m style_measures --fetch build/beside
# Tables of pages, made from the code: tests/house/test_docs.py looks whether they are current.
TABLES := command_reference field_tables metric_table option_tables row_tables strategy_table
tables: dev
	@for name in $(TABLES); do $(DEV)/python tests/support/$$name.py || exit 1; done
# Tests of the packages that differ from main: in commits, in files that are not committed, and in new files. A folder may have no
# test in the quick part: pytest then ends with 5.
BASE     = $(shell git merge-base origin/main HEAD 2>/dev/null || echo HEAD)
NAMED    = rmqalloc pyx tests
CHANGED  = $(shell { git diff --name-only $(BASE) -- $(NAMED); git ls-files --others --exclude-standard -- $(NAMED); } \
             | sed -nE 's,^(rmqalloc/_engine|pyx)/.*,tests/engine,p; s,^(rmqalloc|tests)/([a-z]+)/.*,tests/\2,p' | sort -u)
test-changed: FOLDERS := $(filter-out tests/support tests/data,$(wildcard $(CHANGED)))
test-changed: dev
	@test -n "$(FOLDERS)" || echo "no package differs from origin/main: nothing to test"
	@test -z "$(FOLDERS)" || $(DEV)/pytest -q --part quick $(SCOPED) $(FOLDERS) || test $$? -eq 5
	@test -z "$(FOLDERS)" || $(DEV)/pytest -q $(BESIDE) tests/house/test_layers.py

FLEET := $(OUTPUT)/fleet-$(UNITS)-$(SEED)
# An environment of its own, with what running needs: the developers' tools are two gigabytes more. Java, Python and the compiler
# are looked at before anything is downloaded.
RUN_VENV ?= .venv-run
plan: machine $(RUN_VENV)/installed
	@test -d $(FLEET) || { echo "generating $(UNITS) units" >&2; $(RUN_VENV)/bin/rmqalloc generate --units $(UNITS) --seed $(SEED) --out $(FLEET); }
	@echo "planning on Spark" >&2
	$(RUN_VENV)/bin/rmqalloc bulk --spark -f $(FLEET) --out $(OUTPUT)/owners -s $(STRATEGY)
machine: python
	@$(ENVIRONMENT) check
$(RUN_VENV)/packages: pyproject.toml tests/support/environments.py | machine
	@$(ENVIRONMENT) packages $(RUN_VENV) cli,spark
	@touch $@
$(RUN_VENV)/installed: $(RUN_VENV)/packages $(SOURCES)
	@$(ENVIRONMENT) checkout $(RUN_VENV)
	@touch $@

# make test skips what needs Java or Maven where they are missing; other targets end here without Java.
java: python
	@PYTHONPATH=tests/support $(PYTHON) -m tools java

PYTEST := $(BIN)/pytest
BESIDE := -n 2 --dist worksteal
# STRICT=--no-skips: a skip that is not on the list of tests/support/skips.py fails.
# A Spark session is on one worker, a real RocketMQ on another, and each other file goes to the worker that is free first.
SCOPED := -n 2 --dist loadscope --no-loadscope-reorder
READY  = $(MAKE) --no-print-directory install \
  || { echo "The set-up failed: see above. To run it again: make $@ $(MAKEOVERRIDES)" >&2; exit 1; }
# Its output is in build/test.log, too; its last lines name what failed and the command that runs it again.
TESTED := $(BIN)/python tests/support/logged_run.py -q $(SCOPED)
test:
	@$(READY)
	$(TESTED) --part quick $(STRICT)
# What is left to it: tests/support/areas.py.
test-all: java
	@$(READY)
	$(TESTED) --part all $(STRICT)
test-touched: java
	@$(READY)
	$(TESTED) --part touched $(STRICT)

# Environments of every release of Spark, and their connectors: 4 GB.
spark-envs: install
	@PYTHONPATH=tests/support $(BIN)/python -m spark_releases

# Tests that compare with slow twins, on very many new examples: some hours.
NIGHTLY_TESTS := $(foreach name,plan_batch plan_before plans scenarios compare rollout advice parquet_plan strategies fleet,$(wildcard tests/*/test_$(name).py tests/*/*/test_$(name).py))
nightly: install
	HYPOTHESIS_PROFILE=nightly $(PYTEST) -q $(BESIDE) $(NIGHTLY_TESTS)

GOLDEN := tests/strategies/test_golden.py
# The plain loops; the C of the other levels runs with sanitizers (tests/engine/test_sanitizers.py).
CHECKED_TESTS := $(GOLDEN) tests/fleet/test_fleet.py tests/fleet/test_fleet_errors.py tests/strategies/test_ordinal.py \
                 tests/strategies/test_stable.py $(foreach name,hashed_names md5 preferences ring slots split strings tally,tests/engine/test_$(name).py)
# A copy of the tree, compiled in place with bounds checks, so that neither the wheel nor the checkout is touched. The slow twin has
# no kernel, and what is compiled with sanitizers is compiled anew: both are the same here as in `make test`. Pages of strategies
# are there because their code is the twin of kernels.
test-debug: install
	rm -rf build/debug && mkdir -p build/debug/docs && cp -r docs/reference build/debug/docs/
	cp -r setup.py pyproject.toml README.md LICENSE NOTICE pyx rmqalloc spark_udfs tests build/debug/ && rm -f build/debug/rmqalloc/_engine/*.so
	cd build/debug && RMQALLOC_DEBUG=1 "$(abspath $(BIN))/python" setup.py -q build_ext --inplace > build.log 2>&1 || { tail -40 build.log; exit 1; }
	cd build/debug && PYTHONPATH=. RMQALLOC_ISA=plain "$(abspath $(PYTEST))" -q $(BESIDE) -k "not the_reference" $(CHECKED_TESTS)

# All but the one that is taken by itself, which is what the other tests run with. Tests of kernels run all by themselves.
test-isa: install
	for isa in $$($(BIN)/python -c 'from rmqalloc._engine import md5; print(*(set(md5.available_isas()) - {md5.isa()}))'); do \
	  echo "RMQALLOC_ISA=$$isa"; RMQALLOC_ISA=$$isa $(PYTEST) -q -k "not the_reference" $(GOLDEN) || exit 1; done

# The wheel that is installed, of the compiler of this machine, and wheels by others from the sdist: they need no newer C library
# than manylinux allows, and each answers right in a virtual environment that holds nothing but the wheel and numpy. Then one of these
# gets [cli], and the first commands of the README print what it shows.
COMPILERS ?= clang
wheel: install
	$(BIN)/pip install -q "auditwheel>=6"
	rm -rf build/installed && mkdir -p build/installed/dist && cp $(WHEEL)/*.whl build/installed/dist
	$(MAKE) --no-print-directory -j 2 wheel-of-installed $(COMPILERS:%=wheel-by-%)
	build/installed/venv/bin/pip install -q "$$(echo $(WHEEL)/*.whl)[cli]"
	PYTHONPATH=tests/support $(PYTHON) -m first_commands build/installed/venv
wheel-by-%:
	rm -rf build/$* && CC=$* LDSHARED="$* -shared" $(BIN)/pip wheel -q --no-deps --no-cache-dir -w build/$*/dist $(WHEEL)/*.tar.gz
	$(MAKE) --no-print-directory wheel-of-$*
wheel-of-%:
	$(BIN)/auditwheel show build/$*/dist/*.whl | tr '\n' ' ' | grep -o 'is consistent with[^.]*"manylinux[^"]*"'
	$(PYTHON) -m venv build/$*/venv && build/$*/venv/bin/pip install -q build/$*/dist/*.whl
	cd build/$* && venv/bin/python -W error ../../tests/support/replay_golden.py

# Long programs that look for faults; proofs/README.md says what each needs. A page of each goes to $(EVIDENCE), which CI keeps,
# and docs/contributors/evidence.md has the figures. They look at the checkout's tests and at the package that is installed.
EVIDENCE := build/evidence
PROOF    := PYTHONPATH=proofs:tests:tests/support $(BIN)/python -m
MOVEMENT := PYTHONPATH=benchmarks:tests:tests/support $(BIN)/python -m movement
# Packages of a program that are none of the product's.
NEEDS_fuzz      := $(if $(QUICK),,"atheris>=3")
NEEDS_platforms := ziglang lief
$(EVIDENCE):
	@mkdir -p $@
proof: install | $(EVIDENCE)
	$(if $(NEEDS_$(NAME)),$(BIN)/pip install -q $(NEEDS_$(NAME)))
	$(PROOF) $(NAME) $(if $(QUICK),--quick,--report $(EVIDENCE)/$(NAME).md) $(ARGS)
# One that fails stops no other.
evidence: install $(VENV)/site-tools | $(EVIDENCE)
	@failed=; for name in $(PROOFS); do $(MAKE) --no-print-directory proof NAME=$$name || failed="$$failed $$name"; done; \
	$(MAKE) --no-print-directory movement || failed="$$failed movement"; \
	test -z "$$failed" || { echo "failed:$$failed"; exit 1; }
# Short forms of those that the last change touches.
proofs-in-turn: install
	names=$$(PYTHONPATH=tests/support $(BIN)/python -m areas) && echo "$$names" \
	  | xargs -r -P 2 -I % $(MAKE) --no-print-directory proof NAME=% QUICK=1
# Java 17 and Maven; some tens of minutes.
movement: install | $(EVIDENCE)
	$(MOVEMENT) --report $(EVIDENCE)/movement.md

# Rules over the source; make test leaves them to this.
HOUSE_RULES := $(foreach name,layers security errors,tests/house/test_$(name).py)
lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy examples/clients/*.py
	MYPYPATH=benchmarks:tests/support $(BIN)/mypy -p cliffs -p commands -p movement -p releases
	$(PYTEST) -q $(BESIDE) $(HOUSE_RULES)

# The guide: pages of docs/, names from the docstrings, and a page of all commands (docs/site/hooks.py).
SITE := build/site
$(VENV)/site-tools: docs/requirements.txt $(VENV)/packages
	$(BIN)/pip install -q -r docs/requirements.txt
	@touch $@
site: install $(VENV)/site-tools
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir $(SITE)  # with --quiet it counts no warnings
	@! grep -rhoE '<(script|link|img|iframe)[^>]* (src|href)="https?://[^"]*"' $(SITE) --include='*.html' || { echo "the site loads this from elsewhere"; exit 1; }
	@echo "$(SITE)/index.html"
# Questions of readers, asked of the built guide's search in Chromium.
search: site
	PYTHONPATH=tests/support $(BIN)/python -m site_search $(SITE)

# The same with CPython as WebAssembly and this package compiled for it beside the page "Try it"; the runtime is from npm, the
# compiler from Debian. Everything stays below build/browser.
browser: install $(VENV)/site-tools
	$(PROOF) platforms.browser

BENCH := build/bench.json
bench: install
	$(PYTEST) benchmarks --benchmark-only -q --benchmark-json=$(BENCH) && $(BIN)/python benchmarks/table.py $(BENCH) --docs benchmarks/results.md && PYTHONPATH=benchmarks $(BIN)/python benchmarks/chart.py
bench-quick: install
	$(PYTEST) benchmarks --quick --benchmark-only -q --benchmark-json=$(BENCH) && $(BIN)/python benchmarks/table.py $(BENCH)
	$(CLIFFS) --quick
	$(COMMANDS).parts --units 1000
	$(COMMANDS) --quick
# Work of odd inputs over that of plain ones, by counts: fails above a bound.
CLIFFS := PYTHONPATH=benchmarks $(BIN)/python -m cliffs
cliffs: install
	$(CLIFFS) --docs benchmarks/results.md

# Whole commands and kernels beside what a person would run instead, in turns; answers are compared first.
COMMANDS := PYTHONPATH=benchmarks $(BIN)/python -m commands
commands: install
	$(COMMANDS) --docs docs/reference/benchmarks.md && PYTHONPATH=benchmarks $(BIN)/python benchmarks/chart.py
# The ratios that make bench-quick judges by, of this kind of processor: on a quiet machine.
medians: install
	$(COMMANDS) --medians

# Instructions of every kernel, counted by callgrind against the committed counts: repeatable on a busy machine too.
instructions: install
	$(BIN)/python setup.py -q build_ext --inplace > build.log 2>&1 || { tail -40 build.log; exit 1; }
	$(BIN)/python benchmarks/instructions.py compare

# What this tree's wheel costs beside the releases, charted in benchmarks/releases/performance.md; the short form measures what repeats.
RELEASES := PYTHONPATH=benchmarks $(BIN)/python -m releases
performance: install
	$(RELEASES) measure $(WHEEL)/*.whl
performance-quick: install
	$(RELEASES) check $(WHEEL)/*.whl --quick

# A name server and two brokers from Maven Central's jars, with small heaps: needs a JDK and Maven, no virtual environment.
CLUSTER := build/cluster
cluster:
	@PYTHONPATH=tests:tests/support $(PYTHON) -m live_cluster start $(CLUSTER)
cluster-stop:
	@PYTHONPATH=tests:tests/support $(PYTHON) -m live_cluster stop $(CLUSTER)

clean:
	rm -rf $(VENV) $(RUN_VENV) $(DEV_VENV) .cache build dist output *.egg-info build.log rmqalloc/_engine/*.so rmqalloc/_engine/*.sha256
