package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// repairHint says which argument names the schema does not know and what they
// may have been meant to be, "" when it knows them all. Models and people
// misspell names more often than they mistake types.
func repairHint(known []string, args json.RawMessage) string {
	var members map[string]json.RawMessage
	if jsonrpc.Unmarshal(args, &members) != nil {
		return ""
	}
	var hints []string
	for name := range members {
		if slices.Contains(known, name) {
			continue
		}
		if near := nearest(name, known); near != "" {
			hints = append(hints, fmt.Sprintf("%q is not an argument; did you mean %q?", jsonrpc.Printable(name, 60), near))
		}
	}
	slices.Sort(hints)
	return strings.Join(hints, " ")
}

// nearest returns the known name closest to name, "" when none is close.
func nearest(name string, known []string) string {
	best, distance := "", 1+len(name)/3
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d < distance || (d == distance && best == "") {
			best, distance = k, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions and replacements of bytes that
// turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
