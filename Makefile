# Everything needs Go alone, but for the race detector, which needs a C compiler.

VERSION    := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GO         ?= go
TOOLS      := $(CURDIR)/bin/tools
LDFLAGS    := -s -w -X main.version=$(VERSION)
# The linker drops the debugging information. Compiling without it takes a fifth less time.
export GOFLAGS := $(strip $(GOFLAGS) -gcflags=all=-dwarf=false)
# Inlining makes these packages 5 MB larger in all. None of them computes for long.
SMALL      := net/http math/big crypto/tls crypto/x509 encoding/asn1 encoding/gob encoding/xml maragu.dev/gomponents charm.land filippo.io go.yaml.in mvdan.cc golang.org/x/net $(addprefix github.com/,a2aproject $(addprefix blevesearch/zapx/v,11 12 13 14 15 16) cedar-policy charmbracelet coder emersion \
	fsnotify go-json-experiment godbus google gorilla jackc jezek json-iterator ledongthuc mmcdole modelcontextprotocol pelletier robfig segmentio spf13 teambition yuin) \
	$(addprefix hob/,cmd tools channels templates watchers knowledge/ingest knowledge/transfer platform/host platform/net platform/pim platform/text/dateparse \
	$(addprefix autonomy/,account agents api approvals commands commit config delayed delivery dispatch explain guard hooks intake llm/acp llm/anthropic llm/gemini llm/openai mind notify payload replay service session skills \
	trace turn undo usage))
GCFLAGS    := $(patsubst %,-gcflags=%/...=-l,$(SMALL))
GOFUMPT    := v0.12.0
GOLANGCI   := v2.15.0
NFPM       := v2.44.2
SYSTEMS    := linux darwin windows

.PHONY: build run smoke test test-raced test-unraced test-virtual test-postgres test-long check fuzz bench bench-compare fleet-test eval dist wine clean lint-tools

build: ## the program, static and stripped: bin/hob
	CGO_ENABLED=0 $(GO) build -trimpath $(GCFLAGS) -ldflags "$(LDFLAGS)" -o bin/ ./cmd/hob

run: build ## start Hob if it does not run, and talk with it
	@bin/hob chat

smoke: build ## a short run of the program in a home of its own; the outputs are in smoke-logs
	@sh .ci/smoke

# -race needs cgo, and cgo a C compiler.
RACE := $(shell command -v $$($(GO) env CC) >/dev/null 2>&1 && echo -race)
# SQLite's C, translated to Go, is not what is looked at: watching each of its
# pointers takes six times as long as all that is ours.
WATCHED := -gcflags='modernc.org/...=-race=false -d=checkptr=0 -dwarf=false'

# These packages are tested without the race detector. The attempts of the adversary
# take eight times as long with it, and the code under them is raced by other tests.
# Weeks and years of virtual time can crash the detector itself (golang/go#78156).
# The commands, their bad inputs and the kills start hundreds of processes whose code is raced
# in its own packages; `make test-long` races them as well. The sentences of the built-in brain are
# calculated on one goroutine each; turns that use it are raced in app. The pages that a browser
# shows are raced in channels/web. Packages without goroutines (.ci/sequential) have no races.
# A test without the detector runs without cgo, so that it shares the compiled
# packages of the linters and the program. -s -w: linking takes a third less time. Databases are not
# flushed to the disk, which takes a fifth less processor time; the programs that are killed flush theirs.
# The longest come first.
UNRACED := $(patsubst %,./cmd/hob/internal/%,redteam crash badinput fleet) ./cmd/hob $(patsubst %,./cmd/hob/internal/%,page repo simulate evaluate) ./autonomy/llm/offline
# Many tests wait for servers, timeouts and processes: the three parts of `make test` run together, each
# with as many packages as cores and twice as many parallel tests, so the cores are busy meanwhile.
# GOGC: compilers and tests collect less often, which takes a tenth less processor time.
CORES    := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 4)
PARALLEL := -p $(CORES) -parallel $(shell expr $(CORES) \* 2)
LINKED  := -ldflags='-s -w -X hob/platform/store.synchronous=OFF'
PLAIN   := GOGC=400 CGO_ENABLED=0 $(GO) test $(PARALLEL) -vet=off $(LINKED) -shuffle=on -timeout 15m
RACED   := GOGC=400 CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 $(GO) test $(PARALLEL) $(RACE) $(WATCHED) -vet=off $(LINKED) -shuffle=on -timeout 25m
# A program with the race detector sleeps for a second before it exits unless
# atexit_sleep_ms says otherwise. `make check` runs vet.
test: ## every test, shuffled, with the race detector where there is a C compiler; one of each kind of long test
	@test -n "$(RACE)" || echo "No C compiler: testing without the race detector."
	@$(MAKE) --no-print-directory -k -j3 test-raced test-unraced test-virtual

test-raced: # the longest comes first
	$(if $(RACE),$(RACED),$(PLAIN)) ./cmd/hob/internal/app $$({ sh .ci/sequential; $(GO) list $(UNRACED); $(GO) list ./...; } | sort | uniq -u)

test-unraced:
	$(PLAIN) $(UNRACED) $$({ sh .ci/sequential; $(GO) list $(UNRACED) $(UNRACED); } | sort | uniq -u)

test-virtual: test-postgres
	$(if $(RACE),$(PLAIN) -p 1 -run 'TestScenarios|TestFaults|TestGoldenRequests|TestMessageFlow|TestPromptCost|TestVirtualYear' ./cmd/hob/internal/app ./watchers)
	$(PLAIN) -tags rego ./autonomy/guard/rules

