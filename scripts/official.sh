#!/usr/bin/env bash
# The official MCP conformance suite against our reference server and our client,
# at every revision the suite has scenarios for, and with its scenarios of
# extensions. Counted strictly (scripts/official-score.mjs), with no list of expected
# failures.
#   official.sh [server|client|proxy|client-proxy]   one of them; server and client without an argument
# The server: one process, one URL. proxy: the same server behind "mcpctl proxy --listen", once
# as its program and once by its URL. The client: interop/officialclient, one process a
# scenario. client-proxy: "mcpctl proxy" as the client, before it a host (interop/host).
# Exit 0: every scenario passed; 1: one did not, or fewer than there should be
# ran; 2: bad argument; 75: the suite could not be installed, nothing is known.
# OFFICIAL_VERBOSE=1 says what each scenario that did not pass complained about.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SUITE=0.2.0-alpha.12
NODE_MAJOR=22 # the suite uses fs.globSync, which 20 has not
# Revision and the number of scenarios the pinned suite has for it: a suite that
# runs fewer has not judged us. Those of extensions belong to no revision. For a
# server: tasks, skills. For a client: client credentials, enterprise authorization,
# DPoP, workload identity, skills.
SERVER=("2025-06-18 27" "2025-11-25 33" "2026-07-28 40" "extensions 13")
CLIENT=("2025-03-26 2" "2025-06-18 5" "2025-11-25 19" "2026-07-28 33" "extensions 10")
# The scenario of the pinned suite that sends nothing and skips its only check,
# whatever the server does. It never counts as passed. Our own check TASK-12 judges
# what it is about.
VACANT=tasks-status-notifications

case ${1:-all} in
all) sides=(server client) ;;
server | client | proxy | client-proxy) sides=("$1") ;;
*)
	echo "official.sh [server|client|proxy|client-proxy], not $1" >&2
	exit 2
	;;
esac

work=$(mktemp -d)
cache=${MAINSTAY_OFFICIAL_CACHE:-${XDG_CACHE_HOME:-${HOME:-$work}/.cache}/mainstay-official/$SUITE}
servers=()

stop_servers() {
	local pid
	for pid in "${servers[@]}"; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	servers=()
}

