# The commands that people use; `make help` lists them.
#
# Tests start their servers themselves (internal/test/testkit), on free ports and without containers:
# Apache Kafka from Maven's jars and Synapse from pip's packages, which they keep in the user's cache folder, redis-server and
# PostgreSQL.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
SERVERS  := $(GO) run ./internal/test/testkit/cmd/servers
LINT     := $(GO) tool -modfile=tools/golangci.mod golangci-lint
BUF      := $(GO) tool -modfile=tools/buf.mod buf
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
PACKAGES ?= ./...
# With TRIES=2, `make test` runs packages that failed once more (.ci/tries).
TRIES    ?= 1
# As releases are built, so that an empty build cache is filled once for all that is built and tested here. Only the race
# detector needs cgo.
export CGO_ENABLED ?= 0
export GOFLAGS     := $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath
RACE     := env CGO_ENABLED=1 $(GO) test -race
# What runs other programs than Tidemark, or Tidemark in processes without the race detector, benches, and the command, whose
# parts have tests of their own. One goroutine folds: of package projections only what queries and cuts do beside it is run.
NOT_RACE := ^github.com/tidemark/tidemark/((app/bench|clients|cmd/tidemark|deploy|docs|internal/test)(/|$$)|projections$$)
BESIDE   := Beside|Unlock|Walks|GiveWay|Leaving|Listing|Load|Read|Cold|Room|Full|Close
# The benches measure a build like that of a release (internal/test/release): static and without cgo.
BENCH_BUILD := CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -buildid= -X main.version=$(VERSION)"
# A broker that is measured gets a fixed heap, and the collector that it has in production.
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
test: test-tools ## the whole suite against a real Kafka and a real Redis
	$(SERVERS) -fetch-synapse
	$(SERVERS) -- .ci/tries $(TRIES) $(GO) test -vet=off -timeout 15m -- $(PACKAGES)

.PHONY: race-short
race-short: ## the short tests of the product under the race detector
	@race=".ci/tries $(TRIES) $(RACE) -vet=off -short -timeout 20m"; all=$$($(GO) list $(PACKAGES)); \
	product=$$(grep -vE '$(NOT_RACE)' <<< "$$all" || true); fold=$$(grep '/projections$$' <<< "$$all" || true); \
	if [[ -n $$product ]]; then $$race -- $$product; fi; \
	if [[ -n $$fold ]]; then $$race -run '$(BESIDE)' -- $$fold; fi

.PHONY: test-short
test-short: ## the tests that need no server, in less than two minutes
	$(GO) test -short -timeout 5m $(PACKAGES)

.PHONY: race
race: test-tools ## the whole suite under the race detector
	$(SERVERS) -- $(RACE) -timeout 60m $(PACKAGES)

.PHONY: sim
sim: ## many runs of the simulator: SEEDS=10000, from seed FROM=0 on
	TIDEMARK_SIM_SEEDS=$(or $(SEEDS),10000) TIDEMARK_SIM_FROM=$(or $(FROM),0) $(GO) test -count=1 -timeout 2h -v -run 'TestSimulate$$' ./processor/internal/steps

.PHONY: chaos
chaos: test-tools ## kill -9 and SIGSTOP on real servers: ROUNDS=100 kills (about 10 minutes), PAUSES=100 of members, LEADERS=20 of brokers
	$(SERVERS) -- env TIDEMARK_CHAOS_ROUNDS=$(or $(ROUNDS),100) $(GO) test -count=1 -timeout 2h -v -run 'TestKill$$' ./internal/test/chaos
	$(SERVERS) -- env TIDEMARK_CHAOS_PAUSES=$(or $(PAUSES),100) $(GO) test -count=1 -timeout 2h -v -run 'TestPause$$' ./internal/test/chaos
	TIDEMARK_CHAOS_LEADERS=$(or $(LEADERS),20) $(GO) test -count=1 -timeout 1h -v -run 'TestLeaderDies$$' ./internal/test/chaos

.PHONY: test-import
test-import: test-tools ## import from a real Synapse, follow it and compare with it: ROUNDS=1, from seed SEED on if you name one
	$(SERVERS) -fetch-synapse
	$(if $(SEED),TIDEMARK_TEST_SYNAPSE_SEED=$(SEED) )TIDEMARK_TEST_SYNAPSE_ROUNDS=$(or $(ROUNDS),1) $(GO) test -count=1 -timeout 4h -v ./internal/test/synapse

.PHONY: test-azure
test-azure: ## snapshots in an emulator of Azure Blob Storage, which npm installs into bin/azurite (365 MB)
	npm install --no-audit --no-fund --ignore-scripts --prefix bin/azurite azurite@3.37.0
	TIDEMARK_TEST_AZURITE=$(CURDIR)/bin/azurite/node_modules/.bin/azurite-blob $(GO) test -count=1 -v -run '^Test(Bucket|BucketLarge|BucketConditional|BucketRace|RoundTrip|TwoOwnersOneBucket)$$/azure' ./snapshot

.PHONY: adopt-kills
adopt-kills: test-tools ## kill imports and bridges with SIGKILL KILLS=100 times, and restart the database and the broker in between
	TIDEMARK_TEST_ADOPT_KILLS=$(or $(KILLS),100) $(GO) test -count=1 -timeout 2h -v -run 'TestImportAndBridgeAreKilled$$' ./cmd/tidemark

.PHONY: adopt-rows
adopt-rows: test-tools ## import and compare a generated Mattermost database of ROWS=10000000 rows
	TIDEMARK_TEST_ADOPT_ROWS=$(or $(ROWS),10000000) $(GO) test -count=1 -timeout 4h -v -run 'TestManyRows$$' ./cmd/tidemark

