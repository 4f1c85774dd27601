#!/usr/bin/env bash
# Runs the script of action.yml whole, as a job of GitHub Actions would: from a clean clone, in a
# project that is not this one. Exit 0: everything was as expected. Needs go and git.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
server=

finish() {
	local rc=$?
	if [[ -n $server ]]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
	fi
	((rc == 0)) || { echo "action-test: exit $rc" >&2; tail -n 20 "$work/log" >&2 || true; }
	rm -rf "$work"
	exit "$rc"
}
trap finish EXIT

die() {
	echo "action-test: $*" >&2
	exit 1
}

git clone -q --depth 1 "file://$PWD" "$work/action"
go build -o "$work/refserver" ./cmd/refserver
mkdir "$work/project"

# step EXIT NAME=VALUE… runs the script with these inputs, as a step of a job would.
step() {
	local want=$1 rc=0
	shift
	: >"$work/output"
	: >"$work/summary"
	(
		cd "$work/project"
		env GITHUB_ACTIONS=true GITHUB_OUTPUT="$work/output" GITHUB_STEP_SUMMARY="$work/summary" \
			RUNNER_TEMP="$work/temp" "$@" bash "$work/action/scripts/action.sh"
	) >"$work/log" 2>&1 </dev/null || rc=$?
	((rc == want)) || die "exit $rc, not $want"
}

# has FILE TEXT…: does the file of the step have each of these texts?
has() {
	local file=$1 text
	shift
	for text in "$@"; do
		grep -qF -- "$text" "$work/$file" || die "$file lacks: $text"
	done
}

began=$SECONDS
step 0 CONFORM_SERVER="$work/refserver --families 'artifact'" CONFORM_SPEC=2025-11-25 \
	CONFORM_ARGS="--suite protocol --only 'lifecycle'"
has output verdict=passed exit-code=0 reports=mcp-conformance
has summary "MCP conformance passed"
# Each output of action.yml is set, and the reports are where it says.
while IFS= read -r name; do
	has output "$name="
done < <(sed -n 's/.*steps\.conform\.outputs\.\([a-z-]*\) .*/\1/p' "$work/action/action.yml")
for name in json html junit sarif badge badge-svg; do
	file=$(sed -n "s/^$name=//p" "$work/output")
	[[ -s $work/project/$file ]] || die "no report $name at $file"
done
has project/mcp-conformance/badge.json "passed"

# From here on the program that the first step built is used.
built=$(find "$work/temp" -name 'mcpctl*' -type f)
[[ -x $built ]] || die "mcpctl is not in RUNNER_TEMP"
export CONFORM_MCPCTL=$built CONFORM_SPEC=2025-11-25

echo 'LC-01/answered # fixed long ago' >"$work/project/known.txt"
step 1 CONFORM_SERVER="$work/refserver" CONFORM_ARGS="--only LC-01" CONFORM_KNOWN_FAILING=known.txt CONFORM_REPORTS=out/reports
has output verdict=failed exit-code=1 json=out/reports/conform.json
has log "::error title="
has summary "MCP conformance failed"

: >"$work/server" # it is read before the server may have opened it
"$work/refserver" --http 127.0.0.1:0 2>"$work/server" &
server=$!
for _ in {1..600}; do
	url=$(sed -n 's/.*"event":"listening","url":"\([^"]*\)".*/\1/p' "$work/server")
	[[ -z $url ]] || break
	sleep 0.1
done
# shellcheck disable=SC2016 # mcpctl expands it
step 0 CONFORM_URL="$url" CONFORM_HEADERS='Authorization: Bearer ${WORD}' WORD=b1g-secret CONFORM_SIDE_EFFECTS=none \
	CONFORM_STRICT=true CONFORM_ARGS="--only LC-01"
has output verdict=passed
! grep -rq b1g-secret "$work/log" "$work/summary" "$work/project" || die "a report has the credentials"

step 0 CONFORM_URL="$url" CONFORM_GENTLE=true CONFORM_ARGS="--only LC-01"
step 2 CONFORM_URL="$url" CONFORM_GENTLE=true CONFORM_ARGS="--parallel 2" # which a gentle run refuses

# The surface: a snapshot of the repository, and that of its base.
git -C "$work/project" init -q
"$built" snapshot -q -O "$work/project/surface.json" -- "$work/refserver" --families artifact
git -C "$work/project" add surface.json
git -C "$work/project" -c user.name=test -c user.email=test@example.com commit -qm "Keep the surface"
shared=(CONFORM_SERVER="$work/refserver --families artifact" CONFORM_ARGS="--only LC-01" CONFORM_SURFACE=surface.json)
step 0 "${shared[@]}"
has output surface=none verdict=passed
has summary "MCP surface: no changes"
sed '/^      "description"/s/: "/: "Once: /' "$work/project/surface.json" >"$work/changed"
cp "$work/changed" "$work/project/surface.json"
step 0 "${shared[@]}"
has output surface=risky
has log "::warning file=surface.json,line="
step 1 "${shared[@]}" CONFORM_SURFACE_FAIL_ON=risky
has summary "| risky |"
step 0 "${shared[@]}" CONFORM_SURFACE_FAIL_ON=any CONFORM_SURFACE_BASE=HEAD # which has the file as it was
has output surface=none
step 1 CONFORM_SERVER="$work/refserver --families coe" CONFORM_ARGS="--only LC-01" CONFORM_SURFACE=surface.json
has output surface=breaking
has log "::error file=surface.json,line="
step 2 "${shared[@]}" CONFORM_SURFACE=none.json
step 2 CONFORM_SERVER="$work/refserver" CONFORM_SURFACE_BASE=HEAD
step 2 "${shared[@]}" CONFORM_SURFACE_FAIL_ON=some

step 3 CONFORM_SERVER=false
has output verdict=none exit-code=3
has log "::error title=MCP conformance::"
! grep -q '^json=' "$work/output" || die "an output names a report that was not written"

step 2
step 2 CONFORM_SERVER=x CONFORM_URL=http://127.0.0.1:1/mcp
step 2 CONFORM_SERVER="$work/refserver 'open"
step 2 CONFORM_SERVER="$work/refserver" CONFORM_STRICT=yes
step 2 CONFORM_URL="$url" CONFORM_GENTLE=yes
echo "action.yml: 19 steps as expected in $((SECONDS - began))s"
