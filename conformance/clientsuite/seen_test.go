package clientsuite

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// sparing is all that a client sends that uses nothing it need not use.
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

// TestObserved_Sparing: a client that sends what every client must send, and no
// more, leaves nothing open. What it did not use is skipped.
func TestObserved_Sparing(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Version{session, modern} {
		for _, transport := range []conformance.TransportKind{overHTTP, overStdio} {
			t.Run(string(transport)+" "+string(revision), func(t *testing.T) {
				t.Parallel()
				l := &revisionRun{suite: &suite{opts: Options{Transport: transport}}, revision: revision}
				r := &run{rev: l, tape: newTape(), name: "one"}
				for _, text := range sparing(revision) {
					r.tape.received(sparingMessage(transport, revision, text))
					if m := r.tape.sent[len(r.tape.sent)-1]; m.isRequest() {
						m.reply, m.agreed = http.Header{"Content-Type": {jsonBody}, sessionHeader: {"one"}}, string(revision)
						r.tape.answering(m, http.StatusOK, jsonBody)
					}
				}
				if transport == overHTTP && revision == session {
					r.tape.received(&message{verb: http.MethodDelete, path: endpoint, header: sparingMessage(transport, revision, "{}").header})
				}
				r.over = r.tape.now()
				said := []*trial{{run: r, scenario: &scenario{id: "one"}}}
				skipped := map[string]conformance.SkipReason{}
				for _, sc := range registry() {
					on := &trial{run: &run{rev: l, tape: newTape()}, scenario: &sc}
					if sc.seen == nil || !on.gate() {
						continue
					}
					sc.seen(on, said)
					for _, res := range on.results {
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

func sparingMessage(transport conformance.TransportKind, revision mcp.Version, text string) *message {
	m := &message{}
	m.parse([]byte(text))
	if transport == overHTTP {
		m.verb, m.path = http.MethodPost, endpoint
		m.header = http.Header{"Accept": {jsonBody + ", " + eventStream}, "Content-Type": {jsonBody}}
		if m.method() != mcp.MethodInitialize {
			m.header.Set(versionHeader, string(revision))
		}
		if m.method() != mcp.MethodInitialize && revision == session {
			m.header.Set(sessionHeader, "one")
		}
		if revision.Era() == mcp.EraStateless {
			m.header.Set("Mcp-Method", m.method())
		}
	}
	return m
}

// TestTaped_Dropped: a connection that is broken on purpose is answered no more,
// which Go would complain of on stderr.
func TestTaped_Dropped(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	srv := httptest.NewUnstartedServer(taped(newTape(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		(&httpWay{w: w}).drop()
	})))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(&said, nil), slog.LevelError)
	srv.Start()
	res, err := http.Post(srv.URL, jsonBody, http.NoBody)
	if err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	srv.Close()
	require.Empty(t, said.String())
}
