# What a person types. `make help` lists it.
#
# Servers for tests are started by the tests themselves (internal/testkit), on free ports and without containers:
# Apache Kafka from Maven's jars, kept in the user's cache folder, and redis-server.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
SERVERS  := $(GO) run ./internal/testkit/cmd/servers
LINT     := $(GO) tool -modfile=tools/golangci.mod golangci-lint
BUF      := $(GO) tool -modfile=tools/buf.mod buf
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
PACKAGES ?= ./...
# A measured broker gets a fixed heap and the collector it has in production.
BENCH_JVM ?= -Xms1g -Xmx1g -XX:+UseG1GC

##@ Use

.PHONY: dev
dev: build ## build, and run everything in one process: Kafka, Redis, Tidemark, a demo
	bin/tidemark dev $(ARGS)

.PHONY: build
build: ## build bin/tidemark
	$(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o bin/tidemark ./cmd/tidemark

##@ Check

.PHONY: test
test: test-tools ## the whole suite against a real Kafka and a real Redis, then the short tests under the race detector
	$(SERVERS) -- $(GO) test -timeout 15m $(PACKAGES)
	$(GO) test -short -race -timeout 15m $(PACKAGES)

.PHONY: test-short
test-short: ## the tests that need no server, in less than two minutes
	$(GO) test -short -timeout 5m $(PACKAGES)

.PHONY: race
race: test-tools ## the whole suite under the race detector
	$(SERVERS) -- $(GO) test -race -timeout 30m $(PACKAGES)

.PHONY: sim
sim: ## many runs of the simulator: SEEDS=10000, from seed FROM=0 on
	TIDEMARK_SIM_SEEDS=$(or $(SEEDS),10000) TIDEMARK_SIM_FROM=$(or $(FROM),0) $(GO) test -count=1 -timeout 2h -v -run 'TestSimulate$$' ./processor

.PHONY: chaos
chaos: test-tools ## kill -9 and SIGSTOP on real servers: ROUNDS=100 kills (about 10 minutes), PAUSES=30 of members, LEADERS=20 of brokers
	$(SERVERS) -- env TIDEMARK_CHAOS_ROUNDS=$(or $(ROUNDS),100) $(GO) test -count=1 -timeout 2h -v -run 'TestKill$$' ./internal/chaos
	$(SERVERS) -- $(GO) test -count=$(or $(PAUSES),30) -timeout 2h -run 'TestPause$$' ./internal/chaos
	TIDEMARK_CHAOS_LEADERS=$(or $(LEADERS),20) $(GO) test -count=1 -timeout 1h -v -run 'TestLeaderDies$$' ./internal/chaos

.PHONY: two-owners
two-owners: ## two owners of the same partitions for RECORDS=1000000: where they stamp alike they say the same
	TIDEMARK_TWO_OWNERS=$(or $(RECORDS),1000000) $(GO) test -count=1 -timeout 4h -v -run 'TestTwoOwnersEmitEqualBytes$$' ./processor

.PHONY: soak
soak: test-tools ## a node under load for MINUTES=10 on real servers, beside one that comes and goes: what it holds must not grow
	TIDEMARK_SOAK=$(or $(MINUTES),10) $(GO) test -count=1 -timeout 6h -v -run 'TestSoak$$' ./internal/chaos

.PHONY: fuzz
fuzz: ## fuzz everything that decodes what others wrote, FOR=30s each
	@grep -r --include='*_test.go' '^func Fuzz' . | sed -E 's|^\./(.*)/[^/]*:func (Fuzz[A-Za-z]*).*|\1 \2|' | while read -r dir name; do \
		echo "$$dir: $$name"; $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(or $(FOR),30s) ./$$dir || exit 1; done

.PHONY: lint
lint: ## gofmt, go vet, golangci-lint, and that the modules are those of go.sum
	@unformatted=$$(gofmt -l .); \
	if [[ -n $$unformatted ]]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet $(PACKAGES)
	$(LINT) run $(PACKAGES)
	$(GO) mod verify

.PHONY: bench
bench: build test-tools ## measure on this machine, against a real Kafka and Redis (minutes)
	$(SERVERS) -jvm "$(BENCH_JVM)" -- bin/tidemark bench $(ARGS)

##@ Make

.PHONY: sbom
sbom: build ## write bin/tidemark.cdx.json: what bin/tidemark is made of, as CycloneDX
	bin/tidemark version --sbom > bin/tidemark.cdx.json

.PHONY: generate
generate: ## generate the code of events/proto again
	$(BUF) generate

.PHONY: kafka-jars
kafka-jars: ## fetch the jars of the broker that tests run (the tests do so themselves)
	$(SERVERS) -fetch

# What the suite needs beside Go. As root it is installed; else one line says what is missing.
.PHONY: test-tools
test-tools:
	@missing=(); \
	command -v java >/dev/null || missing+=(openjdk-17-jdk-headless); \
	command -v mvn >/dev/null || missing+=(maven); \
	command -v redis-server >/dev/null || missing+=(redis-server); \
	command -v node >/dev/null || missing+=(nodejs); \
	command -v tsc >/dev/null || missing+=(node-typescript); \
	command -v chromium >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium fonts-liberation); \
	if [[ $${#missing[@]} -gt 0 ]]; then \
	  if [[ $$(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then \
	    echo "the tests need $${missing[*]}: install them, on Debian with \`sudo apt-get install $${missing[*]}\`" >&2; exit 1; \
	  fi; \
	  apt-get update -qq; \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$${missing[@]}"; \
	  if [[ " $${missing[*]} " == *" redis-server "* ]]; then service redis-server stop >/dev/null 2>&1 || true; fi; \
	fi

.PHONY: clean
clean: ## remove what was built here
	rm -rf bin

.PHONY: help
help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