finish() {
	local rc=$?
	set +e
	stop_servers
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

# Below 32768, where Linux begins to take ports for outgoing connections.
free_port() {
	local port
	for port in $(seq 23110 23160); do
		if ! listening "$port"; then
			echo "$port"
			return
		fi
	done
	return 1
}

# start NAME COMMAND...: starts a program that listens at $port, and sets $url.
start() {
	local name=$1 pid
	shift
	"$@" >"$work/$name.log" 2>&1 </dev/null &
	pid=$!
	servers+=("$pid")
	for _ in $(seq 100); do
		if listening "$port"; then
			url=http://127.0.0.1:$port/mcp
			return
		fi
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.2
	done
	echo "FAIL  $name did not start:"
	head -c 2000 "$work/$name.log" | sed 's/^/      /'
	return 1
}

start_server() {
	go build -o "$work/refserver" ./cmd/refserver || return 1
	port=$(free_port) || return 1
	start refserver "$work/refserver" --http "127.0.0.1:$port"
}

# start_proxy TARGET...: starts a proxy before a server.
start_proxy() {
	port=$(free_port) || return 1
	start mcpctl "$work/mcpctl" proxy --listen "127.0.0.1:$port" --no-auth "$@"
}

# server_scenario NAME FOLDER: runs one scenario.
server_scenario() {
	timeout -k 5 120 "$node" "$suite" server --url "$url" --scenario "$1" -o "$2/results" >"$2/logs/${1//\//%}" 2>&1 </dev/null || true
}

# judge_server REVISION TOTAL: runs the scenarios of one revision and prints one line.
# Those of extensions are run one by one: the suite has no set of them.
judge_server() {
	local revision=$1 total=$2 out=$work/server-$1 name
	mkdir "$out"
	if [[ $revision == extensions ]]; then
		mkdir "$out/logs"
		"$node" "$suite" list --server </dev/null | sed -n 's/^  - \([^ ]*\) \[extension\]$/\1/p' >"$out/names"
		while read -r name; do
			server_scenario "$name" "$out"
			# Scenarios of tasks wait ten seconds for an end. On a machine that is busy
			# with other things that says nothing: what failed runs once more, and says so.
			if ! grep -q ', 0 failed' "$out/logs/${name//\//%}"; then
				echo "note  $name did not pass, and is run once more:"
				grep -E 'FAILURE|Error|WARN' "$out/logs/${name//\//%}" | head -n 3 | cut -c 1-300 | sed 's/^/      /' || true
				rm -rf "$out/results/server-$name-"*
				server_scenario "$name" "$out"
			fi
		done <"$out/names"
		"$node" scripts/official-score.mjs server "$revision" "$total" "$out/logs" "$out/results" "$VACANT"
		return
	fi
	# The suite's own exit code says less than the score: it lets warnings pass.
	timeout -k 5 300 "$node" "$suite" server --url "$url" --suite all --spec-version "$revision" -o "$out/results" >"$out/log" 2>&1 </dev/null || true
	"$node" scripts/official-score.mjs server "$revision" "$total" "$out/log" "$out/results"
}

# client_names REVISION: the scenarios for clients. A name with a mark is that of an
# extension.
client_names() {
	if [[ $1 == extensions ]]; then
		"$node" "$suite" list --client </dev/null | sed -n 's/^  - \([^ ]*\) \[extension\]$/\1/p'
	else
		"$node" "$suite" list --client --spec-version "$1" </dev/null | sed -n 's/^  - \([^ ]*\).*/\1/p'
	fi
}

# judge_client REVISION TOTAL COMMAND: one run of the suite a scenario, because only then
# does it look at the exit code, and not more at once than there are processors,
# because some scenarios measure time.
judge_client() {
	local revision=$1 total=$2 command=$3 out=$work/client-$1 name at=(--spec-version "$1")
	mkdir -p "$out/logs"
	[[ $revision != extensions ]] || at=() # each scenario has a revision of its own
	client_names "$revision" >"$out/names"
	while read -r name; do
		while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || true; done
		timeout -k 5 60 "$node" "$suite" client --command "$command" --scenario "$name" "${at[@]}" \
			-o "$out/results" >"$out/logs/${name//\//%}" 2>&1 </dev/null &
	done <"$out/names"
	wait
	"$node" scripts/official-score.mjs client "$revision" "$total" "$out/logs" "$out/results"
}

# judge NAME: runs all revisions against the server at $url, whose log is $work/NAME.log.
judge() {
	local line revision total bad=0
	for line in "${SERVER[@]}"; do
		read -r revision total <<<"$line"
		judge_server "$revision" "$total" || bad=1
	done
	if ((bad)) && [[ -s $work/$1.log ]]; then
		echo "      the end of the log of $1:"
		tail -n 5 "$work/$1.log" | cut -c 1-300 | sed 's/^/      /'
	fi
	rm -rf "$work"/server-*
	stop_servers || true
	return "$bad"
}

official_server() {
	start_server || return 1
	judge refserver
}

official_proxy() {
	local bad=0
	start_server && go build -o "$work/mcpctl" ./cmd/mcpctl || return 1
	echo "a proxy before the URL of the server"
	start_proxy "$url" && judge mcpctl || bad=1
	echo "a proxy before the server as its program"
	start_proxy -- "$work/refserver" --families artifact,coe,docling,preflights,assistant,fixtures,skills && judge mcpctl || bad=1
	return "$bad"
}

# judge_clients COMMAND: runs all revisions with a client.
judge_clients() {
	local line revision total bad=0
	for line in "${CLIENT[@]}"; do
		read -r revision total <<<"$line"
		judge_client "$revision" "$total" "$1" || bad=1
	done
	return "$bad"
}

official_client() {
	(cd interop/officialclient && GOWORK=off go build -o "$work/officialclient" .) || return 1
	judge_clients "$work/officialclient"
}

official_client-proxy() {
	command -v python3 >/dev/null || return 1
	mkdir -p "$work/bin"
	go build -o "$work/bin/mcpctl" ./cmd/mcpctl || return 1
	local PATH=$work/bin:$PATH host="python3 $PWD/interop/host/host.py" line revision total bad=0
	judge_clients "$host" || bad=1
	rm -rf "$work"/client-*
	echo "the same with a host of the other era than the server"
	for line in "${CLIENT[@]}"; do
		read -r revision total <<<"$line"
		HOST_REVISION=$(other_era "$revision") judge_client "$revision" "$total" "$host" || bad=1
	done
	return "$bad"
}

other_era() { [[ $1 == 2026-07-28 ]] && echo 2025-11-25 || echo 2026-07-28; }

if ! install_suite; then
	echo "################################################################"
	echo "The official suite could not be installed (no npm, or its"
	echo "registry is unreachable). NOTHING was judged by it."
	echo "################################################################"
	exit 75
fi
failed=0
for side in "${sides[@]}"; do
	"official_$side" || failed=1
done
exit "$failed"
