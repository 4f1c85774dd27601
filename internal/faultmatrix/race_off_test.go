//go:build !race

package faultmatrix

import "github.com/mainstay-mcp/mainstay/conformance/faults"

// raced says that the race detector runs.
const raced = false

// floods are as large as the catalogue has them.
var floods = map[string]faults.Rule{}
