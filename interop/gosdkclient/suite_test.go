package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/clientsuite"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// The test program is the client, and the bridge that the client starts as its server.
const (
	asClient = "gosdkclient"
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

// TestGlue: the client of go-sdk plays every kind of step through the glue. What it breaks in
// other areas is its own, and docs/conformance-clients.md has the score.
func TestGlue(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for transport, atLeast := range map[conformance.TransportKind]int{conformance.TransportHTTP: 70, conformance.TransportStdio: 60} {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			report, err := clientsuite.Run(t.Context(), clientsuite.Command([]string{self, asClient}, nil), clientsuite.Options{
				Transport: transport, Bridge: []string{self, asBridge}, Parallel: 8,
				Only: []string{"C-HANDSHAKE", "C-SPOKEN", "C-PING", "tools", "C-ELICIT", "C-SAMPLE", "C-PROMPT", "C-COMPLETE", "C-LOG-*", "C-SUBSCRIBE*", "C-LOGIN", "C-TWO-SERVERS", "C-ONE-ISSUER"},
				// go-sdk takes an empty cursor for the end of a list, and checks no results.
				Skip: []string{"C-UTIL-13/empty", "C-TOOL-11/mismatch"},
			})
			require.NoError(t, err)
			passed := 0
			for _, r := range report.Results {
				if r.Status == conformance.Pass {
					passed++
				}
				if r.Level != conformance.Advice && r.Status != conformance.Skip {
					require.Equal(t, conformance.Pass, r.Status, "%s %s: %s%s", r.Revision, r.ID, r.Actual, r.Detail)
				}
			}
			require.GreaterOrEqual(t, passed, atLeast)
		})
	}
}

// TestGlueIsShort: the glue is an example, and it is the one in the documentation.
func TestGlueIsShort(t *testing.T) {
	t.Parallel()
	glue, err := os.ReadFile("main.go")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(glue), "\n"), 60)
	page, err := os.ReadFile("../../docs/conformance-clients.md")
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(page), "```go\n")
	require.True(t, found)
	shown, _, _ = strings.Cut(shown, "```\n")
	require.Equal(t, string(glue), shown)
}
