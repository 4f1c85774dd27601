package clientsuite_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/clientsuite"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestSpoken: a client is judged in the revision that the options name only if it offers that
// one. Without a name it is judged in the newest one that it goes on with.
func TestSpoken(t *testing.T) {
	t.Parallel()
	const spoken, latest, messages = "C-LC-02/spoken", "C-LC-02/latest", "C-RPC-01/json"
	for name, c := range map[string]struct {
		defect  string
		asked   mcp.Version // none: ""
		judged  []mcp.Version
		status  map[string]conformance.Status // in the last of them
		detail  string                        // of the offer
		verdict conformance.Verdict
	}{
		"right": {
			asked: session, judged: []mcp.Version{session}, verdict: conformance.Passed,
			status: map[string]conformance.Status{spoken: conformance.Pass, latest: conformance.Pass, messages: conformance.Pass},
		},
		"an older offer": {
			defect: "offers-old", asked: session, judged: []mcp.Version{session}, verdict: conformance.VerdictInconclusive,
			status: map[string]conformance.Status{spoken: conformance.Inconclusive, latest: conformance.Warn, messages: conformance.Pass},
			detail: "it offers 2025-03-26: a server that speaks this, too, will not use 2025-11-25 with it",
		},
		"an older offer, not asked": {
			defect: "offers-old", judged: []mcp.Version{stateless, session}, verdict: conformance.Passed,
			status: map[string]conformance.Status{spoken: conformance.Pass, latest: conformance.Warn, messages: conformance.Pass},
		},
		"another revision": {
			defect: "only-old", asked: session, judged: []mcp.Version{session}, verdict: conformance.VerdictInconclusive,
			status: map[string]conformance.Status{spoken: conformance.Inconclusive, latest: conformance.Skip, messages: conformance.Skip},
			detail: "it offers 2025-03-26, and leaves when the server answers 2025-11-25",
		},
		"another revision, not asked": {
			defect: "only-old", judged: []mcp.Version{stateless, mcp.Version2025_03_26}, verdict: conformance.Passed,
			status: map[string]conformance.Status{spoken: conformance.Pass, latest: conformance.Pass, messages: conformance.Pass},
		},
		"another era": {
			defect: "session-only", asked: stateless, judged: []mcp.Version{stateless}, verdict: conformance.VerdictInconclusive,
			status: map[string]conformance.Status{spoken: conformance.Inconclusive, messages: conformance.Skip},
			detail: "it offers 2025-11-25 in initialize, and no request names 2026-07-28",
		},
		"the stateless era only": {
			defect: "stateless-only", asked: session, judged: []mcp.Version{session}, verdict: conformance.VerdictInconclusive,
			status: map[string]conformance.Status{spoken: conformance.Inconclusive, messages: conformance.Skip},
			detail: "its requests name 2026-07-28, and it sends no initialize",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				// The check of the offer is decided whatever is selected, where the offer is wrong.
				opts := clientsuite.Options{Parallel: 1000, Only: []string{latest, messages}}
				if c.verdict == conformance.Passed {
					opts.Only = append(opts.Only, spoken)
				}
				if c.asked != "" {
					opts.Revisions = []mcp.Version{c.asked}
				}
				report, err := clientsuite.Run(t.Context(), &toy{defect: c.defect, net: newMemory()}, opts)
				require.NoError(t, err)
				var judged []mcp.Version
				for _, r := range report.Revisions {
					judged = append(judged, r.Revision)
				}
				require.Equal(t, c.judged, judged)
				got, detail := map[string]conformance.Status{}, ""
				for _, r := range report.Results {
					if _, wanted := c.status[r.ID]; wanted && r.Revision == judged[len(judged)-1] {
						got[r.ID] = r.Status
						if r.ID == spoken {
							detail = r.Detail
						}
					}
				}
				require.Equal(t, c.status, got)
				require.Equal(t, c.detail, detail)
				require.Equal(t, c.verdict, report.Verdict())
			})
		})
	}
}
