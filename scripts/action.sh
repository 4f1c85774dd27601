#!/usr/bin/env bash
# Judges a server in CI and writes all reports: the work of action.yml, for any CI.
#   CONFORM_SERVER='./my-server --flag' action.sh
#   CONFORM_URL=http://localhost:3000/mcp action.sh
# Environment; all but one of the first two is optional:
#   CONFORM_SERVER         command line of the server, split at blanks and quotes, not expanded
#   CONFORM_URL            endpoint of a server that runs already
#   CONFORM_HEADERS        headers for the endpoint, one a line; mcpctl expands ${NAME} in them
#   CONFORM_SIDE_EFFECTS   none, read-only or all
#   CONFORM_CALLS          file with arguments for tools
#   CONFORM_KNOWN_FAILING  file of known failures
#   CONFORM_SPEC           revision to test
#   CONFORM_STRICT         true: broken recommendations fail the run
#   CONFORM_GENTLE         true: for a server in production, slowly and with nothing malformed
#   CONFORM_SURFACE        snapshot of the server, as mcpctl snapshot writes it, to compare with the server
#   CONFORM_SURFACE_BASE   revision of git, such as origin/main, that has the snapshot to compare with
#   CONFORM_SURFACE_FAIL_ON  breaking (the default), risky, any or none
#   CONFORM_ARGS           more arguments of mcpctl conform server, split like CONFORM_SERVER
#   CONFORM_REPORTS        folder for the reports, mcp-conformance by default
#   CONFORM_MCPCTL         the program mcpctl; by default it is built from this repository
# In GitHub Actions it sets outputs, the summary of the job and annotations. The exit code is that
# of mcpctl: 0 passed, 1 failed or the surface changed, 10 inconclusive, others as in docs/mcpctl.md.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
reports=${CONFORM_REPORTS:-mcp-conformance}

# complain TEXT prints an error, in GitHub Actions as an annotation.
complain() {
	if [[ ${GITHUB_ACTIONS:-} == true ]]; then echo "::error title=MCP conformance::$1"; else echo "$1" >&2; fi
}

# usage TEXT ends the script as mcpctl ends for wrong arguments.
usage() {
	complain "$1"
	exit 2
}

# split TEXT prints the words of TEXT, each ended by a zero byte. Nothing in them is expanded.
split() { [[ -z ${1//[[:space:]]/} ]] || xargs printf '%s\0' <<<"$1"; }

# output NAME VALUE sets an output of the step.
output() { [[ -z ${GITHUB_OUTPUT:-} ]] || echo "$1=$2" >>"$GITHUB_OUTPUT"; }

server=${CONFORM_SERVER:-} url=${CONFORM_URL:-}
if [[ -n $server && -n $url || -z $server$url ]]; then
	usage "give either server (a command line) or url"
fi
case ${CONFORM_STRICT:-false} in
true | false) ;;
*) usage "strict is true or false, not $CONFORM_STRICT" ;;
esac

case ${CONFORM_GENTLE:-false} in
true | false) ;;
*) usage "gentle is true or false, not $CONFORM_GENTLE" ;;
esac

