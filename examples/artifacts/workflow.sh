#!/usr/bin/env bash
# The artifact workflow from end to end, as an agent runs it: an initiative, its
# epic and its PRD are validated, stored and approved, and a worker takes the
# tasks that follow. At the end come the log lines that share the workflow's id.
# Exit 0: everything was as expected; anything else: something was not.
# Needs go and curl, nothing else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

TASK=7d9f2c1e-6a54-4f0b-9c3d-2b8e5a17c046 # the task_id in all examples
examples=examples/artifacts
work=$(mktemp -d)
server=

finish() {
	local rc=$?
	if [[ -n $server ]]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
	fi
	((rc == 0)) || { echo "workflow: exit $rc" >&2; tail -n 5 "$work/log" >&2 || true; }
	rm -rf "$work"
	exit "$rc"
}
trap finish EXIT

die() {
	echo "workflow: $*" >&2
	exit 1
}

# field NAME prints the string member NAME of the log line that has it.
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$work/log" | head -n 1; }

# A program that go run starts does not get its signals, so the server is built.
go build -o "$work/refserver" ./cmd/refserver
mkdir -p "$work/data/artifacts"
cp -R "$examples/research" "$work/data/artifacts/research"
"$work/refserver" --http 127.0.0.1:0 --families artifact --data "$work/data" 2>"$work/log" &
server=$!
for _ in $(seq 100); do
	[[ -n $(field url) ]] && break
	kill -0 "$server" 2>/dev/null || die "the server ended"
	sleep 0.1
done
url=$(field url) tasks=$(field tasks_url)
[[ -n $url && -n $tasks ]] || die "the server does not say where it listens"

# call EXIT TEXT… -- TOOL ARGUMENT…: calls a tool, and looks at mcpctl's exit
# code and for every text in what it says.
call() {
	local want=$1 rc=0 texts=() text
	shift
	while [[ $1 != -- ]]; do
		texts+=("$1")
		shift
	done
	shift
	echo "\$ mcpctl call $*"
	go run ./cmd/mcpctl call -o json "$url" "$@" >"$work/out" 2>&1 </dev/null || rc=$?
	# go run itself exits with 1 for any failure, and says which it was.
	((rc == 0)) || rc=$(sed -n 's/^exit status //p' "$work/out")
	for text in "${texts[@]}"; do
		grep -qF -- "$text" "$work/out" || { cat "$work/out" >&2; die "the answer lacks $text"; }
	done
	((rc == want)) || { cat "$work/out" >&2; die "exit $rc, not $want"; }
}

# next ARTIFACT expects the oldest pending task to make ARTIFACT, and does it.
next() {
	local answer id
	answer=$(curl -fsS "$tasks/tasks/next?project=ai-agent-mcp-server")
	[[ $answer == *"\"artifact_id\":\"$1\""* ]] || die "the next task is not $1: $answer"
	id=$(sed -n 's/.*"task_id":"\(TASK-[0-9]*\)".*/\1/p' <<<"$answer")
	for status in in_progress completed; do
		curl -fsS -X PUT -H 'Content-Type: application/json' -H "X-Task-Id: $TASK" \
			-d "{\"status\":\"$status\"}" "$tasks/tasks/$id/status" >/dev/null
	done
	echo "# $id makes $1: done"
}

none() {
	[[ $(curl -fsS "$tasks/tasks/next?project=ai-agent-mcp-server") == *'"task":null'* ]] || die "tasks are left"
}

approve=(approve_artifact "task_id=$TASK")

echo "# An epic waits for its initiative."
call 0 '"success": true' -- store_artifact --json @$examples/init-001.json
call 0 '"passed": true' -- validate_artifact --json @$examples/epic-006-validate.json
call 0 'mcp://resources/artifacts/epics/EPIC-006_v1.md' -- store_artifact --json @$examples/epic-006.json
call 6 'Parent INIT-001 must be approved first' -- "${approve[@]}" artifact_id=EPIC-006
call 0 '"new_status": "Approved"' -- "${approve[@]}" artifact_id=INIT-001
call 0 '"tasks_created": 1' '"PRD-006"' -- "${approve[@]}" artifact_id=EPIC-006
next PRD-006

echo "# A PRD waits for the answer to its open question."
call 0 '"passed": true' '"24/24"' -- validate_artifact --json @$examples/prd-006-validate.json
call 0 '"success": true' -- store_artifact --json @$examples/prd-006.json
call 6 'Artifact has 1 open question requiring resolution' -- "${approve[@]}" artifact_id=PRD-006
call 0 '"passed": true' -- validate_artifact --json @$examples/prd-006-answered-validate.json
call 0 '"success": true' -- store_artifact --json @$examples/prd-006-answered.json
none # nobody has said yes yet

echo "# Approved, it has final ids, and its stories are tasks."
call 0 '"HLS-AAA": "HLS-001"' '"tasks_created": 3' '"reservation_confirmed": true' -- "${approve[@]}" artifact_id=PRD-006
call 6 'Artifact PRD-006 already approved' -- "${approve[@]}" artifact_id=PRD-006
! grep -q 'HLS-[A-Z]\{3\}' "$work/data/artifacts/prd/PRD-006_v1.md" || die "a placeholder is left"
next HLS-001
next HLS-002
next HLS-003
none

echo "# Every line of the workflow, of the tools and of the services:"
grep -F "\"task_id\":\"$TASK\"" "$work/log" >"$work/lines" || die "no line has the workflow's id"
cat "$work/lines"
for event in validate_artifact store_artifact approve_artifact add_task; do
	grep -qF "\"event\":\"${event}_invocation_completed\"" "$work/lines" || die "no line of $event"
done
echo "# The workflow is complete: $(wc -l <"$work/lines" | tr -d ' ') lines share its id."
