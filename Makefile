# gpufabric. `make up` runs the main job, `make test` passes the tests; both set up what is missing first.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup toolchain provider-aws provider-google record-aws record-google up down test lint bench soak lock

PY := .venv/bin/python
# A cluster of your own instead of the local one: make up KUBECONFIG=FILE. (The environment's KUBECONFIG is not used.)
ifeq ($(origin KUBECONFIG),command line)
CLUSTER := --kubeconfig $(KUBECONFIG)
endif

help:
	@echo 'make up      set up, start the local cluster, pulumi up, print the measured verdict'
	@echo '             RUN=2 validates again; KUBECONFIG=FILE uses a cluster of your own; SAMPLE=FILE another stack file'
	@echo 'make down    remove all that make up made'
	@echo 'make test    every test of the ladder that needs no account and no GPU'
	@echo 'make soak    the full fault counts, hours'
	@echo 'make bench   ratios of one run'
	@echo 'make lint    formatter, linter, strict type check'
	@echo 'make provider-aws, make provider-google   build a cloud own provider for the tests that can use it: minutes, once'
	@echo 'make setup   the Python environment alone;  make toolchain   the programs that are built'

setup: .venv/.ready

# uv comes from PATH or from the package index; requirements.lock pins every package by hash.
.venv/.ready: requirements.lock pyproject.toml tools/setup.sh
	@bash tools/setup.sh

lock:
	uv pip compile pyproject.toml --group dev --extra aws --extra aws-preflight --extra gcp --extra gcp-preflight --extra kubernetes --generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements.lock

toolchain: setup
	@$(PY) -m tools.toolchain ensure all
	@$(PY) -m tools.image ensure

# Minutes, once per machine, with the services in use alone; the tests that need it say so where it is missing.
provider-aws: setup
	@$(PY) -m tools.toolchain ensure provider-aws

# As provider-aws, for Google.
provider-google: setup
	@$(PY) -m tools.toolchain ensure provider-google

# What a cloud's provider sends for each sample, for the tests that judge it (docs/judged.md): SAMPLE=NAME for one of them.
record-aws: toolchain provider-aws
	@$(PY) -m tools.awsprovider record $(SAMPLE)

record-google: toolchain provider-google
	@$(PY) -m tools.googleprovider record $(SAMPLE)

up: setup
	@$(PY) -m tools.toolchain ensure engine
	@$(PY) -m tools.up $(CLUSTER) $(if $(RUN),--run $(RUN)) $(if $(SAMPLE),--sample $(SAMPLE))

down: setup
	@$(PY) -m tools.up --down $(CLUSTER)

lint: setup
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy

# The report page is opened in a real browser, arrays of disks are made in a kernel that is a process; where there is none, those
# tests say so and are skipped.
test: lint toolchain
	@$(PY) -m tools.toolchain ensure browser || true
	@$(PY) -m tools.toolchain ensure usermode || true
	@$(PY) -m tools.rungs

soak: toolchain
	@$(PY) -m tools.toolchain ensure usermode || true
	@$(PY) -m tools.rungs --soak

bench: toolchain
	@$(PY) -m tools.bench
	@$(PY) -m tests.mounts.saves