arguments=(conform server)
[[ -z ${CONFORM_SIDE_EFFECTS:-} ]] || arguments+=("--side-effects=$CONFORM_SIDE_EFFECTS")
[[ -z ${CONFORM_CALLS:-} ]] || arguments+=("--calls=$CONFORM_CALLS")
[[ -z ${CONFORM_KNOWN_FAILING:-} ]] || arguments+=("--known-failing=$CONFORM_KNOWN_FAILING")
[[ -z ${CONFORM_SPEC:-} ]] || arguments+=("--spec=$CONFORM_SPEC")
[[ ${CONFORM_STRICT:-false} == false ]] || arguments+=(--strict)
[[ ${CONFORM_GENTLE:-false} == false ]] || arguments+=(--gentle)
headers=()
while IFS= read -r header; do
	[[ -z ${header//[[:space:]]/} ]] || headers+=("--header=$header")
done <<<"${CONFORM_HEADERS:-}"
arguments+=(${headers[@]+"${headers[@]}"})
split "${CONFORM_ARGS:-}" >/dev/null || usage "args: a quote is not closed"
while IFS= read -r -d '' word; do arguments+=("$word"); done < <(split "${CONFORM_ARGS:-}")

surface=${CONFORM_SURFACE:-} base=${CONFORM_SURFACE_BASE:-}
[[ -z $base || -n $surface ]] || usage "surface-base needs surface, the name of the snapshot"
case ${CONFORM_SURFACE_FAIL_ON:-} in
'' | breaking | risky | any | none) ;;
*) usage "surface-fail-on is breaking, risky, any or none, not $CONFORM_SURFACE_FAIL_ON" ;;
esac
[[ -z $surface || -n $base || -f $surface ]] || usage "surface: there is no file $surface; write it with mcpctl snapshot -O $surface"

mkdir -p "$reports"
rm -f "$reports/surface-diff.json"
files=(json=conform.json html=conform.html junit=conform.xml sarif=conform.sarif badge=badge.json badge-svg=badge.svg)
for file in "${files[@]}"; do
	rm -f "$reports/${file#*=}" # of an earlier run
	arguments+=(--report "${file%%=*}=$reports/${file#*=}")
done
if [[ -n ${GITHUB_STEP_SUMMARY:-} ]]; then
	arguments+=(--report github)
else
	arguments+=(--report "github=$reports/conform.md")
fi

target=("$url")
if [[ -z $url ]]; then
	split "$server" >/dev/null || usage "server: a quote is not closed"
	target=(--)
	while IFS= read -r -d '' word; do target+=("$word"); done < <(split "$server")
fi
arguments+=("${target[@]}")

mcpctl=${CONFORM_MCPCTL:-}
if [[ -z $mcpctl ]]; then
	mcpctl=${RUNNER_TEMP:-${TMPDIR:-/tmp}}/mainstay-mcpctl/mcpctl$(go env GOEXE)
	# The Go of the job may be older than go.mod asks for.
	GOTOOLCHAIN=auto "$source/scripts/build-mcpctl.sh" "$mcpctl"
fi

rc=0
"$mcpctl" "${arguments[@]}" || rc=$?

verdict=none
if [[ -f $reports/conform.json ]]; then
	verdict=$(sed -n '/^  "summary": {/,/^  }/s/^    "verdict": "\([a-z]*\)".*/\1/p' "$reports/conform.json")
else
	complain "the server could not be judged (exit $rc): see the log of this step"
fi

# The surface: what the server offers, beside what was kept of it. A base without the snapshot is
# one from before there was any.
change=none
if [[ -n $surface ]]; then
	before=$surface
	if [[ -n $base ]]; then
		before=$reports/surface-base.json
		if ! git show "$base:./$surface" >"$before"; then
			rm -f "$before"
			[[ -f $surface ]] || usage "surface: neither $base nor the folder has $surface; write it with mcpctl snapshot -O $surface"
			before=$surface
		fi
	fi
	changed=0
	"$mcpctl" diff "--fail-on=${CONFORM_SURFACE_FAIL_ON:-breaking}" --report github --report "json=$reports/surface-diff.json" \
		${headers[@]+"${headers[@]}"} "$before" "${target[@]}" || changed=$?
	if [[ ! -f $reports/surface-diff.json ]]; then
		complain "the surface of the server could not be compared (exit $changed): see the log of this step"
	else
		for level in compatible risky breaking; do # the last one is the worst
			! grep -q "^    \"$level\": [1-9]" "$reports/surface-diff.json" || change=$level
		done
	fi
	((rc != 0)) || rc=$changed
fi
output surface "$change"
output verdict "$verdict"
output exit-code "$rc"
output reports "$reports"
for file in "${files[@]}"; do
	[[ ! -f $reports/${file#*=} ]] || output "${file%%=*}" "$reports/${file#*=}"
done
exit "$rc"
