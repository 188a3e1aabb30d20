# Everything needs Go alone, but for the race detector, which needs a C compiler.

VERSION    := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GO         ?= go
TOOLS      := $(CURDIR)/bin/tools
LDFLAGS    := -s -w -X main.version=$(VERSION)
GOFUMPT    := v0.12.0
GOLANGCI   := v2.15.0
SYSTEMS    := linux darwin windows

.PHONY: build run test check fuzz bench eval clean lint-tools

build: ## the program, static and stripped: bin/hob
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o bin/ ./cmd/hob

run: build ## start Hob if it does not run, and talk with it
	@bin/hob chat

# -race needs cgo, and cgo a C compiler.
RACE := $(shell command -v $$($(GO) env CC) >/dev/null 2>&1 && echo -race)
# SQLite's C, translated to Go, is not what is looked at: watching each of its
# pointers takes six times as long as all that is ours.
WATCHED := -gcflags='modernc.org/...=-race=false -d=checkptr=0'

# The adversary's thousands of attempts take eight times as long with the race
# detector, and the code they go through is raced by the other tests. The daemon's
# scenarios are raced in one way each of asking a model, and then played in all.
# Weeks and years of virtual time go without: they now and then end the race
# detector itself (golang/go#78156).
UNRACED := ./cmd/hob/internal/adversary ./cmd/hob/internal/simulate
test: ## every test, shuffled, with the race detector where there is a C compiler; Rego's rules, which only -tags rego builds
	@test -n "$(RACE)" || echo "No C compiler: testing without the race detector."
	$(if $(RACE),CGO_ENABLED=1) $(GO) test $(RACE) $(if $(RACE),$(WATCHED)) -shuffle=on -timeout 25m $$($(GO) list ./... | grep -v -e /internal/adversary -e /internal/simulate)
	$(GO) test -shuffle=on -timeout 15m $(UNRACED)
	$(if $(RACE),$(GO) test -shuffle=on -timeout 15m -run 'TestScenarios|TestVirtualYear' ./cmd/hob/internal/daemon ./watchers)
	$(GO) vet -tags rego ./autonomy/rules && $(GO) test -tags rego -shuffle=on ./autonomy/rules

check: lint-tools ## formatting, vet, linters (staticcheck among them) and builds for three systems
	@out=$$($(TOOLS)/gofumpt -l .); test -z "$$out" || { echo "not formatted (gofumpt -w):"; echo "$$out"; exit 1; }
	@for os in $(SYSTEMS); do echo "build and vet for $$os"; \
		GOOS=$$os CGO_ENABLED=0 $(GO) build -o /dev/null ./... && GOOS=$$os CGO_ENABLED=0 $(GO) vet ./... || exit 1; done
	$(TOOLS)/golangci-lint run ./...
	$(GO) mod verify

FUZZTIME ?= 10m
FUZZ     ?= .

# One after the other, since each takes every core. FUZZ selects: make fuzz FUZZ='command|FuzzURL'
fuzz: ## every fuzz target for FUZZTIME; what it finds stays in testdata/fuzz
	@grep -rnoE --include='*_test.go' 'func Fuzz[A-Za-z0-9_]+' . | sed -E 's|/[^/]*_test.go:[0-9]+:func | |' | grep -E '$(FUZZ)' | while read -r dir name; do \
		echo "$$dir $$name"; $(GO) test "$$dir" -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) || exit 1; done

bench: build ## measure the built program
	bin/hob bench

# The collections may not be shipped: they are measured where they lie.
HOB_TEST_DATA ?= $(CURDIR)/../shared/data
eval: build ## how well the memory finds what answers questions about conversations
	bin/hob eval retrieval $(wildcard $(HOB_TEST_DATA)/locomo/locomo-*)

lint-tools: $(TOOLS)/gofumpt-$(GOFUMPT) $(TOOLS)/golangci-lint-$(GOLANGCI)

$(TOOLS)/gofumpt-$(GOFUMPT):
	GOBIN=$(TOOLS) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT) && touch $@
$(TOOLS)/golangci-lint-$(GOLANGCI):
	GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI) && touch $@

clean:
	rm -rf bin
