#!/usr/bin/env bash
# How many natural defects of servers written by others our suite finds: interop/strangers judges
# each server of a set without a defect, and then with each of them (about a minute for each
# server, and some seconds for each defect).
#   strangers.sh [official] [SET [NAME]]   SET is setA, setB or setC (all without it); only names that
# contain NAME. official: the official suite judges instead (scripts/official.sh installs it); it
# speaks HTTP only.
# MAINSTAY_STRANGERS_PYTHON is a Python with the package mcp; without one the fastmcp servers are
# not judged. MAINSTAY_STRANGERS_KEEP is a folder for the reports. Exit 0: judged; 1: something could not be; 75: not everything could be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

TYPESCRIPT=1.32.2 # @modelcontextprotocol/sdk
NODE_MAJOR=20
cache=${XDG_CACHE_HOME:-$HOME/.cache}/mainstay-strangers/$TYPESCRIPT
# shellcheck source=scripts/npm.sh
source scripts/npm.sh

judge=()
if [[ ${1:-} == official ]]; then
	shift
	SUITE=0.2.0-alpha.12
	modules=${MAINSTAY_OFFICIAL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mainstay-official/$SUITE}/node_modules
	suite=$modules/@modelcontextprotocol/conformance/dist/index.js
	if [[ ! -f $suite ]]; then
		echo "the official suite is not installed: run scripts/official.sh first" >&2
		exit 75
	fi
	judge=(-official "$suite" -official-node "$modules/node/bin/node")
	[[ -x $modules/node/bin/node ]] || judge=(-official "$suite")
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rc=0
find_node && npm_packages "@modelcontextprotocol/sdk@$TYPESCRIPT" || {
	echo "The TypeScript SDK could not be installed: the servers in ts are not judged."
	rc=75
}
python=${MAINSTAY_STRANGERS_PYTHON:-python3}
"$python" -c 'import mcp.server.fastmcp' 2>/dev/null || {
	echo "$python has no package mcp: the servers in fastmcp are not judged."
	rc=75
}
go build -o "$work/mcpctl" ./cmd/mcpctl
(cd interop && GOWORK=off go build -o "$work/strangers" ./strangers)

for set in ${1:-setA setB setC}; do
	echo "## $set"
	mkdir -p "$work/$set/bin"
	cp -r "interop/strangers/testdata/$set/." "$work/$set/"
	for server in goplain gosdk; do
		(cd "$work/$set/$server" && GOWORK=off go build -o "$work/$set/bin/$server" .)
	done
	mkdir -p "$work/$set/ts"
	ln -sfn "$cache/node_modules" "$work/$set/ts/node_modules"
	code=0
	"$work/strangers" -mcpctl "$work/mcpctl" -set "$work/$set" -bin "$work/$set/bin" -node "${node:-node}" -python "$python" -keep "${MAINSTAY_STRANGERS_KEEP:-}" "${judge[@]}" -only "${2:-}" || code=$?
	((code == 0)) || rc=1
done
exit "$rc"
