# Passeur. `make` lists what there is.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
export PASSEUR_EVAL_DATA ?= $(if $(wildcard ../shared/data),$(abspath ../shared/data),)
# Containers like to forbid bytecode. Then each process compiles its packages anew, which is most of its start, and the
# tests start hundreds; uv leaves nothing compiled either.
export PYTHONDONTWRITEBYTECODE :=
# Everything between here and the first target is overridable on the command line.
PROJECT ?= demo
DOCS ?=
META ?=
SOURCE ?=
E ?=
B ?=
P ?=
N ?=
SEED ?=
# Given to commands through their environment, so that no quote or dollar in a value means anything to the shell.
export PROJECT DOCS META SOURCE
# One worker more than cores, since tests over real processes wait for them a third of the time; a file stays with one
# of them, since its fixtures may be shared.
WORKERS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
PYTEST_ARGS ?= -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help

##@ Use
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: core ## Start both processes, index what a project declares, print its chat page's address: PROJECT=demo
	@$(BIN)/python scripts/run.py --project "$$PROJECT"

ingest: core ## Index a folder: DOCS=path META='scope=docs audience=public' SOURCE=name PROJECT=demo
	@$(BIN)/python -m ai_server ingest --project "$$PROJECT" $(if $(DOCS),--docs "$$DOCS") $(if $(META),--meta "$$META") $(if $(SOURCE),--source "$$SOURCE")

##@ Work on it
test: dev services ## Create the environment and run the tests
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

check: dev services lint types layers proto-fresh test ## Everything that must hold before a change lands

lint: dev
	@$(BIN)/ruff format --check . && $(BIN)/ruff check .

types: dev
	@$(BIN)/basedpyright

layers: dev
	@$(BIN)/lint-imports

proto-fresh: dev
	@$(BIN)/buf lint proto && $(BIN)/python scripts/generate_proto.py --check

fmt: dev ## Format and fix what can be fixed
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix . && $(BIN)/buf format -w proto

proto: dev ## Generate shared/pb from proto/
	@$(BIN)/buf lint proto && $(BIN)/python scripts/generate_proto.py

lock: ## Resolve the locks again from pyproject.toml
	@$(BIN)/python scripts/lock.py

##@ Measure it
eval: dev ## Quality on the handed sets: E=retrieval
	@$(BIN)/python -m tests.eval $(if $(E),E='$(E)')

bench: dev ## Speed, as ratios in one run: B=overhead, or all
	@$(BIN)/python -m tests.bench $(if $(B),B='$(B)')

torture: dev services ## A promise under faults: P=P1 N=10000 SEED=1
	@$(BIN)/python -m tests.torture $(if $(P),P='$(P)') $(if $(N),N='$(N)') $(if $(SEED),SEED='$(SEED)')

simulator: dev ## A provider on loopback that speaks every wire format and keeps an invoice
	@$(BIN)/python -m tests.simulator

images: dev ## Build passeur-ai and passeur-gateway with buildah, on a Debian made by debootstrap or PASSEUR_BASE=image
	@$(BIN)/python scripts/images.py

core:
	@$(PYTHON) scripts/environment.py core

dev:
	@$(PYTHON) scripts/environment.py dev

services:
	@$(BIN)/python scripts/install_services.py

.PHONY: help run ingest test check lint types layers proto-fresh fmt proto lock eval bench torture simulator images core dev services
