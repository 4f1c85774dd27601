#!/usr/bin/env bash
# Ten everyday tasks with mcpctl, and with three tools of others: what is typed, how long it takes,
# how it ends, what one sees. Makes docs/generated/tasks.md (npm; mcptools is compared if a program
# of that name is found).
# Exit 0: made; 75: something could not be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SERVER=2026.8.31
INSPECTOR=2.12.0
MCPORTER=0.12.3
NODE_MAJOR=24 # the Inspector asks for 22.19
page=docs/generated/tasks.md
work=$(mktemp -d)
cache=${MAINSTAY_TASKS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mainstay-tasks/$INSPECTOR-$MCPORTER}
# shellcheck source=scripts/npm.sh
source scripts/npm.sh
find_node || exit 75
npm_packages "@modelcontextprotocol/server-everything@$SERVER" "@modelcontextprotocol/inspector@$INSPECTOR" "mcporter@$MCPORTER" || {
	echo "the tools of others could not be installed"
	exit 75
}
scripts/build-mcpctl.sh "$work/mcpctl"
modules=$cache/node_modules
port=23090
PORT=$port "$node" "$modules/@modelcontextprotocol/server-everything/dist/index.js" streamableHttp >/dev/null 2>&1 &
trap 'kill $!; rm -rf "$work"' EXIT
for _ in $(seq 100); do
	if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then break; fi
	sleep 0.1
done
export HOME=$work/home NO_COLOR=1 BROWSER=false
mkdir -p "$HOME"

# The programs under the names by which people call them.
mkdir "$work/bin"
ln -s "$work/mcpctl" "$work/bin/mcpctl"
for tool in mcp-inspector mcporter; do
	printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$node" "$modules/.bin/$tool" >"$work/bin/$tool"
done
mcptools=$(command -v mcptools || true)
if [[ -n $mcptools ]]; then ln -s "$mcptools" "$work/bin/mcptools"; fi
chmod +x "$work/bin"/*
PATH=$work/bin:$PATH

U=http://localhost:$port/mcp
rows=()
task() {
	printf '\n## %s\n\n| command | characters | seconds | exit | it shows |\n|---|---|---|---|---|\n' "$1"
	rows+=("$1")
	shift
	local command
	for command in "$@"; do
		if [[ $command == mcptools* && -z $mcptools ]]; then continue; fi
		local began ended code=0 seconds=() shown
		for _ in 1 2 3; do
			code=0
			began=$EPOCHREALTIME
			timeout -k 1 40 bash -c "$command" >"$work/out" 2>&1 </dev/null || code=$?
			ended=$EPOCHREALTIME
			seconds+=("$(awk "BEGIN { printf \"%.2f\", $ended - $began }")")
		done
		shown=$(grep -v '^ *$' "$work/out" | head -n 4 | cut -c1-150 | sed -e 's/|/\\|/g' -e 's/`/'"'"'/g' -e "s#file://$work[^ ]*#…#g" -e "s#$modules#…#g" -e 's/^ */`/' -e 's/$/`/' | paste -sd' ')
		printf '| `%s` | %d | %s | %s | %s |\n' "${command//|/\\|}" "${#command}" "$(printf '%s\n' "${seconds[@]}" | sort -n | sed -n 2p)" "$((code == 124 ? 124 : code))" "${shown:-nothing}"
	done
}

{
	cat <<END
# Ten everyday tasks

Made by \`scripts/tasks.sh\` on 2 busy cores: mcpctl, the MCP Inspector $INSPECTOR, mcporter $MCPORTER, mcptools
of December 2025, against server-everything over HTTP. Characters are those of the command line,
seconds the median of three runs, exit the status (124: stopped after 40 s); of the output there are
the first lines. No tool has a configuration file; each is called as its help says.
END
	task "Which tools are there?" "mcpctl ls :$port/mcp" "mcp-inspector --cli $U --method tools/list" "mcporter list $U --allow-http" "mcptools tools $U"
	task "How is a tool called?" "mcpctl describe :$port/mcp get-sum" "mcp-inspector --cli $U --method tools/list" "mcporter list $U --allow-http --schema" "mcptools tools $U"
	task "Call a tool" "mcpctl call :$port/mcp get-sum a=2 b=3" "mcp-inspector --cli $U --method tools/call --tool-name get-sum --tool-arg a=2 b=3" "mcporter call $U.get-sum a=2 b=3 --allow-http" "mcptools call get-sum --params '{\"a\":2,\"b\":3}' $U"
	task "A wrong argument" "mcpctl call :$port/mcp get-sum a=two b=3" "mcp-inspector --cli $U --method tools/call --tool-name get-sum --tool-arg a=two b=3" "mcporter call $U.get-sum a=two b=3 --allow-http" "mcptools call get-sum --params '{\"a\":\"two\",\"b\":3}' $U"
	task "A misspelled tool" "mcpctl call :$port/mcp ecko message=hi" "mcp-inspector --cli $U --method tools/call --tool-name ecko --tool-arg message=hi" "mcporter call $U.ecko message=hi --allow-http" "mcptools call ecko --params '{\"message\":\"hi\"}' $U"
	task "Read a resource" "mcpctl read :$port/mcp demo://resource/static/document/startup.md" "mcp-inspector --cli $U --method resources/read --uri demo://resource/static/document/startup.md" "mcporter resource $U demo://resource/static/document/startup.md" "mcptools read-resource demo://resource/static/document/startup.md $U"
	task "Get a prompt" "mcpctl prompt :$port/mcp args-prompt city=Oslo" "mcp-inspector --cli $U --method prompts/get --prompt-name args-prompt --prompt-args city=Oslo" "mcptools get-prompt args-prompt --params '{\"city\":\"Oslo\"}' $U"
	task "Answer a form that a tool asks for" "mcpctl call :$port/mcp trigger-elicitation-request --answer name=Ann" "mcp-inspector --cli $U --method tools/call --tool-name trigger-elicitation-request" "mcporter call $U.trigger-elicitation-request --allow-http" "mcptools call trigger-elicitation-request $U"
	task "A tool that takes long" "mcpctl call :$port/mcp trigger-long-running-operation duration=2 steps=2 -o ndjson" "mcp-inspector --cli $U --method tools/call --tool-name trigger-long-running-operation --tool-arg duration=2 steps=2" "mcporter call $U.trigger-long-running-operation duration=2 steps=2 --allow-http" "mcptools call trigger-long-running-operation --params '{\"duration\":2,\"steps\":2}' $U"
	dead="sh -c 'echo DB_URL is not set >&2; exit 3'"
	task "Why does a server not start?" "mcpctl ls -- $dead" "mcp-inspector --cli --method tools/list -- $dead" "mcporter list --stdio \"$dead\"" "mcptools tools $dead"
} >"$work/page"
cp "$work/page" "$page"
echo "made $page: ${#rows[@]} tasks"