# The tables with the richest SQL; a test in app compiles all other statements. All packages: HOB_TEST_STORE=postgres go test -short
# ./autonomy/... ./channels/... ./cmd/hob/internal/app ./cmd/hob/internal/redteam ./knowledge/... ./tools/... ./watchers/...
test-postgres:
	$(if $(shell command -v initdb || ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null),HOB_TEST_STORE=postgres $(PLAIN) -short ./knowledge/graph $(patsubst %,./autonomy/%,bus dispatch undo usage guard/pairing),@echo "No PostgreSQL: its tests are skipped.")

test-long: ## the whole adversary, 500 kills, years, long fuzzing; writes docs/reports (PARTS="crash fuzz" chooses)
	@sh .ci/long

check: lint-tools ## rules for commits, language, formatting, vet, linters (staticcheck among them) and builds for three systems
	@sh .ci/commits
	CGO_ENABLED=0 $(GO) test -run 'TestLanguageFigures|TestHouseFigures' ./cmd/hob/internal/repo
	@out=$$($(TOOLS)/gofumpt -l .); test -z "$$out" || { echo "not formatted (gofumpt -w):"; echo "$$out"; exit 1; }
	@for os in $(SYSTEMS); do echo "build and vet for $$os"; \
		GOOS=$$os CGO_ENABLED=0 $(GO) build -o /dev/null ./... && GOOS=$$os CGO_ENABLED=0 $(GO) vet ./... || exit 1; done
	CGO_ENABLED=0 $(GO) vet -tags rego ./autonomy/guard/rules
	@CGO_ENABLED=0 $(GO) build -ldflags=-dumpdep -o bin/size ./cmd/hob 2>bin/size.txt; kept=$$(grep -m1 'ReflectMethod>' bin/size.txt); rm -f bin/size bin/size.txt; \
		test -z "$$kept" || { echo "something calls methods by name, so that the linker keeps all of them and Hob is 8 MB larger (platform/text/minitmpl): $$kept"; exit 1; }
	CGO_ENABLED=0 $(TOOLS)/golangci-lint run ./...
	$(GO) mod verify

FUZZTIME ?= 10m
FUZZ     ?= .

# One after the other, since each takes every core. FUZZ selects: make fuzz FUZZ='command|FuzzURL'
fuzz: ## every fuzz target for FUZZTIME; what it finds stays in testdata/fuzz
	@grep -rnoE --include='*_test.go' 'func Fuzz[A-Za-z0-9_]+' . | sed -E 's|/[^/]*_test.go:[0-9]+:func | |' | grep -E '$(FUZZ)' | while read -r dir name; do \
		echo "$$dir $$name"; $(GO) test "$$dir" -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) || exit 1; done

bench: build ## measure the built program
	bin/hob bench

BASE   ?= HEAD
ROUNDS ?= 5
fleet-test: ## three daemons on one PostgreSQL under random faults, and their figures (MESSAGES, SESSIONS, FAULTS, SEED); writes docs/reports/fleet.txt
	$(GO) test -count=$(ROUNDS) -run 'TestFleet|TestMember' ./autonomy/bus ./platform/store/lease
	@PARTS=fleet sh .ci/long

bench-compare: build ## measure the built program against the version BASE, in turns (ROUNDS, ARGS="--only turns")
	@test -z "$$(git status --porcelain --untracked-files=no)" && test "$$(git rev-parse $(BASE))" = "$$(git rev-parse HEAD)" && { echo "BASE is this version; set one: make bench-compare BASE=v0.1.0"; exit 1; } || true
	rm -rf bin/base && git worktree prune && git worktree add --detach -q bin/base $(BASE)
	cd bin/base && CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o ../hob-base ./cmd/hob; built=$$?; cd ../..; git worktree remove --force bin/base; exit $$built
	$(GO) run ./cmd/hob/internal/benchcompare -base $(CURDIR)/bin/hob-base -head $(CURDIR)/bin/hob -rounds $(ROUNDS) -- $(ARGS)

# The collections may not be shipped: they are measured where they lie.
HOB_TEST_DATA ?= $(CURDIR)/../shared/data
eval: build ## how well the memory finds what answers questions about conversations
	bin/hob eval retrieval $(wildcard $(HOB_TEST_DATA)/locomo/locomo-*)

# RELEASE names where `hob update --check` asks and whose word it believes:
# make dist RELEASE='-X main.releaseURL=https://… -X main.releaseKey=RW…'
RELEASE ?=
dist: build $(TOOLS)/nfpm-$(NFPM) ## what a release consists of, as far as Linux can make it: bin/dist (docs/packaging.md)
	rm -rf bin/dist
	$(GO) run ./cmd/hob/internal/dist -version "$(VERSION)" -gcflags "$(GCFLAGS)" -ldflags "$(LDFLAGS) $(RELEASE)" -epoch "$$(git log -1 --format=%ct)" -nfpm $(TOOLS)/nfpm -out bin/dist

wine: ## run the program for Windows under Wine: start, ask, stop, kill
	$(GO) test -count=1 -v ./cmd/hob/internal/wine

lint-tools: $(TOOLS)/gofumpt-$(GOFUMPT) $(TOOLS)/golangci-lint-$(GOLANGCI)

$(TOOLS)/gofumpt-$(GOFUMPT):
	GOBIN=$(TOOLS) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT) && touch $@
$(TOOLS)/golangci-lint-$(GOLANGCI):
	GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI) && touch $@
$(TOOLS)/nfpm-$(NFPM):
	GOBIN=$(TOOLS) $(GO) install github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM) && touch $@

clean:
	rm -rf bin
