#!/usr/bin/env bash
# Builds mcpctl as it is released: one static file without debug information.
#   build-mcpctl.sh FILE     from the root of the repository; LDFLAGS="-s -w" are the flags of the linker
# Calls are inlined only where a call of a tool spends its time: in the client, its JSON codec and
# the runtime. Elsewhere nothing is called often enough to be seen, and the copies weigh 1.3 MB. GOOS
# and GOARCH choose another system.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if (($# != 1)); then
	echo "build-mcpctl.sh FILE" >&2
	exit 2
fi
module=github.com/mainstay-mcp/mainstay
flags=()
for packages in "$module/"{conformance,cmd,auth,pool,proxy,skills,internal,toolcache,breaker,errors,mcp}/... \
	"$module/client/internal/"{era,keeper,tasks,watch,ask,lists,catalog} go.yaml.in/yaml/v3 github.com/{godbus,go-jose,spf13}/... \
	github.com/google/jsonschema-go/... {net,vendor,encoding,mime,log,text,regexp,html,archive,compress,path,os,unicode,flag,sort,fmt,math/big,hash,crypto,embed,errors,context,time,go}/... github.com/{zalando,mattn}/...; do
	flags+=("-gcflags=$packages=-l")
done
mkdir -p "$(dirname "$1")"
CGO_ENABLED=0 exec go build -trimpath -ldflags="${LDFLAGS:--s -w}" "${flags[@]}" -o "$1" ./cmd/mcpctl
