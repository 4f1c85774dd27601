#!/usr/bin/env bash
# Builds mcpctl as it is released: one static file without debug information.
#   build-mcpctl.sh FILE     from the root of the repository; LDFLAGS="-s -w" are the flags of the linker
# Calls in the suite, the commands, the login, pools, skills and the libraries of these are not
# inlined: nothing there is called often enough to be seen, and the copies weigh 0.6 MB.
# GOOS and GOARCH choose another system.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if (($# != 1)); then
	echo "build-mcpctl.sh FILE" >&2
	exit 2
fi
module=github.com/mainstay-mcp/mainstay
flags=()
libraries=(github.com/spf13/... github.com/go-jose/... github.com/godbus/... go.yaml.in/yaml/v3)
for packages in "$module/conformance/..." "$module/cmd/..." "$module/auth/..." "$module/pool/..." "$module/skills/..." "$module/internal/schema" "$module/internal/serverfile/..." "${libraries[@]}"; do
	flags+=("-gcflags=$packages=-l")
done
mkdir -p "$(dirname "$1")"
CGO_ENABLED=0 exec go build -trimpath -ldflags="${LDFLAGS:--s -w}" "${flags[@]}" -o "$1" ./cmd/mcpctl
