# Every variable of a run (CONCURRENCY, LINKS, MODES, ...) is given to make as it
# is: make bench CONCURRENCY=100 LINKS=1gbit/40ms. `make help` lists them.

BINARIES := piecebench piece-gateway netem-agent k6

# The git commit that the binaries and images say they are of.
export PIECEBENCH_REVISION := $(shell git --no-optional-locks describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)

# Static programs, so that the images can take what is built here.
export CGO_ENABLED := 0

.PHONY: help build bench capacity bench-gateway bench-generator test test-all lint fmt tidy dashboards release plan doctor up down report compare clean setup
.DEFAULT_GOAL := help

help: ## what there is to make, and the variables of a run
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo; echo "Variables of make bench:"; test -x bin/piecebench && bin/piecebench variables || docker run --rm --network none piecebench/bench variables 2>/dev/null || echo "  (make build shows them here)"

bench: ## the whole sweep: dataset, lab, cells, report; the report's path comes last
	@scripts/lab bench

capacity: ## the most clients that each target serves within SLO=limits.yaml
	@scripts/lab capacity

test: ## every test that this machine can run, but for those of test-all
	@scripts/test

test-all: export PIECEBENCH_TEST := all
test-all: ## also what needs a container engine, another kernel, or long
	@scripts/test

plan: ## what make bench would do: cells, bytes, expected time; changes nothing
	@scripts/lab plan

doctor: ## what on this machine would distort results, and how to fix it
	@scripts/lab doctor

up: ## the dataset and the lab, left running
	@scripts/lab up

down: ## remove every lab, without leftovers
	@scripts/lab down

report: ## make the reports of RUN=results/... again from its files
	@scripts/lab report $(RUN)

compare: ## two runs, A=results/... and B=results/..., row by row
	@scripts/lab compare $(A) $(B)

setup: ## install what is missing: iproute2, npm (for the charting library), the servers that TARGETS names
	@scripts/setup

build: $(BINARIES:%=bin/%) ## the binaries, into bin/

# go build knows what has changed; asking it is cheap.
.PHONY: $(BINARIES:%=bin/%)
# k6 says its own version: it is not linked again with every commit.
STAMP := -X piecebench/version.Revision=$(PIECEBENCH_REVISION)
bin/k6: PACKAGE := ./k6
bin/k6: STAMP :=
bin/%: PACKAGE ?= ./cmd/$(@F)
$(BINARIES:%=bin/%): | bin
	@go build -ldflags '$(STAMP)' -o $@ $(PACKAGE)
bin/piecebench: report/page/assets/echarts.min.js
bin:
	@mkdir bin

# The charting library that report.html carries; fetch knows its version.
report/page/assets/echarts.min.js: report/page/assets/fetch
	@report/page/assets/fetch

bench-gateway: setup ## the gateway beside nginx on loopback, and fr32 unpadding beside copy(): ratios
	@go test -run '^$$' -bench . -benchtime 5x ./gateway
	@go test -run '^$$' -bench OverCopy ./piece/fr32

bench-generator: setup ## the retrieval engine beside k6's http.get and curl: CPU-seconds per GB
	@go test ./k6/generatorbench -run '^$$' -bench Receive -benchtime 5x -timeout 0
	@go test ./k6/generatorbench -run '^$$' -bench Memory -benchtime 1x

# Linters are pinned in tools/go.mod, so that they are no dependency of the product.
TOOL := go tool -modfile=tools/go.mod
lint: report/page/assets/echarts.min.js ## vet, staticcheck, errcheck, ineffassign, shellcheck, actionlint, gofmt
	@test -z "$$(gofmt -l .)" || { echo "lint: run make fmt for these files:" >&2; gofmt -l . >&2; exit 1; }
	@go vet ./...
	@$(TOOL) staticcheck ./...
	@$(TOOL) errcheck -ignoretests -exclude tools/errcheck.txt ./...
	@$(TOOL) ineffassign ./...
	@$(TOOL) actionlint
	@shellcheck scripts/* servers/*/*.sh .ci/run

fmt: ## format all Go files
	@gofmt -w .

# -e: a test of xk6-output-prometheus-remote v0.4.0 imports a package that k6 no
# longer has. Nothing here needs it.
tidy: ## go.mod and go.sum for what the code imports
	@go mod tidy -e && cd tools && go mod tidy

ARCHITECTURES := amd64 arm64
release: report/page/assets/echarts.min.js ## static Linux binaries as archives with checksums, in dist/
	@rm -rf dist
	@for arch in $(ARCHITECTURES); do \
	    folder=piecebench-linux-$$arch; mkdir -p dist/$$folder/bin dist/$$folder/k6; \
	    GOARCH=$$arch go build -trimpath -ldflags '-s -w $(STAMP)' -o dist/$$folder/bin/ ./k6 $(patsubst %,./cmd/%,$(filter-out k6,$(BINARIES))) || exit; \
	    cp -r k6/scripts dist/$$folder/k6/; cp -r servers dashboards README.md LICENSE* NOTICE dist/$$folder/; \
	    tar -czf dist/$$folder.tar.gz -C dist $$folder || exit; \
	done
	@cd dist && sha256sum *.tar.gz >SHA256SUMS

dashboards: ## the JSON of the Grafana dashboards, from dashboards/generate
	@go generate ./dashboards

clean: down ## remove the binaries
	@rm -rf bin
