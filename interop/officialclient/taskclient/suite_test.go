package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/clientsuite"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The test program is all that a run starts: by its first argument it is the
// client, or the bridge that the client starts as its server.
const (
	asClient = "taskclient"
	asBridge = "bridge"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case asClient:
			main()
		case asBridge:
			os.Exit(clientsuite.Bridge(os.Args[2])) //nolint:forbidigo // this is main
		}
	}
	testmain.Run(m)
}

// TestOwnClientConforms: our client has no finding, in the newest revision of
// each era and over both transports.
func TestOwnClientConforms(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for _, transport := range []conformance.TransportKind{conformance.TransportHTTP, conformance.TransportStdio} {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			opts := clientsuite.Options{Transport: transport, Bridge: []string{self, asBridge}, Parallel: 8}
			opts.Skip = waiting
			if testmain.Race { // each program is built for the race detector, too
				opts.Only, opts.Skip = []string{"lifecycle"}, nil
			}
			report, err := clientsuite.Run(t.Context(), clientsuite.Command([]string{self, asClient}, nil), opts)
			require.NoError(t, err)
			passed := 0
			for _, r := range report.Results {
				if r.Status == conformance.Pass {
					passed++
					continue
				}
				require.Equal(t, conformance.Skip, r.Status, "%s %s %s: %s%s, expected %s", r.Revision, r.Status, r.ID, r.Actual, r.Detail, r.Expected)
			}
			require.Greater(t, passed, 20)
			require.Len(t, report.Revisions, 2)
			require.Equal(t, conformance.Passed, report.Verdict())
		})
	}
}

// waiting are the scenarios whose servers keep silent until the client gives up.
var waiting = []string{"C-RESOURCE-ENDLESS", "C-TOKEN-SILENT"}

// TestOwnClientGivesUp: a server that never answers does not hold up a login forever.
func TestOwnClientGivesUp(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2, passes(t, clientsuite.Options{Revisions: []mcp.Version{mcp.Latest}, Only: waiting, Parallel: 2}))
}

// TestOwnClientLogsInAsBefore: the one revision whose servers are their own authorization
// servers is not among those of TestOwnClientConforms.
func TestOwnClientLogsInAsBefore(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2, passes(t, clientsuite.Options{Revisions: []mcp.Version{mcp.Version2025_03_26}, Only: []string{"C-LEGACY-*"}}))
}

// passes runs a part of the suite over HTTP and returns how many checks passed; none may
// do anything else but be skipped.
func passes(t *testing.T, opts clientsuite.Options) int {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	report, err := clientsuite.Run(t.Context(), clientsuite.Command([]string{self, asClient}, nil), opts)
	require.NoError(t, err)
	passed := 0
	for _, r := range report.Results {
		if r.Status != conformance.Skip {
			require.Equal(t, conformance.Pass, r.Status, "%s: %s%s", r.ID, r.Actual, r.Detail)
			passed++
		}
	}
	return passed
}

// TestOwnClientTakesBatches: the one revision that has them is not among those
// of TestOwnClientConforms.
func TestOwnClientTakesBatches(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for _, transport := range []conformance.TransportKind{conformance.TransportHTTP, conformance.TransportStdio} {
		report, err := clientsuite.Run(t.Context(), clientsuite.Command([]string{self, asClient}, nil), clientsuite.Options{
			Transport: transport, Bridge: []string{self, asBridge}, Revisions: []mcp.Version{mcp.Version2025_03_26}, Only: []string{"C-BATCH"},
		})
		require.NoError(t, err)
		passed := 0
		for _, r := range report.Results {
			if r.Status != conformance.Skip {
				require.Equal(t, conformance.Pass, r.Status, "%s %s: %s%s", transport, r.ID, r.Actual, r.Detail)
				passed++
			}
		}
		require.Equal(t, 2, passed)
	}
}
