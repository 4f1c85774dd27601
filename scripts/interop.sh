#!/usr/bin/env bash
# Servers written by others. First mcpctl, by hand as a user would, over stdio and
# HTTP, and against our own; then the client, in a matrix of features, servers,
# transports and eras (interop/, a module of its own).
#   interop.sh [mcpctl|matrix]   one of the two; both without an argument
# Exit 0: all as expected; 1: something was not; 2: bad argument; 75: the foreign
# servers could not be installed, what is said is all that is known.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

VERSION=2026.8.31 # of all three packages
PACKAGES=(server-everything server-filesystem server-memory)

case ${1:-both} in
both) parts=(by_hand matrix) ;;
mcpctl) parts=(by_hand) ;;
matrix) parts=(matrix) ;;
*)
	echo "interop.sh [mcpctl|matrix], not $1" >&2
	exit 2
	;;
esac

work=$(mktemp -d)
cache=${MAINSTAY_INTEROP_CACHE:-${XDG_CACHE_HOME:-${HOME:-$work}/.cache}/mainstay-interop/$VERSION}
servers=()
failed=0

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

# expect NAME EXIT PATTERN… -- COMMAND…: runs the command for at most 60 s and
# looks at its exit code, and for every pattern (fixed text) in its output.
expect() {
	local name=$1 want=$2 patterns=() rc=0 missing=() p
	shift 2
	while [[ $1 != -- ]]; do
		patterns+=("$1")
		shift
	done
	shift
	timeout -k 5 60 "$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?
	for p in "${patterns[@]}"; do
		grep -qF -- "$p" "$work/out" "$work/err" || missing+=("$p")
	done
	if ((rc == want && ${#missing[@]} == 0)); then
		echo "ok    $name"
		return
	fi
	failed=1
	echo "FAIL  $name: exit $rc, want $want${missing[*]+; not in the output: ${missing[*]}}"
	echo "      $*"
	head -c 2000 "$work/out" | sed 's/^/      out: /'
	head -c 2000 "$work/err" | sed 's/^/      err: /'
}

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Below 32768, where Linux begins to take ports for outgoing connections.
free_port() {
	local port
	for port in $(seq 23010 23060); do
		if ! listening "$port"; then
			echo "$port"
			return
		fi
	done
	return 1
}

# The packages stay in the cache: the next run needs no registry.
install_foreign() {
	local package missing=()
	command -v npm >/dev/null && command -v node >/dev/null || return 1
	for package in "${PACKAGES[@]}"; do
		if [[ ! -f $cache/node_modules/@modelcontextprotocol/$package/package.json ]]; then
			missing+=("@modelcontextprotocol/$package@$VERSION")
		fi
	done
	((${#missing[@]} > 0)) || return 0
	echo "installing ${missing[*]}"
	mkdir -p "$cache"
	timeout 300 npm install --prefix "$cache" --no-audit --no-fund --loglevel=silent "${missing[@]}" >/dev/null 2>&1 </dev/null
}

# described NAME SERVER…: the example line that describe prints for echo, pasted, works.
described() {
	local name=$1 line
	shift
	"$mcpctl" describe "$@" >"$work/described" 2>&1 </dev/null || true
	line=$(grep -oE 'mcpctl call .*' "$work/described" | head -n 1 || true)
	if [[ -z $line ]]; then
		failed=1
		echo "FAIL  $name: no example line in"
		sed 's/^/      /' "$work/described"
		return
	fi
	expect "$name" 0 Echo: -- env "PATH=$work:$PATH" bash -c "$line"
}

own_server() {
	local data=$work/artifacts stored
	mkdir "$data"
	expect "own: store_artifact" 0 PRD-006 -- \
		"$mcpctl" call store_artifact --json @examples/artifacts/prd-006.json -e "ARTIFACTS_BASE_DIR=$data" -- "$refserver"
	stored=$(find "$data" -name 'PRD-006_v*.md' | head -n 1)
	if [[ -z $stored || -z $(find "$data" -name 'PRD-006*.json') ]]; then
		failed=1
		echo "FAIL  own: artifact and metadata in the data folder, which holds:"
		find "$data" -type f | sed "s#^$work#      #"
		return
	fi
	expect "own: validate_artifact" 0 24/24 -- \
		"$mcpctl" call validate_artifact "artifact_content=@$stored" artifact_id=PRD-006 task_id=TASK-001 -- "$refserver"
}

bad_input() {
	local port
	port=$(free_port)
	expect "bad: unknown tool" 8 no_such_tool -- "$mcpctl" call no_such_tool -- "$refserver"
	expect "bad: missing argument" 2 task_id -- "$mcpctl" call validate_artifact artifact_content=x artifact_id=PRD-006 -- "$refserver"
	expect "bad: server that exits at once" 3 -- "$mcpctl" ls -- false
	expect "bad: no such program" 3 -- "$mcpctl" ls -- "$work/no-such-program"
	expect "bad: closed port" 3 -- "$mcpctl" ls "http://127.0.0.1:$port/mcp"
}

foreign_stdio() {
	local bin=$cache/node_modules/.bin
	local everything=("$bin/mcp-server-everything" stdio)
	expect "everything, stdio: info" 0 mcp-servers/everything -- "$mcpctl" info -- "${everything[@]}"
	expect "everything, stdio: ls" 0 echo get-sum -- "$mcpctl" ls -- "${everything[@]}"
	expect "everything, stdio: call" 0 "Echo: hi" -- "$mcpctl" call echo message=hi -- "${everything[@]}"
	expect "everything, stdio: typed by the schema" 0 "is 5" -- "$mcpctl" call get-sum a=2 b=3 -- "${everything[@]}"
	expect "everything, stdio: unknown tool" 8 nope -- "$mcpctl" call nope -- "${everything[@]}"
	expect "everything, stdio: wrong type" 2 -- "$mcpctl" call get-sum a=two b=3 -- "${everything[@]}"
	expect "everything, stdio: ping" 0 -- "$mcpctl" ping -- "${everything[@]}"
	described "everything, stdio: the example line of describe" echo -- "${everything[@]}"

	mkdir "$work/files"
	expect "filesystem: ls" 0 read_text_file write_file -- "$mcpctl" ls -- "$bin/mcp-server-filesystem" "$work/files"
	expect "filesystem: write without a yes" 9 destructive "not called" -- "$mcpctl" call write_file "path=$work/files/a.txt" content=written -- "$bin/mcp-server-filesystem" "$work/files"
	expect "filesystem: write" 0 -- "$mcpctl" call -y write_file "path=$work/files/a.txt" content=written -- "$bin/mcp-server-filesystem" "$work/files"
	expect "filesystem: read" 0 written -- "$mcpctl" call read_text_file "path=$work/files/a.txt" -- "$bin/mcp-server-filesystem" "$work/files"
	expect "filesystem: a tool that says no" 1 -- "$mcpctl" call read_text_file "path=$work/elsewhere" -- "$bin/mcp-server-filesystem" "$work/files"

	expect "memory: create" 0 -- "$mcpctl" call create_entities \
		'entities:=[{"name":"Mainstay","entityType":"library","observations":["holds"]}]' \
		-e "MEMORY_FILE_PATH=$work/memory.jsonl" -- "$bin/mcp-server-memory"
	expect "memory: read" 0 Mainstay -- "$mcpctl" call read_graph -e "MEMORY_FILE_PATH=$work/memory.jsonl" -- "$bin/mcp-server-memory"
}

foreign_http() {
	local port url i
	port=$(free_port)
	PORT=$port "$cache/node_modules/.bin/mcp-server-everything" streamableHttp >"$work/everything.log" 2>&1 </dev/null &
	servers+=($!)
	for i in $(seq 100); do
		if listening "$port"; then break; fi
		sleep 0.2
	done
	url=http://127.0.0.1:$port/mcp
	expect "everything, HTTP: info" 0 mcp-servers/everything -- "$mcpctl" info "$url"
	expect "everything, HTTP: ls" 0 echo get-sum -- "$mcpctl" ls "$url"
	expect "everything, HTTP: call" 0 "Echo: hi" -- "$mcpctl" call "$url" echo message=hi
	expect "everything, HTTP: unknown tool" 8 nope -- "$mcpctl" call "$url" nope
	expect "everything, HTTP: wrong path" 3 -- "$mcpctl" ls "${url%/mcp}/elsewhere"
	described "everything, HTTP: the example line of describe" "$url" echo
}

by_hand() {
	go build -o "$mcpctl" ./cmd/mcpctl
	own_server
	bad_input
	if [[ -n $foreign ]]; then
		foreign_stdio
		foreign_http
	fi
}

# The peers' libraries come from the Go module proxy, so they can be missing too.
matrix() {
	if ! (cd interop && GOWORK=off go mod download) >/dev/null 2>&1; then
		peers=
		return
	fi
	if ! (cd interop && export GOWORK=off && go vet ./... && go test . ./gosdk ./gosdkclient ./mcpgo ./strangers && go build -o "$work/" . ./gosdk ./mcpgo); then
		failed=1
		return
	fi
	"$work/interop" -gosdk "$work/gosdk" -mcpgo "$work/mcpgo" -refserver "$refserver" \
		${foreign:+-everything "$cache/node_modules/.bin/mcp-server-everything"} </dev/null || failed=1
}

mcpctl=$work/mcpctl
refserver=$work/refserver
go build -o "$refserver" ./cmd/refserver
foreign=yes peers=yes
install_foreign || foreign=
for part in "${parts[@]}"; do "$part"; done
if [[ -z $foreign || -z $peers ]] && ((failed == 0)); then
	echo "################################################################"
	echo "Not all foreign servers could be installed (no npm, or a registry"
	echo "is unreachable). NOTHING but what is said above was checked."
	echo "################################################################"
	exit 75
fi
exit "$failed"
