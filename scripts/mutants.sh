#!/usr/bin/env bash
# How many wrong servers the suite notices (conformance/families/internal/mutants): each mutant
# gets a reference server of its own, and the suite until a check notices it.
# Writes docs/generated/conformance-mutants.md and the record the short form in the tests
# uses. With patterns of ids, commas between them, it judges these and writes
# nothing.
#   mutants.sh [official] [PATTERN,…]
# official: the official suite instead, whose record is kept beside.
# JOBS=n runs n mutants at once (2). PROGRESS=FILE keeps what is noticed as the run
# goes on; a run with the same file takes it from there and asks only for the rest.
# The file belongs to one state of the tree.
# Exit 0: at least 95 % noticed; 1: fewer; 75: the official suite is not installed
# (scripts/official.sh installs it).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SUITE=0.2.0-alpha.12
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
records=conformance/families/internal/mutants/testdata

go build -o "$work/" ./cmd/refserver ./conformance/families/internal/mutants/cmd/mutants
run=("$work/mutants" -refserver "$work/refserver" -jobs "${JOBS:-2}" -official "$records/official.json" -progress "${PROGRESS:-}")
if [[ ${1:-} == official ]]; then
	shift
	modules=${MAINSTAY_OFFICIAL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mainstay-official/$SUITE}/node_modules
	node=$modules/node/bin/node
	[[ -x $node ]] || node=node
	if [[ ! -f $modules/@modelcontextprotocol/conformance/dist/index.js ]]; then
		echo "the official suite is not installed: run scripts/official.sh first" >&2
		exit 75
	fi
	run+=(-node "$node" -suite "$modules/@modelcontextprotocol/conformance/dist/index.js")
elif (($# == 0)); then
	run+=(-out docs/generated/conformance-mutants.md -noticed "$records/noticed.json")
fi
"${run[@]}" -only "${1:-*}"
