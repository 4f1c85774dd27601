// Package reportsample has reports of the conformance suite for tests that render them.
package reportsample

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Sample is a report with one outcome of each kind.
func Sample() *conformance.Report {
	check := func(id string, level conformance.Level, title string) conformance.Check {
		return conformance.Check{ID: id, Level: level, Title: title, Spec: conformance.Spec{Section: "basic#messages", Quote: "All messages MUST follow JSON-RPC 2.0."}}
	}
	result := func(c conformance.Check, area string, status conformance.Status) conformance.Result {
		return conformance.Result{Check: c, Scenario: c.ID, Area: area, Level: c.Level, Status: status, Attempts: attempts(status), Revision: mcp.Version2025_11_25, Duration: 1500 * time.Microsecond}
	}
	broken := result(check("RPC-07/exclusive", conformance.Must, "every response has exactly one of result and error"), "base", conformance.Fail)
	broken.Expected, broken.Actual = "that of all", "both, with \x1b[31mcolour\x1b[0m"
	broken.Evidence = []conformance.Frame{
		{Dir: conformance.ToServer, Data: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), Size: 40},
		{At: 2 * time.Millisecond, Dir: conformance.FromServer, Data: []byte("{\"id\":1,\"result\":{}\xff"), Size: 9000, HTTP: &conformance.HTTPInfo{Status: 200, ContentType: "application/json"}, Note: "cut"},
	}
	warned := result(check("UTIL-15/bad-cursor", conformance.Should, "a cursor the server never gave is answered with -32602"), "tools", conformance.Warn)
	warned.Expected, warned.Actual = "error -32602", "result {}"
	unknown := result(check("X-WIRE-12/pings", conformance.Must, "200 pings sent at once are each answered once"), "concurrency", conformance.Inconclusive)
	unknown.Detail = "the server closed the connection"
	fault := result(conformance.Check{ID: "S0-STORE-02", Level: conformance.Must, Title: "the file equals the input byte for byte", Spec: conformance.Spec{Seed: "S0-STORE-02"}}, "store_artifact", conformance.Error)
	fault.Detail = "disk full"
	skipped := result(check("HTTP-19/get", conformance.Must, "GET is answered with an event stream or 405"), "http", conformance.Skip)
	skipped.Reason, skipped.Detail = conformance.SkipTransport, "a rule of http"
	excluded := result(check("HTTP-19/other", conformance.Must, "not asked for"), "http", conformance.Skip)
	excluded.Reason = conformance.SkipExcluded
	return &conformance.Report{
		StartedAt: time.Date(2026, 11, 20, 18, 4, 5, 120e6, time.UTC), Duration: 8123 * time.Millisecond,
		Target: conformance.Target{
			Transport: conformance.TransportStdio, Argv: []string{"./my server", "--flag"}, Name: "every\u202ething", Version: "2.0.0",
			Revision: string(mcp.Version2025_11_25), Capabilities: json.RawMessage(`{"tools":{}}`), Tools: 16,
		},
		Policy: conformance.Policy{Revisions: []mcp.Version{mcp.Version2025_11_25}, SideEffects: "all", Granted: true},
		Results: []conformance.Result{
			result(check("RPC-01/version", conformance.Must, `every message has jsonrpc "2.0"`), "base", conformance.Pass),
			broken, warned, unknown, skipped, excluded, fault,
		},
	}
}

// hostile is a server name that tries to break the page it is shown in.
const hostile = "</script><script>alert(1)</script>\x00\x1b[2J@all #1 `x` | [a](javascript:b) \u202e"

// Wide is a report with two revisions, all fields of a policy, and text that attacks its reader.
func Wide() *conformance.Report {
	r := Sample()
	r.Target.Role, r.Target.Transport, r.Target.Argv, r.Target.URL = conformance.RoleServer, conformance.TransportHTTP, nil, "http://127.0.0.1:3000/mcp"
	r.Target.Name, r.Target.Revision, r.Target.Offered = hostile, string(mcp.Version2026_07_28), []string{string(mcp.Version2026_07_28), string(mcp.Version2025_11_25)}
	r.Again = []string{"mcpctl", "conform", "server", ":3000/mcp"}
	r.CI = conformance.CI{Provider: "github", Commit: "9f2c", Ref: "refs/pull/7/merge", URL: "https://example.com/run/1"}
	r.Revisions = []conformance.RevisionReport{
		{Revision: mcp.Version2026_07_28, Name: hostile, Version: "2.0.0", Capabilities: json.RawMessage(`{"tools":{}}`), Tools: 16},
		{Revision: mcp.Version2025_11_25, Tools: -1},
	}
	r.Policy = conformance.Policy{
		Set: string(mcp.Version2026_07_28), Baselines: []string{"known.txt"}, Repeat: 3, Seed: 42, SideEffects: "none",
		Suites: []string{"seeds"}, AllowTools: []string{"echo"}, Only: []string{"*"}, Skip: []string{"x"},
	}
	stateless := append([]conformance.Result{}, r.Results...)
	for i := range stateless {
		res := &stateless[i]
		res.Revision = mcp.Version2026_07_28
		if res.Status != conformance.Skip {
			res.Attempts = 3
		}
		switch res.ID {
		case "RPC-01/version":
			res.Baseline, res.BaselineReason = conformance.BaselineStale, "remove the entry: known.txt:3"
		case "RPC-07/exclusive":
			res.Baseline, res.BaselineReason, res.Bad = conformance.BaselineKnown, hostile, 3
		case "UTIL-15/bad-cursor":
			res.Unscored, res.Bad = true, 1
		case "X-WIRE-12/pings":
			res.Baseline, res.Bad, res.Official = conformance.BaselineFlaky, 2, []string{"ping"}
		}
	}
	session := &r.Results[1]
	session.Actual = hostile
	session.Evidence = append(session.Evidence, conformance.Frame{
		At: time.Second, Dir: conformance.ToServer, Data: []byte(`{"a":"` + hostile + `"}`), Size: 100,
		HTTP: &conformance.HTTPInfo{Method: "POST", ContentType: "application/json", Header: http.Header{"Accept": {"a", "b"}, "X-" + hostile: {hostile}}},
	}, conformance.Frame{Dir: conformance.FromServer, Data: []byte("\xff\xfe"), Size: 2},
		conformance.Frame{At: time.Second, Dir: conformance.FromServer, Data: []byte(strings.Repeat("é", 1000) + "\xc3"), Size: 5000})
	r.Results = append(stateless, r.Results...)
	return r
}

// Passed is a report without failures.
func Passed() *conformance.Report {
	r := Sample()
	r.Results = []conformance.Result{r.Results[0]}
	return r
}

// All are the reports that every format is tested with.
func All() map[string]*conformance.Report {
	empty := &conformance.Report{Target: conformance.Target{Tools: -1}}
	client := Passed()
	client.Target.Role, client.Target.Tools = conformance.RoleClient, -1
	return map[string]*conformance.Report{"sample": Sample(), "wide": Wide(), "passed": Passed(), "client": client, "empty": empty}
}

func attempts(s conformance.Status) int {
	if s == conformance.Skip {
		return 0
	}
	return 1
}
