#!/usr/bin/env bash
# Hosts that others wrote, unchanged, before mcpctl proxy (interop/hosts): clients of go-sdk,
# mcp-go and both TypeScript SDKs, the CLI of the MCP Inspector, and an agent of Google's ADK
# for Go with a tool that pays. Writes docs/generated/hosts.md if nothing failed. About 5 minutes;
# the first run installs 300 MB of npm packages and compiles ADK.
#   hosts.sh [NAME]    only the rows whose name contains NAME, such as "TypeScript v1, stdio"
#   hosts.sh --short   one server for each host, and no ADK (a minute)
# Exit 0: nothing failed because of the proxy; 1: something did; 2: wrong usage; 75: not
# everything could be installed, what is printed is all that is known.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

NODE_MAJOR=22 # the Inspector supports no older one
PACKAGES=(
	@modelcontextprotocol/sdk@1.32.2
	@modelcontextprotocol/client@2.4.0
	@modelcontextprotocol/inspector@2.12.0
	@modelcontextprotocol/server-everything@2026.8.31
)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cache=${MAINSTAY_HOSTS_CACHE:-${XDG_CACHE_HOME:-${HOME:-$work}/.cache}/mainstay-hosts/${PACKAGES[0]##*@}}
source scripts/npm.sh

missing() {
	echo "################################################################"
	echo "$1"
	echo "NOTHING but what is said above was played."
	echo "################################################################"
	exit 75
}

if (($# > 1)); then
	echo "hosts.sh [NAME | --short]" >&2
	exit 2
fi
only=${1:-} short=
if [[ $only == --short ]]; then only= short=-short; fi
modules=(interop)
[[ -n ${1:-} ]] || modules+=(interop/hosts/adk)
npm_packages "${PACKAGES[@]}" && find_node || missing "The npm packages could not be installed (no npm, or its registry is unreachable)."
for module in "${modules[@]}"; do
	(cd "$module" && GOWORK=off go mod download) >/dev/null 2>&1 || missing "The modules of $module could not be had from the Go module proxy."
done
mkdir "$work/bin" "$work/modules" "$work/logs" "$work/payments"
cp interop/hosts/*.mjs "$work/modules/"
ln -s "$cache/node_modules" "$work/modules/node_modules"
go build -o "$work/bin/" ./cmd/mcpctl ./cmd/refserver
(cd interop && export GOWORK=off && go vet ./hosts/... && go test ./hosts && go build -o "$work/bin/" ./hosts ./hosts/gosdk ./hosts/mcpgo)

# version FOLDER MODULE: the one in its go.mod.
version() { (cd "$1" && GOWORK=off go list -m -f '{{.Version}}' "$2"); }

with="mcpctl at $(git rev-parse --short=12 HEAD), node $("$node" -p process.versions.node)"
for package in "${PACKAGES[@]}"; do with+=", \`${package%@*}\` ${package##*@}"; done
for module in modelcontextprotocol/go-sdk mark3labs/mcp-go; do
	with+=", \`$module\` $(version interop "github.com/$module")"
done
[[ -n ${1:-} ]] || with+=", \`google.golang.org/adk/v2\` $(version interop/hosts/adk google.golang.org/adk/v2)"
rc=0
"$work/bin/hosts" -bin "$work/bin" -node "$node" -modules "$work/modules" -work "$work/logs" -with "$with" \
	-page "$work/page.md" -only "$only" $short </dev/null || rc=$?
if (($# == 0)); then
	(cd interop/hosts/adk && export GOWORK=off && go vet . && go build -o "$work/bin/" .)
	echo
	page=()
	((rc != 0)) || page=(-page "$work/page.md")
	"$work/bin/adk" -mcpctl "$work/bin/mcpctl" -work "$work/payments" "${page[@]}" </dev/null || rc=$?
	if ((rc == 0)); then cp "$work/page.md" docs/generated/hosts.md; fi
fi
exit "$rc"
