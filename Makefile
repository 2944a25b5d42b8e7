# Everything a developer needs. `make check` is for while one works, `make test` is what CI runs; see .ci/run for the
# packages that it wants.

GO      ?= go
BIN     := bin/strobe
# Functions begin at 16 bytes as gcc has them: 230 KB less than the linker's 32.
LDFLAGS := -s -w -funcalign=16
# Where nothing waits for the code, small functions are not copied to where they are called: 1.4 MB less.
COLD    := bucket capture checkout cli collector/js collector/jvm collector/python corefile crash daemon dap doctor \
  emulate exchange export expr fleet follow goroutine group hunt inspect install iochan locks mcp midi natvis page \
  report scenario service session settings snapshot sound/pulse stuck testadapter testrun testsetup tracediff ui/... \
  waits websocket
OTHERS  := github.com/spf13/... github.com/google/jsonschema-go/... github.com/modelcontextprotocol/... \
  github.com/google/go-dap github.com/pelletier/... go.yaml.in/... net/... crypto/... vendor/... mime/... text/... \
  encoding/json encoding/gob encoding/xml encoding/asn1 encoding/csv encoding/pem log/... image/... html debug/... \
  database/sql/... fmt math/big github.com/ianlancetaylor/... github.com/klauspost/compress/zstd/... \
  github.com/segmentio/... github.com/yosida95/...
GCFLAGS := $(COLD:%=-gcflags=github.com/strobe-debug/strobe/internal/%=-l) $(OTHERS:%=-gcflags=%=-l)
# A tree that git does not trust (another owner, an unpacked archive) still builds.
VCS     := $(shell git rev-parse HEAD >/dev/null 2>&1 && echo auto || echo false)
TIMEOUT ?= 45m
FUZZTIME ?= 10s
SOAKTIME ?= 10m
TURNS    ?= 5
# Build tags: strobe_examples adds the runtimes of testdata/runtimes, for tests.
TAGS     ?=

export CGO_ENABLED := 0

.PHONY: build check test vet demo hunts bench bench-programs release editors generate soak fuzz ports docs clean help

help:
	@echo "build     bin/strobe, one static binary"
	@echo "check     build, vet and the tests that run no real programs, within a minute"
	@echo "test      build, vet and every test in the form that CI runs"
	@echo "demo      find a real bug the way an LLM would, over MCP"
	@echo "bench     cost in the target against uftrace, gdb and lldb; scale, ingest, latency, crashes, runs of tests"
	@echo "bench-programs  whole programs from registries, against uftrace, TURNS=$(TURNS); its table goes into docs/performance.md"
	@echo "hunts     bugs in programs from registries, fetched and built, found by questions alone; see hunts/README.md"
	@echo "release   out/release: binaries, packages for Debian and npm, checksums, what they are made of"
	@echo "editors   the extension in a real editor, its pictures in editors/vscode/shots"
	@echo "generate  agent objects, headers and docs from their sources"
	@echo "soak      every test in its long form, SOAKTIME=$(SOAKTIME) for each that has no end of its own"
	@echo "fuzz      every fuzz test, FUZZTIME=$(FUZZTIME) each"
	@echo "ports     check the types for the platforms that only query"
	@echo "clean     what the targets above made"

build:
	@echo "$(GO) build -o $(BIN) ./cmd/strobe"
	@$(GO) build -trimpath -buildvcs=$(VCS) -tags "$(TAGS)" $(GCFLAGS) -ldflags "$(LDFLAGS)" -o $(BIN) ./cmd/strobe

vet:
	$(GO) vet ./...

check: build vet
	$(GO) test -short ./...

test: build vet
	STROBE_BIN=$(CURDIR)/$(BIN) $(GO) test -vet=off $(TESTFLAGS) -timeout $(TIMEOUT) ./...

demo: build
	@./$(BIN) demo

bench: build
	STROBE_BIN=$(CURDIR)/$(BIN) bench/run.sh

bench-programs: build
	STROBE_BIN=$(CURDIR)/$(BIN) bench/run.sh -programs -turns $(TURNS) -write docs/performance.md

hunts: build
	STROBE_BIN=$(CURDIR)/$(BIN) $(GO) run ./hunts $(ARGS)

release:
	$(GO) run ./release -gcflags "$(GCFLAGS)" -ldflags "$(LDFLAGS)"

editors: build
	$(MAKE) -C editors/vscode/test

generate:
	$(GO) generate ./...
	$(GO) test -run 'Generated' . -update

docs:
	$(GO) test -run 'Generated' . -update

soak: build
	STROBE_BIN=$(CURDIR)/$(BIN) STROBE_SOAK=$(SOAKTIME) $(GO) test -p 1 -timeout 24h -count 1 ./...

# go test runs one fuzz test of one package at a time, so they are listed and run in turn.
fuzz:
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg 2>/dev/null | grep '^Fuzz'); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; \
	done

ports:
	@$(GO) run ./internal/strobetest/ports linux/arm64 darwin/arm64 windows/amd64

clean:
	rm -rf bin out bench/out uftrace.data uftrace.data.old
	$(GO) clean -testcache
