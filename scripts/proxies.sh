#!/usr/bin/env bash
# mcpctl proxy beside proxies from npm, by one driver on one machine (interop/proxies): what
# crosses, what a call costs, and what becomes of calls, sessions and processes when a server,
# a host or a proxy dies. Writes docs/generated/proxies.md. About 40 minutes, half of them for
# the requirements. Linux only.
#   proxies.sh [--row NAME] [--peer NAME]   only this row, only this proxy; the page keeps
#                                           the other results of earlier runs, and is not
#                                           written until all rows have some
# Exit 0: all is played; 1: the page could not be written; 2: wrong usage; 75: not everything could be
# installed, nothing was played.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

MCP_REMOTE=0.15.1
SUPERGATEWAY=4.0.0
MCP_PROXY=6.7.19
NODE_MAJOR=20
. scripts/npm.sh

work=$(mktemp -d)
cache=${MAINSTAY_PROXIES_CACHE:-${XDG_CACHE_HOME:-${HOME:-$work}/.cache}/mainstay-proxies/$MCP_REMOTE-$SUPERGATEWAY-$MCP_PROXY}
mark=proxies-$$-$RANDOM$RANDOM

# Everything that the driver starts has the mark in its environment. It ends what it
# started; what is found here was left behind by a crash.
finish() {
	local rc=$? file
	set +e
	for file in $(grep -lsF "MAINSTAY_PROXIES=$mark" /proc/[0-9]*/environ); do
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
	echo "NOTHING was played."
	echo "################################################################"
	exit 75
}

row='' peer=''
while (($# > 0)); do
	case $1 in
	--row | --peer)
		if (($# < 2)); then
			echo "$1 needs a name" >&2
			exit 2
		fi
		printf -v "${1#--}" %s "$2"
		shift 2
		;;
	*)
		echo "proxies.sh [--row NAME] [--peer NAME], not $1" >&2
		exit 2
		;;
	esac
done

npm_packages "mcp-remote@$MCP_REMOTE" "supergateway@$SUPERGATEWAY" "mcp-proxy@$MCP_PROXY" ||
	missing "The packages could not be installed (no npm, or its registry is unreachable)."
find_node || missing "node $NODE_MAJOR is missing."
PATH="$(dirname "$node"):$PATH"
go build -o "$work/" ./cmd/mcpctl ./cmd/refserver
(cd interop && export GOWORK=off && go vet ./proxies && go test ./proxies && go build -o "$work/" ./proxies)
mkdir "$work/files"
MAINSTAY_PROXIES=$mark "$work/proxies" -mcpctl "$work/mcpctl" -refserver "$work/refserver" -packages "$cache" -work "$work/files" \
	-results "$cache/results.json" -page docs/generated/proxies.md -version "$(git rev-parse --short=12 HEAD)" \
	-row "$row" -peer "$peer" </dev/null