.PHONY: two-owners
two-owners: ## two owners of the same partitions for RECORDS=1000000: values with equal stamps must be equal
	TIDEMARK_TWO_OWNERS=$(or $(RECORDS),1000000) $(GO) test -count=1 -timeout 4h -v -run 'TestTwoOwnersEmitEqualBytes$$' ./processor

.PHONY: soak
soak: test-tools ## a node under load for MINUTES=10 on real servers, beside one that restarts: its memory, files and goroutines must not grow
	TIDEMARK_SOAK=$(or $(MINUTES),10) $(GO) test -count=1 -timeout 6h -v -run 'TestSoak$$' ./internal/test/chaos

.PHONY: fuzz
fuzz: ## fuzz every decoder of outside data, FOR=30s each
	@grep -r --include='*_test.go' '^func Fuzz' . | sed -E 's|^\./(.*)/[^/]*:func (Fuzz[A-Za-z]*).*|\1 \2|' | while read -r dir name; do \
		echo "$$dir: $$name"; $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(or $(FOR),30s) ./$$dir || exit 1; done

.PHONY: lint
lint: ## gofmt, golangci-lint with the checks of go vet, and a check of the modules against go.sum
	@unformatted=$$(gofmt -l .); \
	if [[ -n $$unformatted ]]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	cd tools/image && $(GO) vet .
	$(LINT) run $(PACKAGES)
	cd client && $(GO) tool -modfile=../tools/golangci.mod golangci-lint run --build-tags=node ./...
	$(GO) mod verify

.PHONY: bench
bench: test-tools ## measure on this machine, against a real Kafka and Redis (minutes)
	$(BENCH_BUILD) -o bin/tidemark ./cmd/tidemark
	$(SERVERS) -jvm "$(BENCH_JVM)" -- bin/tidemark bench $(ARGS)

.PHONY: bench-compare
bench-compare: test-tools ## run the benches ARGS of commit BASE and of this tree by turns, ROUNDS=3 times, and print the ratios; ARGS=paths runs both as nodes
	$(BENCH_BUILD) -o bin/tidemark ./cmd/tidemark
	@base=$$(mktemp -d); trap 'rm -rf "$$base"' EXIT; \
	git archive $(or $(BASE),HEAD) | tar -x -C "$$base"; \
	(cd "$$base" && $(BENCH_BUILD) -o tidemark ./cmd/tidemark); \
	$(SERVERS) -jvm "$(BENCH_JVM)" -- $(GO) run ./internal/test/benchcompare -rounds $(or $(ROUNDS),3) -base "$$base/tidemark" -head bin/tidemark $(ARGS)

##@ Make

.PHONY: release
release: ## write dist: static, stripped, reproducible binaries for Linux and macOS, packages, a container image, bills of materials, checksums
	$(GO) run ./internal/test/release -version $(VERSION)

.PHONY: docs
docs: ## write bin/site: docs/ as a static site that can be searched; open bin/site/index.html
	$(GO) run ./internal/test/site

.PHONY: links
links: ## call the links of the documents to other sites, and name those that lead nowhere (needs a network; ARGS=-list lists them)
	$(GO) run ./internal/test/links $(ARGS)

.PHONY: sbom
sbom: build ## write bin/tidemark.cdx.json: the modules of bin/tidemark, as CycloneDX
	bin/tidemark version --sbom > bin/tidemark.cdx.json

.PHONY: generate
generate: ## lint the schemas in events/proto, generate their Go code, docs/openapi.json and docs/asyncapi.json
	$(BUF) lint
	$(BUF) generate
	$(GO) test ./events -run TestGeneratedCodeIsCurrent -update
	$(GO) test ./internal/test/apidoc -run TestFiles -update

.PHONY: kafka-jars
kafka-jars: ## fetch the jars of the broker that tests run (the tests do so themselves)
	$(SERVERS) -fetch

# What the suite needs beside Go. As root, this installs missing packages after one line that names them; else it fails and names them.
.PHONY: test-tools
test-tools:
	@missing=(); \
	command -v java >/dev/null || missing+=(openjdk-17-jdk-headless); \
	command -v mvn >/dev/null || missing+=(maven); \
	command -v curl >/dev/null || missing+=(curl); \
	python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv); \
	command -v redis-server >/dev/null || missing+=(redis-server); \
	command -v postgres >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null || missing+=(postgresql); \
	command -v ruby >/dev/null || missing+=(ruby); \
	command -v rpm >/dev/null || missing+=(rpm); \
	command -v kcat >/dev/null || missing+=(kcat); \
	command -v promtool >/dev/null || missing+=(prometheus); \
	command -v node >/dev/null || missing+=(nodejs); \
	command -v npm >/dev/null || missing+=(npm); \
	command -v tsc >/dev/null || missing+=(node-typescript); \
	command -v chromium >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium fonts-liberation); \
	if [[ $${#missing[@]} -gt 0 ]]; then \
	  if [[ $$(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then \
	    echo "the tests need $${missing[*]}: install them, on Debian with \`sudo apt-get install $${missing[*]}\`" >&2; exit 1; \
	  fi; \
	  echo "installing what the tests need: apt-get install $${missing[*]} (Ctrl-C to stop)"; \
	  apt-get update -qq; \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$${missing[@]}"; \
	  if [[ " $${missing[*]} " == *" redis-server "* ]]; then service redis-server stop >/dev/null 2>&1 || true; fi; \
	  if [[ " $${missing[*]} " == *" postgresql "* ]]; then service postgresql stop >/dev/null 2>&1 || true; fi; \
	  if [[ " $${missing[*]} " == *" prometheus "* ]]; then service prometheus stop >/dev/null 2>&1 || true; fi; \
	fi

.PHONY: clean
clean: ## remove bin and dist
	rm -rf bin dist

.PHONY: help
help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
