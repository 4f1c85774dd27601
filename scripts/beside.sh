#!/usr/bin/env bash
# The same trouble for our client and for go-sdk's, one beside the other: a server that
# throws, one that is restarted every 2 s, a cold npx on a busy machine, a program that is
# mute for 75 s, pings in the stateless era (interop/beside). About 140 s, most of it spent
# waiting for the mute program.
#   beside.sh [NAME]   only the scenarios whose name contains NAME
# Exit 0: mainstay was nowhere worse; 1: it was; 2: wrong usage; 75: not everything could be
# installed, what is printed is all that is known.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

TYPESCRIPT=1.32.2    # @modelcontextprotocol/sdk
EVERYTHING=2026.8.31 # @modelcontextprotocol/server-everything, which npx downloads

work=$(mktemp -d)
cache=${MAINSTAY_BESIDE_CACHE:-${XDG_CACHE_HOME:-${HOME:-$work}/.cache}/mainstay-beside/$TYPESCRIPT}
mark=beside-$$-$RANDOM$RANDOM

# Everything that the program starts has the mark in its environment. It ends its servers
# itself; what is found here was left behind by a crash, or by npx.
finish() {
	local rc=$? file
	set +e
	for file in $(grep -lsF "MAINSTAY_BESIDE=$mark" /proc/[0-9]*/environ); do
		file=${file#/proc/}
		kill -KILL "${file%/environ}" 2>/dev/null
	done
	rm -rf "$work"
	exit "$rc"
}
trap finish EXIT

missing() {
	echo "################################################################"
	echo "$1"
	echo "NOTHING but what is said above was played."
	echo "################################################################"
	exit 75
}

# The package stays in the cache: the next run needs a registry for npx alone.
install_typescript() {
	command -v node >/dev/null && command -v npx >/dev/null || return 1
	if [[ ! -f $cache/node_modules/@modelcontextprotocol/sdk/package.json ]]; then
		echo "installing @modelcontextprotocol/sdk@$TYPESCRIPT"
		mkdir -p "$cache"
		timeout 300 npm install --prefix "$cache" --ignore-scripts --no-audit --no-fund --loglevel=silent \
			"@modelcontextprotocol/sdk@$TYPESCRIPT" >/dev/null 2>&1 </dev/null || return 1
	fi
	cp interop/beside/thrower.mjs "$work/"
	ln -s "$cache/node_modules" "$work/node_modules"
}

if (($# > 1)); then
	echo "beside.sh [NAME]" >&2
	exit 2
fi
(cd interop && GOWORK=off go mod download) >/dev/null 2>&1 || missing "go-sdk could not be had from the Go module proxy."
install_typescript || missing "The TypeScript SDK could not be installed (no npm, or its registry is unreachable)."
(cd interop && export GOWORK=off && go vet ./beside && go test ./beside &&
	go build -o "$work/" ./beside github.com/modelcontextprotocol/go-sdk/examples/server/everything)
rc=0
MAINSTAY_BESIDE=$mark "$work/beside" -thrower "$work/thrower.mjs" -everything "$work/everything" \
	-npx "@modelcontextprotocol/server-everything@$EVERYTHING" -work "$work" -only "${1:-}" </dev/null || rc=$?
((rc != 75)) || missing "What neither client reached is NOT SHOWN above: without a registry npx has nothing to run."
exit "$rc"
