#!/usr/bin/env bash
# Do both suites say the same of the rules both look at? Runs them on the
# reference server, the everything server of go-sdk and, where it can be had, that
# of TypeScript, and writes docs/conformance-agreement.md.
# Exit 0: every difference has an explanation; 1: one has none; 75: something
# could not be installed.
# TS_EVERYTHING is the URL of a running TypeScript everything server that speaks
# the official suite's names, such as the suite's own example; without it that
# row is left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SUITE=0.2.0-alpha.12
GOSDK=v1.8.0
work=$(mktemp -d)
servers=()
finish() {
	local rc=$? pid
	set +e
	for pid in "${servers[@]}"; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	rm -rf "$work"
	exit "$rc"
}
trap finish EXIT

modules=${MAINSTAY_OFFICIAL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mainstay-official/$SUITE}/node_modules
node=$modules/node/bin/node
[[ -x $node ]] || node=node
suite=$modules/@modelcontextprotocol/conformance/dist/index.js
if [[ ! -f $suite ]]; then
	echo "the official suite is not installed: run scripts/official.sh first" >&2
	exit 75
fi

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# serve PORT COMMAND…: starts a server and waits for its port.
serve() {
	local port=$1 i
	shift
	"$@" >"$work/log.$port" 2>&1 </dev/null &
	servers+=($!)
	for i in $(seq 100); do
		if listening "$port"; then return; fi
		sleep 0.2
	done
	echo "$1 did not start on port $port" >&2
	return 1
}

go build -o "$work/" ./cmd/refserver ./internal/servermutants/cmd/agreement
if ! GOBIN=$work go install "github.com/modelcontextprotocol/go-sdk/conformance/everything-server@$GOSDK" >"$work/install" 2>&1; then
	echo "go-sdk's everything server could not be installed" >&2
	exit 75
fi
serve 23210 "$work/refserver" --http 127.0.0.1:23210
serve 23211 "$work/everything-server" -http=127.0.0.1:23211 -stateless=false
serve 23212 "$work/everything-server" -http=127.0.0.1:23212 -stateless
subjects=(
	refserver 2025-11-25 http://127.0.0.1:23210/mcp refserver 2026-07-28 http://127.0.0.1:23210/mcp
	go-sdk 2025-11-25 http://127.0.0.1:23211/ go-sdk 2026-07-28 http://127.0.0.1:23212/
)
if [[ -n ${TS_EVERYTHING:-} ]]; then
	subjects+=(TypeScript 2025-11-25 "$TS_EVERYTHING" TypeScript 2026-07-28 "$TS_EVERYTHING")
fi
"$work/agreement" -node "$node" -suite "$suite" -out docs/conformance-agreement.md "${subjects[@]}"
