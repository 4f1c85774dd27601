#!/usr/bin/env bash
# The official MCP conformance suite against our reference server, at every
# revision the suite has server scenarios for: one process, one URL. Counted
# strictly (scripts/official-score.mjs), with no list of expected failures.
# Exit 0: every scenario passed; 1: one did not, or fewer than there should be
# ran; 75: the suite could not be installed, nothing is known.
# OFFICIAL_VERBOSE=1 says what each scenario that did not pass complained about.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SUITE=0.2.0-alpha.12
NODE_MAJOR=22 # the suite uses fs.globSync, which 20 has not
# Revision and the number of scenarios the pinned suite has for it: a suite that
# runs fewer has not judged the server.
EXPECTED=("2025-06-18 27" "2025-11-25 33" "2026-07-28 40")

work=$(mktemp -d)
cache=${MAINSTAY_OFFICIAL_CACHE:-${XDG_CACHE_HOME:-${HOME:-$work}/.cache}/mainstay-official/$SUITE}
server=

finish() {
	local rc=$?
	set +e
	if [[ -n $server ]]; then
		kill "$server" 2>/dev/null
		wait "$server" 2>/dev/null
	fi
	rm -rf "$work"
	exit "$rc"
}
trap finish EXIT

new_enough() { "$1" -e 'process.exit(require("fs").globSync ? 0 : 1)' >/dev/null 2>&1; }

npm_install() {
	timeout 300 npm install --prefix "$cache" --no-audit --no-fund --loglevel=silent "$@" >/dev/null 2>&1 </dev/null
}

# The packages stay in the cache: the next run needs no registry.
install_suite() {
	suite=$cache/node_modules/@modelcontextprotocol/conformance/dist/index.js
	node=node
	mkdir -p "$cache"
	if ! new_enough node; then
		node=$cache/node_modules/node/bin/node
		if [[ ! -x $node ]]; then
			command -v npm >/dev/null || return 1
			echo "installing Node $NODE_MAJOR"
			npm_install "node@$NODE_MAJOR" || return 1
		fi
		new_enough "$node" || return 1
	fi
	if [[ ! -f $suite ]]; then
		command -v npm >/dev/null || return 1
		echo "installing the official conformance suite $SUITE"
		npm_install --ignore-scripts "@modelcontextprotocol/conformance@$SUITE" || return 1
	fi
	[[ $("$node" "$suite" --version 2>/dev/null | tail -n 1) == "$SUITE" ]]
}

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

free_port() {
	local port
	for port in $(seq 33110 33160); do
		if ! listening "$port"; then
			echo "$port"
			return
		fi
	done
	return 1
}

start_server() {
	local port i
	go build -o "$work/refserver" ./cmd/refserver
	port=$(free_port)
	"$work/refserver" --http "127.0.0.1:$port" >"$work/refserver.log" 2>&1 </dev/null &
	server=$!
	for i in $(seq 100); do
		if listening "$port"; then
			url=http://127.0.0.1:$port/mcp
			return
		fi
		kill -0 "$server" 2>/dev/null || break
		sleep 0.2
	done
	echo "FAIL  the reference server did not start:"
	head -c 2000 "$work/refserver.log" | sed 's/^/      /'
	return 1
}

# judge REVISION TOTAL: runs the scenarios of one revision and prints one line.
judge() {
	local revision=$1 total=$2 out=$work/$1
	mkdir "$out"
	# The suite's own exit code says less than the score: it lets warnings pass.
	timeout -k 5 300 "$node" "$suite" server --url "$url" --suite all --spec-version "$revision" -o "$out/results" >"$out/log" 2>&1 </dev/null || true
	"$node" scripts/official-score.mjs "$revision" "$total" "$out/log" "$out/results"
}

if ! install_suite; then
	echo "################################################################"
	echo "The official suite could not be installed (no npm, or its"
	echo "registry is unreachable). NOTHING was judged by it."
	echo "################################################################"
	exit 75
fi
start_server
failed=0
for line in "${EXPECTED[@]}"; do
	read -r revision total <<<"$line"
	judge "$revision" "$total" || failed=1
done
if ((failed)) && [[ -s $work/refserver.log ]]; then
	echo "      the end of the server's log:"
	tail -n 5 "$work/refserver.log" | cut -c 1-300 | sed 's/^/      /'
fi
exit "$failed"
