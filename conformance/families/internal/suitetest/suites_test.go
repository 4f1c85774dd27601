package suitetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	familychecks "github.com/mainstay-mcp/mainstay/conformance/families/checks"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// stranger is a server that others wrote: it has one tool and knows nothing of
// this project. capabilities are what it declares.
func stranger(capabilities string) func(message []byte) string {
	return func(message []byte) string {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Version string `json:"protocolVersion"`
			} `json:"params"`
		}
		if json.Unmarshal(message, &m) != nil || len(m.ID) == 0 || m.Method == "" {
			return ""
		}
		body := `"error":{"code":-32601,"message":"Method not found"}`
		switch m.Method {
		case "initialize":
			if !mcp.Version(m.Params.Version).Known() {
				m.Params.Version = "2025-11-25"
			}
			body = fmt.Sprintf(`"result":{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"stranger","version":"1"}}`, m.Params.Version, capabilities)
		case "ping":
			body = `"result":{}`
		case "tools/list":
			body = `"result":{"tools":[{"name":"weather","inputSchema":{"type":"object"}}]}`
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, body)
	}
}

// bothWays is a server of those answers, over stdio and over HTTP. An empty answer
// is none.
func bothWays(t *testing.T, answer func(message []byte) string) map[conformance.TransportKind]conformance.Subject {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		text := answer(body)
		switch {
		case err != nil || r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case text == "":
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, text)
		}
	}))
	t.Cleanup(srv.Close)
	return map[conformance.TransportKind]conformance.Subject{conformance.TransportHTTP: conformance.URL(srv.URL, nil), conformance.TransportStdio: conformance.InProcess(inLines(answer))}
}

// inLines is the server over stdio alone.
func inLines(answer func(message []byte) string) wire.Serve {
	return func(_ context.Context, in io.Reader, out io.Writer) error {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			if text := answer(lines.Bytes()); text != "" {
				fmt.Fprintln(out, text)
			}
		}
		return lines.Err()
	}
}

// seedAreas are the areas of a report that are about the 29 tools.
func seedAreas(t *testing.T, r *conformance.Report) map[string]bool {
	t.Helper()
	bySeed := map[string]bool{}
	for _, sc := range registry() {
		bySeed[sc.ID] = sc.Suite == familychecks.Name
	}
	out := map[string]bool{}
	for i := range r.Results {
		if bySeed[r.Results[i].Scenario] {
			out[r.Results[i].Area] = true
		}
	}
	return out
}

// TestSuites: the checks of the 29 tools of this project are no part of the run
// of a server that does not declare their families, unless they are asked for.
func TestSuites(t *testing.T) {
	t.Parallel()
	const declared = `{"tools":{},"experimental":{"errorProfiles":{"store_artifact":"artifact"}}}`
	short := []string{"LC-01", "X-WIRE-12", "validate_artifact", "coe"}
	for name, c := range map[string]struct {
		capabilities string
		opts         conformance.Options
		want         []string
		protocol     bool
	}{
		"a stranger":                        {`{"tools":{}}`, conformance.Options{Skip: []string{"base", "http", "concurrency"}}, nil, true},
		"a family that is declared":         {declared, conformance.Options{Skip: []string{"base", "http"}}, []string{"validate_artifact", "store_artifact", "approve_artifact", "add_task", "ids", "tasks_api", "ids_api", "tools", "concurrency", "stdio"}, true},
		"asked for by suite":                {`{"tools":{}}`, conformance.Options{Suites: []string{familychecks.Name}, Skip: []string{"base"}}, []string{"validate_artifact", "coe", "assistant"}, false},
		"both suites":                       {`{"tools":{}}`, conformance.Options{Suites: []string{engine.SuiteProtocol, familychecks.Name}, Only: short}, []string{"validate_artifact", "coe"}, true},
		"declared, and the other asked for": {declared, conformance.Options{Suites: []string{engine.SuiteProtocol}, Skip: []string{"base", "http"}}, nil, true},
		"asked for by name":                 {`{"tools":{}}`, conformance.Options{Only: short}, []string{"validate_artifact", "coe"}, true},
	} {
		for transport, subject := range bothWays(t, stranger(c.capabilities)) {
			t.Run(name+"/"+string(transport), func(t *testing.T) {
				t.Parallel()
				opts := c.opts // of this run alone
				opts.Answer, opts.Revisions = time.Second, []mcp.Version{mcp.LatestSession}
				plan, err := planAll(t.Context(), subject, opts)
				require.NoError(t, err)
				opts.Timeout = time.Nanosecond // what is listed matters, not what comes of it
				report, err := runAll(t.Context(), subject, opts)
				require.NoError(t, err)
				require.Len(t, report.Results, len(plan), "the plan lists what the run does")
				got := seedAreas(t, report)
				for _, area := range c.want {
					require.True(t, got[area], "%s in %v", area, got)
				}
				if c.want == nil {
					require.Empty(t, got)
				}
				_, protocol := statuses(report)["LC-01/answered"]
				require.Equal(t, c.protocol, protocol)
			})
		}
	}
	_, err := runAll(t.Context(), healthy(), conformance.Options{Suites: []string{"all"}})
	require.ErrorContains(t, err, `suite "all"`)
}

// TestSuites_KnownFailures: an entry about the 29 tools excuses nothing where
// they are not judged, and is no mistake.
func TestSuites_KnownFailures(t *testing.T) {
	t.Parallel()
	_, err := runAll(t.Context(), conformance.InProcess(inLines(stranger(`{"tools":{}}`))), conformance.Options{
		Only: []string{"LC-01"}, Answer: time.Second, Expected: conformance.Expectations{Failing: expected(t, "known.txt", "S0-VAL-*  # later\n")},
	})
	require.NoError(t, err)
}
