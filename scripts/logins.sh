#!/usr/bin/env bash
# Logins at authorization servers that others wrote, in nine configurations: login, call,
# expiry, rotation, revocation, step-up and logout, with mcpctl, with a program of 45 lines
# (interop/logins/program) and with go-sdk's client beside them. The person is played, no
# browser is needed. Writes docs/generated/logins.md. About 2 minutes.
#   logins.sh [NAME]   only the servers whose name contains NAME; writes no table
# Exit 0: all is well with mainstay where the server can do it; 1: something is not; 2:
# wrong usage; 75: not everything could be installed or started, what is printed is all
# that is known.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

TYPESCRIPT=1.32.2 # @modelcontextprotocol/sdk
PROVIDER=9.13.3   # oidc-provider
BETTER_AUTH=1.7.5 # and its plugin oauth-provider, with the peers that this one wants
NODE_MAJOR=22
. scripts/npm.sh

work=$(mktemp -d)
cache=${MAINSTAY_LOGINS_CACHE:-${XDG_CACHE_HOME:-${HOME:-$work}/.cache}/mainstay-logins/$TYPESCRIPT-$PROVIDER-$BETTER_AUTH}
mark=logins-$$-$RANDOM$RANDOM

# Everything that the play starts has the mark in its environment. It ends its servers
# itself; what is found here was left behind by a crash.
finish() {
	local rc=$? file
	set +e
	for file in $(grep -lsF "MAINSTAY_LOGINS=$mark" /proc/[0-9]*/environ); do
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

# A registry is needed once: the packages stay in the cache.
install_packages() {
	npm_packages "@modelcontextprotocol/sdk@$TYPESCRIPT" "oidc-provider@$PROVIDER" \
		"better-auth@$BETTER_AUTH" "@better-auth/oauth-provider@$BETTER_AUTH" "@better-auth/core@$BETTER_AUTH" \
		@better-auth/utils@0.4.2 @better-fetch/fetch@1.3.2 better-call@1.4.0 || return 1
	find_node || return 1
	mkdir "$work/mjs"
	cp scripts/logins/*.mjs "$work/mjs/"
	ln -s "$cache/node_modules" "$work/mjs/node_modules"
}

# version MODULE: the one in interop/logins/go.mod.
version() { (cd interop/logins && GOWORK=off go list -m -f '{{.Version}}' "$1"); }

if (($# > 1)); then
	echo "logins.sh [NAME]" >&2
	exit 2
fi
(cd interop/logins && GOWORK=off go mod download) >/dev/null 2>&1 || missing "The Go modules could not be had from the module proxy."
install_packages || missing "The packages could not be installed (no npm, or its registry is unreachable)."
mkdir "$work/bin"
go build -o "$work/bin/" ./cmd/mcpctl ./cmd/refserver
(cd interop/logins && export GOWORK=off && go vet ./... && go test ./... && go build -o "$work/bin/" . ./foreign ./program ./gosdk)
with="\`@modelcontextprotocol/sdk\` $TYPESCRIPT, \`better-auth\` $BETTER_AUTH, \`oidc-provider\` $PROVIDER"
for module in github.com/zitadel/oidc/v3 github.com/ory/fosite github.com/go-oauth2/oauth2/v4 github.com/modelcontextprotocol/go-sdk; do
	with+=", \`${module#github.com/}\` $(version "$module")"
done
rc=0
MAINSTAY_LOGINS=$mark "$work/bin/logins" -bin "$work/bin" -node "$node" -mjs "$work/mjs" -work "$work" -with "$with" \
	-page docs/generated/logins.md -only "${1:-}" </dev/null || rc=$?
((rc != 75)) || missing "A server did not start."
exit "$rc"
