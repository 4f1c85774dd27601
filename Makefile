# make help lists the targets. .ci/run is what CI runs; the targets here are
# its steps, for people.
GO ?= go
FUZZTIME ?= 30

.DEFAULT_GOAL := help
.PHONY: help house sizes all test race soak lint fuzz conformance mutants mutants-official official-server official-proxy official-client official-client-proxy conform-client-proxy agreement interop transcripts tasks beside strangers logins bench bench-peers cover hosts proxies ci

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "%-21s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

all: ## format, lint, test, conformance: what to run before a commit
	.ci/run format lint test conformance

test: ## the tests of all modules, no network and nothing installed
	$(GO) test work

race: ## all tests under the race detector, with databases when they can be had
	RACE=all .ci/run services race

house: ## the shape of the code in figures, with bounds and targets
	$(GO) run ./internal/house

sizes: ## what mcpctl and a small client weigh, by module and package
	scripts/sizes.sh

soak: ## the long forms of tests that are short elsewhere (minutes)
	SOAK=all .ci/run services soak

lint: ## format, and golangci-lint at the pinned version with all that go vet knows
	.ci/run format lint

fuzz: ## every fuzz target for FUZZTIME seconds (30)
	FUZZ_PARTS=1 FUZZ_SECONDS=$(FUZZTIME) FUZZ_BUDGET=86400 .ci/run fuzz

conformance: ## the reference run: judge our own server
	.ci/run conformance

mutants: ## plant defects into the reference server and count what the suite notices (some minutes)
	scripts/mutants.sh

mutants-official: ## the same for the official suite (needs npm; most of an hour)
	scripts/mutants.sh official

official-server: ## the official conformance suite against the reference server (needs npm)
	scripts/official.sh server

official-proxy: ## the official conformance suite against the reference server behind our proxy (needs npm)
	scripts/official.sh proxy

official-client: ## the official conformance suite against our client (needs npm)
	scripts/official.sh client

official-client-proxy: ## the official conformance suite against a host behind our proxy (needs npm and Python)
	scripts/official.sh client-proxy

conform-client-proxy: ## our suite for clients against the same host, beside our client (needs Python; 8 minutes)
	scripts/conform-client-proxy.sh

agreement: ## where our suite and the official one differ on the same servers, and why (after official-server)
	scripts/agreement.sh

interop: ## mcpctl and the client against servers written by others, as a matrix (needs npm)
	.ci/run interop

transcripts: ## everything of server-everything from a pipe and a terminal, again (needs npm; 2 minutes)
	scripts/transcripts.sh write

tasks: ## ten everyday tasks with mcpctl and three other tools, one page (needs npm; 5 minutes; MAINSTAY_MCPTOOLS=its program)
	scripts/tasks.sh

beside: ## the client beside go-sdk's on servers in trouble, one table (needs npm; 3 minutes)
	scripts/beside.sh

hosts: ## hosts of others before mcpctl proxy, and the table in docs/generated (needs npm; 5 minutes)
	scripts/hosts.sh

strangers: ## how many natural defects of others' servers the suite finds (needs npm; half an hour; SET=setA, NAME=ts/)
	scripts/strangers.sh $(if $(SET),"$(SET)") $(if $(NAME),"$(NAME)")

logins: ## logins at nine authorization servers of others, and the table in docs/generated (needs npm; 2 minutes)
	scripts/logins.sh

proxies: ## mcpctl proxy beside proxies from npm, and the page in docs/generated (needs npm; 40 minutes; ROW=name, PEER=name)
	scripts/proxies.sh $(if $(ROW),--row "$(ROW)") $(if $(PEER),--peer "$(PEER)")

bench: ## all benchmarks, with allocations
	$(GO) test -run '^$$' -bench . -benchmem work

bench-peers: ## the client beside the raw floor, go-sdk and mcp-go, one table (about 20 minutes)
	$(MAKE) -C bench bench-peers

cover: ## coverage of the library packages, by function
	$(GO) test -coverprofile=coverage.out -coverpkg=./client/...,./jsonrpc/...,./mcp/...,./errors/...,./breaker/...,./toolcache/...,./pool/... work
	$(GO) tool cover -func=coverage.out

ci: ## everything CI checks
	.ci/run
