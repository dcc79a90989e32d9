# Every variable of a run (CONCURRENCY, LINKS, MODES, ...) is given to make as it
# is: make bench CONCURRENCY=100 LINKS=1gbit/40ms. `make help` lists them.

BINARIES := piecebench piece-gateway netem-agent k6

# The git commit that the binaries and images say they are of.
export PIECEBENCH_REVISION := $(shell git --no-optional-locks describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)

.PHONY: help build bench bench-gateway bench-generator test test-all plan doctor up down report compare clean setup
.DEFAULT_GOAL := help

help: ## what there is to make, and the variables of a run
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo; echo "Variables of make bench:"; test -x bin/piecebench && bin/piecebench variables || docker run --rm --network none piecebench/bench variables 2>/dev/null || echo "  (make build shows them here)"

bench: ## the whole sweep: dataset, lab, cells, report; the report's path comes last
	@scripts/lab bench

test: ## every test that this machine can run, but for those of test-all
	@scripts/test

test-all: export PIECEBENCH_TEST := all
test-all: ## also what needs a container engine, another kernel, or long
	@scripts/test

plan: ## what make bench would do: cells, bytes, expected time; changes nothing
	@scripts/lab plan

doctor: ## what on this machine would distort results, and the command that mends each
	@scripts/lab doctor

up: ## the dataset and the lab, left running
	@scripts/lab up

down: ## remove every lab, without leftovers
	@scripts/lab down

report: ## make the reports of RUN=results/... again from its files
	@scripts/lab report $(RUN)

compare: ## two runs, A=results/... and B=results/..., cell by cell
	@scripts/lab compare $(A) $(B)

setup: ## install what is missing: nginx, iproute2, npm (for the charting library)
	@scripts/setup

build: $(BINARIES:%=bin/%) ## the binaries, into bin/

# go build knows what has changed; asking it is cheap.
.PHONY: $(BINARIES:%=bin/%)
# k6 says its own version: it is not linked anew with every commit.
STAMP := -X piecebench/version.Revision=$(PIECEBENCH_REVISION)
bin/k6: PACKAGE := ./k6
bin/k6: STAMP :=
bin/%: PACKAGE ?= ./cmd/$(@F)
$(BINARIES:%=bin/%): | bin
	@go build -ldflags '$(STAMP)' -o $@ $(PACKAGE)
bin/piecebench: bench/report/assets/echarts.min.js
bin:
	@mkdir bin

# The charting library that report.html carries; fetch knows its version.
bench/report/assets/echarts.min.js: bench/report/assets/fetch
	@bench/report/assets/fetch

bench-gateway: setup ## the gateway beside nginx on loopback, and fr32 unpadding beside copy(): ratios
	@go test -run '^$$' -bench . -benchtime 5x ./gateway
	@go test -run '^$$' -bench OverCopy ./piece/fr32

bench-generator: setup build ## the retrieval engine beside k6's http.get and curl: CPU-seconds per GB
	@go run ./k6/generatorbench -k6 bin/k6 -manifest data/pieces.json

clean: down ## remove the binaries
	@rm -rf bin
