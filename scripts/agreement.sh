#!/usr/bin/env bash
# Do both suites say the same of the rules both judge? Runs them on the reference
# server, on the everything server of go-sdk and on those of TypeScript that are
# running, and compares check by check (conformance/official.txt has which stand
# beside which).
#   agreement.sh          says where they differ
#   agreement.sh update   writes docs/generated/conformance-agreement.md besides
# TS_SDK and TS_EXAMPLE are URLs of running servers that speak the official
# fixtures: test/conformance of the TypeScript SDK, and the example of the official
# suite. No registry has either, so without the URL a server is left out; update
# wants both.
# Exit 0: every difference has an explanation; 1: one has none; 2: bad argument;
# 75: something could not be installed, nothing is known.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SUITE=0.2.0-alpha.12
GOSDK=v1.8.0
out=
case ${1:-} in
'') ;;
update)
	out=docs/generated/conformance-agreement.md
	if [[ -z ${TS_SDK:-} || -z ${TS_EXAMPLE:-} ]]; then
		echo "update needs TS_SDK and TS_EXAMPLE" >&2
		exit 2
	fi
	;;
*)
	echo "agreement.sh [update], not $1" >&2
	exit 2
	;;
esac
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

modules=${MAINSTAY_OFFICIAL_CACHE:-${XDG_CACHE_HOME:-${HOME:-$work}/.cache}/mainstay-official/$SUITE}/node_modules
node=$modules/node/bin/node
[[ -x $node ]] || node=node
suite=$modules/@modelcontextprotocol/conformance/dist/index.js
if [[ ! -f $suite ]]; then
	echo "the official suite is not installed: scripts/official.sh installs it" >&2
	exit 75
fi

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Below 32768, where Linux begins to take ports for outgoing connections.
free_port() {
	local port
	for port in $(seq "$1" "$(($1 + 20))"); do
		if ! listening "$port"; then
			echo "$port"
			return
		fi
	done
	return 1
}

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

go build -o "$work/" ./cmd/refserver ./conformance/families/internal/mutants/cmd/agreement
if ! GOBIN=$work go install "github.com/modelcontextprotocol/go-sdk/conformance/everything-server@$GOSDK" >"$work/install" 2>&1; then
	echo "go-sdk's everything server could not be installed" >&2
	exit 75
fi
own=$(free_port 23210) session=$(free_port 23240) stateless=$(free_port 23270)
serve "$own" "$work/refserver" --http "127.0.0.1:$own"
serve "$session" "$work/everything-server" "-http=127.0.0.1:$session" -stateless=false
serve "$stateless" "$work/everything-server" "-http=127.0.0.1:$stateless" -stateless
old=2025-11-25 new=2026-07-28
subjects=(
	refserver $old "http://127.0.0.1:$own/mcp" refserver $new "http://127.0.0.1:$own/mcp"
	go-sdk $old "http://127.0.0.1:$session/" go-sdk $new "http://127.0.0.1:$stateless/"
)
if [[ -n ${TS_SDK:-} ]]; then subjects+=(TypeScript-SDK $old "$TS_SDK" TypeScript-SDK $new "$TS_SDK"); fi
if [[ -n ${TS_EXAMPLE:-} ]]; then subjects+=(TypeScript-example $old "$TS_EXAMPLE" TypeScript-example $new "$TS_EXAMPLE"); fi
rc=0
"$work/agreement" -node "$node" -suite "$suite" -out "$out" "${subjects[@]}" || rc=$?
exit "$rc"
