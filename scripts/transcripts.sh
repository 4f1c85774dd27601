#!/usr/bin/env bash
# Everything that server-everything has, used from a pipe and from a terminal: each command of
# interop/transcripts/commands.txt, and what it prints, in docs/generated/transcripts.md.
#   transcripts.sh [check|write]   check (the default) compares with that page, write makes it again
# Exit 0: as written; 1: something differs; 75: the server could not be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

VERSION=2026.8.31
NODE_MAJOR=20
mode=${1:-check}
page=docs/generated/transcripts.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cache=${MAINSTAY_INTEROP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mainstay-interop/$VERSION}
# shellcheck source=scripts/npm.sh
source scripts/npm.sh
if ! find_node || ! npm_packages "@modelcontextprotocol/server-everything@$VERSION"; then
	echo "server-everything could not be installed"
	exit 75
fi
if ! command -v script >/dev/null; then
	echo "there is no program script, which makes a terminal"
	exit 75
fi
go build -o "$work/mcpctl" ./cmd/mcpctl
server=$(cd "$cache" && pwd)/node_modules/@modelcontextprotocol/server-everything/dist/index.js
mkdir "$work/here"
printf '{"mcpServers":{"everything":{"command":"%s","args":["%s","stdio"]}}}\n' "$(command -v "$node" || echo "$node")" "$server" >"$work/here/everything.json"
export HOME=$work/home XDG_CONFIG_HOME=$work/home/config XDG_CACHE_HOME=$work/home/cache NO_COLOR=1 BROWSER=false
mkdir -p "$HOME"

# plain leaves out what differs from run to run: the status line, times, folders, ports, what the
# server makes up.
plain() {
	perl -pe 's/\r\e\[K[^\r\n]*(?=\r\e\[K)//g; s/\r\e\[K//g; s/\r$//' |
		sed -E -e "s#$work/here#HERE#g" -e "s#$work#WORK#g" -e "s#$server#SERVER#g" \
			-e 's/[0-9]{1,2}:[0-9]{2}:[0-9]{2}( [AP]M)?/TIME/g' -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]*Z/TIME/g' \
			-e 's/[0-9]+(\.[0-9]+)? ?ms/N ms/g' -e 's/5[0-9] B/N B/' -e 's/"(minMs|medianMs|maxMs|connectMs|p[0-9]+Ms)": [0-9.]+/"\1": N/' \
			-e 's/(connected in\t)[0-9.]+s/\1N ms/' -e '/^starting .* · [0-9]+ s$/d' -e '/^Poll [0-9]+: (working|completed)$/d' -e 's/"progressToken":[^,}]*/"progressToken":N/' -e 's/"elicitationId": ?"[^"]*"/"elicitationId":"ID"/g' \
			-e 's/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/ID/g' \
			-e 's/^(debug|info|notice|warning|error|critical|alert|emergency) [^:]*: .*level[- ]message.*/LEVEL: a message/'
}

# one MODE COMMAND [INPUT-FILE] runs a command and prints it with its output and exit code.
one() {
	local code=0
	cd "$work/here"
	if [[ $1 == pipe ]]; then
		eval "\"$work/mcpctl\" $2" >"$work/out" 2>"$work/err" </dev/null || code=$?
		plain <"$work/out"
		plain <"$work/err" | sed 's/^/2> /'
	else
		script -qec "$work/mcpctl $2" /dev/null <"$3" >"$work/out" || code=$?
		# The terminal echoes what is typed before the program reads it.
		tail -n +"$(($(wc -l <"$3") + 1))" "$work/out" | plain
	fi
	echo "exit $code"
}

{
	cat <<'END'
# Everything of server-everything

Made by `scripts/transcripts.sh write`; `scripts/transcripts.sh` compares in CI. Each command runs
against @modelcontextprotocol/server-everything over stdio, `pipe` without a terminal (`2>` marks
standard error), `terminal` in one of 80 columns, where a person types the lines after `>`. Times,
folders and what the server makes up are left out, and so is the status line.
END
	while IFS= read -r line; do
		case $line in '#'* | '') continue ;; esac
		how=${line%% *} rest=${line#* }
		: >"$work/typed"
		command=$rest
		if [[ $rest == *' |'* ]]; then
			command=${rest%% |*}
			perl -pe 's/^ //; s/ ?\| ?/\n/g' <<<"${rest#*" |"}" >"$work/typed"
		fi
		echo
		echo '```text'
		echo "$how \$ mcpctl $command"
		sed 's/^/> /; s/ $//' "$work/typed"
		(one "$how" "$command" "$work/typed")
		echo '```'
	done <interop/transcripts/commands.txt
} >"$work/page"

if [[ $mode == write ]]; then
	cp "$work/page" "$page"
elif diff -u "$page" "$work/page"; then
	echo "ok    $(grep -c '^pipe \$\|^terminal \$' "$page") commands"
else
	echo "FAIL  what mcpctl prints is not what $page has; transcripts.sh write makes it again"
	exit 1
fi
