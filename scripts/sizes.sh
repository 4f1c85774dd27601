#!/usr/bin/env bash
# What mcpctl and a client that makes one call weigh, in kB, by module and package: make sizes.
# Line tables are spread over packages by the size of their code. What belongs to no
# package are types, strings and headers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GOOS=linux CGO_ENABLED=0

cat >"$work/hello.go" <<'EOF'
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/mainstay-mcp/mainstay/client"
)

func main() {
	c, err := client.Dial(context.Background(), os.Args[1])
	if err != nil {
		panic(err)
	}
	defer c.Close()
	fmt.Println(c.CallTool(context.Background(), "greet", map[string]any{"name": "you"}))
}
EOF

# packages PROGRAM: a line each, its path, its row and the bytes that it embeds.
packages() {
	local path module dir files
	go list -deps -f '{{.ImportPath}} {{with .Module}}{{.Path}}{{else}}-{{end}} {{.Dir}} {{join .EmbedFiles " "}}' "$1" |
		while read -r path module dir files; do
			# shellcheck disable=SC2086 # names without spaces
			echo "$path $module $([[ -z $files ]] || (cd "$dir" && cat $files) | wc -c)"
		done
}

# at SYMBOL: its address.
at() { echo $((16#$(awk -v name="$1" '$4 == name { print $1 }' "$work/nm"))); }

for program in ./cmd/mcpctl "$work/hello.go"; do
	if [[ $program == ./cmd/mcpctl ]]; then
		scripts/build-mcpctl.sh "$work/stripped"
		LDFLAGS=-w scripts/build-mcpctl.sh "$work/symbols"
	else
		go build -trimpath -ldflags='-s -w' -o "$work/stripped" "$program"
		go build -trimpath -ldflags=-w -o "$work/symbols" "$program"
	fi
	packages "$program" >"$work/packages"
	go tool nm -size "$work/symbols" >"$work/nm"
	awk -v tables=$(($(at runtime.epclntab) - $(at runtime.pclntab))) -v bss="$(at runtime.bss)" -v total="$(wc -c <"$work/stripped")" -v name="$(basename "$program" .go)" '
	FILENAME ~ /packages$/ { # of the standard library the first element of the path, of ours two
		n = split($1, part, "/"); row = $2
		if (row == "-") row = part[1]
		else if (part[2] == "mainstay-mcp") row = part[4] (n > 4 ? "/" part[5] : "")
		rows[$1] = main = row; embedded[row] += $3; next # the last is package main
	}
	hex($1) < bss && $4 !~ /^(go|type):/ {
		symbol = $4; sub(/\[.*/, "", symbol)
		match(symbol, /^.*\//); folder = substr(symbol, 1, RLENGTH > 0 ? RLENGTH : 0)
		last = substr(symbol, length(folder) + 1); sub(/\..*/, "", last); gsub(/%2e/, ".", last)
		row = folder last == "main" ? main : rows[folder last]
		if (row == "") next
		if ($3 ~ /[Tt]/) { code[row] += $2; allcode += $2 } else data[row] += $2
	}
	function hex(text,  i, n) {
		for (i = 1; i <= length(text); i++) n = 16 * n + index("0123456789abcdef", substr(text, i, 1)) - 1
		return n
	}
	function line(all, c, l, d, e, row) { printf "%6d %6d %6d %6d %6d  %s\n", all / 1000, c / 1000, l / 1000, d / 1000, e / 1000, row | "sort -rn | head -31" }
	END {
		printf "%s: %d bytes, stripped\n%6s %6s %6s %6s %6s\n", name, total, "all", "code", "lines", "data", "files"
		fflush()
		for (row in embedded) {
			lines = tables * code[row] / allcode
			all = code[row] + lines + data[row] + embedded[row]; left += all
			line(all, code[row], lines, data[row], embedded[row], row)
		}
		line(total - left, 0, 0, total - left, 0, "(types, strings, headers)")
		close("sort -rn | head -31"); print ""
	}' "$work/packages" "$work/nm"
done
