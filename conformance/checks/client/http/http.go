// Package http judges a client over streamable HTTP: its requests, how it reads streams,
// and its headers.
package http

import (
	_ "embed" // the file below

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
)

//go:embed scripts.txt
var scripts string

// Scenarios returns the scenarios of the area http.
func Scenarios() []trial.Scenario {
	return trial.Join(trial.Scripts(scripts), requests(), responses(), resumption(), headers())
}
