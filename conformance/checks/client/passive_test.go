package client

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	overHTTP  = conformance.TransportHTTP
	overStdio = conformance.TransportStdio
	session   = mcp.LatestSession
	modern    = mcp.Latest
)

// sparing is what a client sends that uses nothing optional.
func sparing(revision mcp.Version) []string {
	if revision.Era() == mcp.EraStateless {
		meta := `"params":{"_meta":{"` + mcp.MetaProtocolVersion + `":"` + string(revision) + `","` + mcp.MetaClientCapabilities + `":{},"` +
			mcp.MetaClientInfo + `":{"name":"c","version":"1"}}}}`
		return []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list",` + meta}
	}
	return []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + string(revision) + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	}
}

// TestPassive_Sparing: no check is inconclusive for a client that sends only what every
// client must send. What it did not use is skipped.
func TestPassive_Sparing(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Version{session, modern} {
		for _, transport := range []conformance.TransportKind{overHTTP, overStdio} {
			t.Run(string(transport)+" "+string(revision), func(t *testing.T) {
				t.Parallel()
				setting := &trial.Setting{Transport: transport, Revision: revision}
				said := &trial.Trial{Run: trial.NewRun(t.Context(), setting, "one"), Scenario: &trial.Scenario{ID: "one"}}
				for _, text := range sparing(revision) {
					m := sparingMessage(transport, revision, text)
					said.Tape.Received(m)
					if m.IsRequest() {
						m.Reply, m.Agreed = http.Header{"Content-Type": {peer.JSONBody}, peer.SessionHeader: {"one"}}, string(revision)
						said.Tape.Answering(m, http.StatusOK, peer.JSONBody)
					}
				}
				if transport == overHTTP && revision == session {
					said.Tape.Received(&peer.Message{Verb: http.MethodDelete, Path: peer.Endpoint, Header: sparingMessage(transport, revision, "{}").Header})
				}
				said.Ended = said.Tape.Now()
				skipped := map[string]conformance.SkipReason{}
				for _, sc := range Scenarios() {
					on := trial.New(setting, &sc)
					if sc.Judge == nil || sc.Area == authorization.Area || !on.Gate(func(string) bool { return true }) {
						continue
					}
					on.Judge(t.Context(), []*trial.Trial{said})
					for _, res := range on.Results {
						switch {
						case res.Reason == conformance.SkipNotInRevision:
						case res.Status == conformance.Skip:
							skipped[res.ID] = res.Reason
						default:
							require.Equal(t, conformance.Pass, res.Status, "%s: %s%s", res.ID, res.Actual, res.Detail)
						}
					}
				}
				for id, reason := range skipped {
					require.Equal(t, conformance.SkipNotDeclared, reason, id)
				}
				want := []string{"C-UTIL-03/own", "C-UTIL-08/token"}
				if revision == session {
					want = append(want, "C-META-01/keys", "C-RPC-08/error", "C-TASK-01/undeclared")
				}
				if transport == overHTTP && revision == modern {
					want = append(want, "C-HTTP-31/name")
				}
				var got []string
				for id := range skipped {
					got = append(got, id)
				}
				slices.Sort(want)
				slices.Sort(got)
				require.Equal(t, want, got)
			})
		}
	}
}

func sparingMessage(transport conformance.TransportKind, revision mcp.Version, text string) *peer.Message {
	m := &peer.Message{}
	m.Parse([]byte(text))
	if transport == overHTTP {
		m.Verb, m.Path = http.MethodPost, peer.Endpoint
		m.Header = http.Header{"Accept": {peer.JSONBody + ", " + peer.EventStream}, "Content-Type": {peer.JSONBody}}
		if m.Method() != mcp.MethodInitialize {
			m.Header.Set(peer.VersionHeader, string(revision))
		}
		if m.Method() != mcp.MethodInitialize && revision == session {
			m.Header.Set(peer.SessionHeader, "one")
		}
		if revision.Era() == mcp.EraStateless {
			m.Header.Set("Mcp-Method", m.Method())
		}
	}
	return m
}

// TestScenarios: every check is there once, has a source, and a level that its source can
// give it. That each scenario has a text, and each text a scenario, is part of reading them.
func TestScenarios(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, sc := range Scenarios() {
		require.NotEqual(t, sc.Play == nil, sc.Judge == nil, sc.ID)
		require.NotEmpty(t, sc.Checks, sc.ID)
		for _, c := range sc.Checks {
			require.False(t, ids[c.ID], c.ID)
			ids[c.ID] = true
			require.NotEmpty(t, c.Title, c.ID)
			require.NotEqual(t, c.Spec.Section == "", c.Spec.Requirement == "", "%s has one source", c.ID)
			require.LessOrEqual(t, len(c.Spec.Quote), 200, c.ID)
			if sc.Area == authorization.Area {
				require.Equal(t, c.Spec.Section == "", c.Level == conformance.Advice, "%s: what the specification does not say is advice", c.ID)
			}
		}
	}
	require.Greater(t, len(ids), 500)
}

// TestComplete_Missing: a scenario without a text is an error, and so is a text without a
// scenario.
func TestComplete_Missing(t *testing.T) {
	t.Parallel()
	_, err := trial.Complete([]trial.Scenario{{ID: "C-A"}}, "")
	require.EqualError(t, err, "scenario C-A has no entry")
	_, err = trial.Complete(nil, "area a\n\nscenario C-A: title\n\nC-A, MUST: t\n  basic: quote\n")
	require.EqualError(t, err, "the entry C-A has no scenario")
}
