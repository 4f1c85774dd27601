#!/usr/bin/env bash
# Ten everyday tasks with mcpctl, Inspector, mcporter and mcptools: keystrokes, seconds and output of
# each line of interop/tasks/tasks.txt, in docs/generated/tasks.md. About 5 minutes. CI does not run
# this; a test of mcpctl holds the page to its input. Linux only.
#   MAINSTAY_MCPTOOLS       the program mcptools, which npm does not have; without it its lines are not run
#   MAINSTAY_TASKS_OUTPUT   a folder to keep what the last run of each line printed
# Exit 0: written; 1: the server did not start; 75: something could not be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

VERSION=2026.8.31
INSPECTOR=2.12.0
MCPORTER=0.12.3
NODE_MAJOR=24 # Inspector needs 22.19
RUNS=3
LIMIT=30
work=$(mktemp -d)
mark=tasks-$$-$RANDOM$RANDOM

# The server, and what a tool left behind, have the mark in their environment.
finish() {
	local file
	set +e
	for file in $(grep -lsF "MAINSTAY_TASKS=$mark" /proc/[0-9]*/environ); do
		file=${file#/proc/}
		kill -KILL "${file%/environ}" 2>/dev/null
	done
	rm -rf "$work"
}
trap finish EXIT

missing() {
	echo "$1"
	exit 75
}

cache=${MAINSTAY_TASKS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mainstay-tasks/$VERSION-$INSPECTOR-$MCPORTER}
# shellcheck source=scripts/npm.sh
source scripts/npm.sh
find_node || missing "node $NODE_MAJOR is missing"
npm_packages "@modelcontextprotocol/server-everything@$VERSION" "@modelcontextprotocol/inspector@$INSPECTOR" \
	"mcporter@$MCPORTER" || missing "the packages could not be installed"
for program in jq perl; do
	command -v "$program" >/dev/null || missing "$program is missing"
done
cache=$(cd "$cache" && pwd)
mkdir "$work/bin" "$work/home"
go build -trimpath -ldflags '-s -w' -o "$work/bin/mcpctl" ./cmd/mcpctl
ln -s "$(command -v "$node")" "$work/bin/node"
if [[ -n ${MAINSTAY_MCPTOOLS:-} ]]; then ln -s "$(realpath "$MAINSTAY_MCPTOOLS")" "$work/bin/mcp"; fi
kept=${MAINSTAY_TASKS_OUTPUT:-}
if [[ -n $kept ]]; then
	mkdir -p "$kept"
	kept=$(cd "$kept" && pwd)
fi

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Below 32768, where Linux begins to take ports for outgoing connections.
free=()
for port in $(seq 23110 23160); do
	if ! listening "$port"; then free+=("$port"); fi
done

# Offline, npx finds the packages of the cache or fails.
export PATH=$work/bin:$cache/node_modules/.bin:$PATH NO_COLOR=1 npm_config_offline=true MAINSTAY_TASKS=$mark
export HOME=$work/home XDG_CONFIG_HOME=$work/home/config XDG_CACHE_HOME=$work/home/cache
PORT=${free[0]} mcp-server-everything streamableHttp >"$work/server" 2>&1 </dev/null &
server=$!
disown "$server"
for ((i = 0; i < 300; i++)); do
	if listening "${free[0]}" || ! kill -0 "$server" 2>/dev/null; then break; fi
	sleep 0.2
done
if ! listening "${free[0]}"; then
	echo "server-everything did not listen within 60 s; it printed:"
	cat "$work/server"
	exit 1
fi

# matches REGEXP FILE…: a dot also stands for the end of a line, and ^ and $ for those of each line.
matches() { cat "${@:2}" | PATTERN=$1 perl -0777 -ne 'exit !/$ENV{PATTERN}/ms'; }

# run TASK TOOL CHECK LINE adds a line to the results: the task, the tool, milliseconds, lines, bytes,
# the exit code, and 1 if the task was done.
run() {
	local task=$1 tool=$2 check=$3 line=$4 begin ms code=0 done=0 size
	line=${line//:3001/:${free[0]}}
	line=${line//:3002/:${free[1]}}
	rm -rf "$work/here"
	mkdir "$work/here"
	ln -s "$cache/node_modules" "$work/here/node_modules" # where npx looks first
	cd "$work/here"
	begin=${EPOCHREALTIME/[.,]/}
	timeout -k 5 "$LIMIT" bash -o pipefail -c "$line" >"$work/out" 2>"$work/err" </dev/null || code=$?
	ms=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
	if [[ $check == "ok "* ]]; then
		if ((code == 0)) && matches "${check#ok }" "$work/out"; then done=1; fi
	elif ((code != 0 && code != 124 && code != 137)) && matches "${check#error }" "$work/out" "$work/err"; then
		done=1
	fi
	size=$(cat "$work/out" "$work/err" | wc -lc | awk '{ print $1 "\t" $2 }')
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$task" "$tool" "$ms" "$size" "$code" "$done" | tee -a "$work/results"
	if [[ -n $kept ]]; then cat "$work/out" "$work/err" >"$kept/$task-$tool"; fi
}

cp interop/tasks/tasks.txt "$work/tasks"
for ((i = 0; i < RUNS; i++)); do
	task=0
	while IFS= read -r line <&4; do
		case $line in
		'#'* | '!'* | '') ;;
		'= '*) task=$((task + 1)) ;;
		'ok '* | 'error '*) check=$line ;;
		'mcp '*) if [[ -n ${MAINSTAY_MCPTOOLS:-} ]]; then (run "$task" mcptools "$check" "$line"); fi ;;
		*) (run "$task" "${line%% *}" "$check" "$line") ;;
		esac
	done 4<"$work/tasks"
done
versions="server-everything $VERSION, Inspector $INSPECTOR, mcporter $MCPORTER"
if [[ -n ${MAINSTAY_MCPTOOLS:-} ]]; then versions+=", mcptools $(mcp version | awk '{ print $NF }')"; fi
machine="$(nproc) threads at $(awk '/^cpu MHz/ { printf "%.1f GHz", $4 / 1000; exit }' /proc/cpuinfo)"
node scripts/tasks-page.mjs "$work/tasks" "$work/results" "$versions, Node.js $(node --version)" "$machine" >"$work/page"
cp "$work/page" docs/generated/tasks.md
