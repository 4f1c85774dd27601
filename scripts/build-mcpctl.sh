#!/usr/bin/env bash
# Builds mcpctl as it is released: one static file without debug information.
#   build-mcpctl.sh FILE     from the root of the repository; LDFLAGS="-s -w" are the flags of the linker
# Calls in the suite, the commands and the login are not inlined, and neither are those in what only
# these use: nothing there is called often enough to be seen, and the copies weigh 0.6 MB. GOOS and GOARCH choose another system.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if (($# != 1)); then
	echo "build-mcpctl.sh FILE" >&2
	exit 2
fi
module=github.com/mainstay-mcp/mainstay
flags=()
for packages in "$module/conformance/..." "$module/cmd/..." "$module/auth/..." "$module/skills" \
	"$module/internal/serverfile" "$module/internal/schema" "$module/internal/callback" \
	github.com/spf13/cobra github.com/spf13/pflag github.com/godbus/dbus/v5 \
	"github.com/go-jose/go-jose/v4/..." go.yaml.in/yaml/v3; do
	flags+=("-gcflags=$packages=-l")
done
mkdir -p "$(dirname "$1")"
CGO_ENABLED=0 exec go build -trimpath -ldflags="${LDFLAGS:--s -w}" "${flags[@]}" -o "$1" ./cmd/mcpctl
