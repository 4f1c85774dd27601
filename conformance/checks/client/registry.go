// Package client has every check for clients. Its packages play the scenarios; checks.txt
// has their texts.
package client

import (
	_ "embed" // the file below
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client/faults"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client/features"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client/http"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client/lifecycle"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client/messages"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client/stateless"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client/stdio"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client/tools"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

//go:generate gzip -9nkf checks.txt
//go:embed checks.txt.gz
var texts string

// Scenarios returns every scenario, in the order of a report: that of checks.txt, then the
// faults. All runs share them.
var Scenarios = sync.OnceValue(func() []trial.Scenario {
	text, err := engine.Unpack(texts)
	if err != nil {
		panic("conformance: checks/client/checks.txt.gz: " + err.Error()) //nolint:forbidigo // the file is a part of the program
	}
	all, err := trial.Complete(trial.Join(
		messages.Scenarios(), lifecycle.Scenarios(), tools.Scenarios(), features.Scenarios(), stateless.Scenarios(),
		http.Scenarios(), authorization.Scenarios(), stdio.Scenarios(), faults.Scenarios(),
	), text)
	if err != nil {
		panic("conformance: checks/client/checks.txt: " + err.Error()) //nolint:forbidigo // the file is a part of the program
	}
	return all
})
