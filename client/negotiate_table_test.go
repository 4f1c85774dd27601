package client_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// What the wire shows of an outcome: the methods each start of a program got.
var (
	probed   = []string{"server/discover"}
	probed2  = []string{"server/discover", "server/discover"}
	opened   = []string{"initialize", "notifications/initialized"}
	onTop    = []string{"server/discover", "initialize", "notifications/initialized"}
	asBefore = "session"
)

// seen is the wire, and how connecting ended: "stateless", "session" or the
// kind of the error.
type seen struct {
	wire [][]string
	end  string
}

func stateless() seen           { return seen{[][]string{probed}, "stateless"} }
func sameSession() seen         { return seen{[][]string{onTop}, asBefore} }
func freshSession() seen        { return seen{[][]string{probed, opened}, asBefore} }
func corrected() seen           { return seen{[][]string{probed2}, "stateless"} }
func refused(kind string) *seen { return &seen{[][]string{probed}, kind} }

// The decision table of protocol.md 4.2, row by row, on the wire of a program,
// of another byte stream and of HTTP (NEG-04 to NEG-08, NEG-14, NEG-15).
func TestProbeReplies(t *testing.T) {
	t.Parallel()
	version := func(supported string) *jsonrpc.Error {
		return rpcError(-32022, "Unsupported protocol version", `{"supported":`+supported+`,"requested":"2026-07-28"}`)
	}
	list := func(versions string) rawResult { return rawResult(`{"supportedVersions":` + versions + `}`) }
	status := func(code int) httpReply { return httpReply{status: code, body: "no"} }
	all := func(s seen) [3]*seen { return [3]*seen{&s, &s, &s} }
	none := (*seen)(nil)
	webOnly := func(s *seen) [3]*seen { return [3]*seen{none, none, s} }
	unset := func(s seen) *seen { return &s }
	for name, tc := range map[string]struct {
		reply any
		row   string
		want  [3]*seen // program, stream, HTTP
	}{
		"a whole result":                {rawResult(discoverAnswer), "discovered", all(stateless())},
		"a list alone":                  {list(`["2026-07-28"]`), "discovered", all(stateless())},
		"a list with unknown revisions": {list(`["zzz","2027-01-01","2026-07-28","2024-11-05"]`), "discovered", all(stateless())},
		"sessions only":                 {list(`["2025-06-18","2024-11-05"]`), "discovered-session-only", all(sameSession())},
		"sessions and the unknown":      {list(`["2027-01-01","2025-11-25"]`), "discovered-session-only", all(sameSession())},
		"nothing shared":                {list(`["2027-01-01"]`), "", all(*refused("version"))},
		"an empty list":                 {list(`[]`), "", all(*refused("version"))},
		"-32022 with ours":              {version(`["2026-07-28"]`), "discovered", all(corrected())},
		"-32022 with sessions":          {version(`["2025-11-25"]`), "unsupported-session-only", all(sameSession())},
		"-32022 with nothing shared":    {version(`["2027-01-01"]`), "", all(*refused("version"))},
		"-32022 with an empty list":     {version(`[]`), "unsupported-without-list", all(sameSession())},
		"-32022 with a list of numbers": {version(`[1]`), "unsupported-without-list", all(sameSession())},
		"-32022 bare":                   {rpcError(-32022, "no", ""), "unsupported-without-list", all(sameSession())},
		"-32020":                        {rpcError(-32020, "header", ""), "", all(*refused("protocol"))},
		"-32021":                        {rpcError(-32021, "capability", `{"requiredCapabilities":{"roots":{}}}`), "", all(*refused("unsupported"))},
		"-32601":                        {rpcError(-32601, "Method not found", ""), "method-not-found", all(sameSession())},
		"-32602":                        {rpcError(-32602, "Invalid params", ""), "other-error", all(sameSession())},
		"-32600":                        {rpcError(-32600, "Invalid Request", ""), "other-error", all(sameSession())},
		"-32000":                        {rpcError(-32000, "Server not initialized", ""), "other-error", all(sameSession())},
		"-32001":                        {rpcError(-32001, "x", ""), "other-error", all(sameSession())},
		"code 0":                        {rpcError(0, "x", ""), "other-error", all(sameSession())},
		"code 42":                       {rpcError(42, "x", ""), "other-error", all(sameSession())},
		"an error without id (RPC-10)":  {rawLine(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}`), "other-error", all(sameSession())},
		"an empty result":               {rawResult(`{}`), "other-result", all(sameSession())},
		"a list that is none":           {rawResult(`{"supportedVersions":"2026-07-28"}`), "other-result", all(sameSession())},
		"a list of numbers":             {rawResult(`{"supportedVersions":[1]}`), "other-result", all(sameSession())},
		"silence":                       {nil, "silence", [3]*seen{unset(freshSession()), unset(sameSession()), refused("timeout")}},
		"the end":                       {ended{}, "ended", [3]*seen{unset(freshSession()), refused("transport"), unset(corrected())}},
		"400 with an error":             {httpReply{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: no session"}}`}, "other-error", webOnly(unset(sameSession()))},
		"404 with -32601":               {httpReply{404, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"x"}}`}, "method-not-found", webOnly(unset(sameSession()))},
		"400 with -32022":               {httpReply{400, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"x","data":{"supported":["2026-07-28"]}}}`}, "discovered", webOnly(unset(corrected()))},
		"500 with -32601":               {httpReply{500, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"x"}}`}, "", webOnly(&seen{[][]string{probed}, "*"})},
		"401 with -32601":               {httpReply{401, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"x"}}`}, "", webOnly(&seen{[][]string{probed}, "*"})},
		"400 in plain text":             {status(400), "refused", webOnly(unset(sameSession()))},
		"404 in plain text":             {status(404), "refused", webOnly(unset(sameSession()))},
		"405":                           {status(405), "refused", webOnly(unset(sameSession()))},
		"406":                           {status(406), "refused", webOnly(unset(sameSession()))},
		"415":                           {status(415), "refused", webOnly(unset(sameSession()))},
		"200 in plain text":             {status(200), "other-result", webOnly(unset(sameSession()))},
		"202":                           {httpReply{202, ""}, "other-result", webOnly(unset(sameSession()))},
		"401":                           {status(401), "", webOnly(refused("auth"))},
		"403":                           {status(403), "", webOnly(refused("auth"))},
		"408":                           {status(408), "", webOnly(refused("server"))},
		"425":                           {status(425), "", webOnly(refused("server"))},
		"429":                           {status(429), "", webOnly(refused("overloaded"))},
		"500":                           {status(500), "", webOnly(refused("server"))},
		"502":                           {status(502), "", webOnly(refused("server"))},
		"503":                           {status(503), "", webOnly(refused("server"))},
		"504":                           {status(504), "", webOnly(refused("server"))},
		"302":                           {status(302), "", webOnly(refused("transport"))},
	} {
		for i, carrier := range []string{"program", "stream", "HTTP"} {
			want := tc.want[i]
			if want == nil {
				continue
			}
			t.Run(carrier+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					wire, c, err := over(t, carrier, tc.reply)
					if c != nil {
						defer func() { _ = ignoreClosed(c.Close()) }()
					}
					require.Equal(t, want.wire, wire())
					switch want.end {
					case "stateless", "session":
						require.NoError(t, err)
						require.Equal(t, want.end, c.ProtocolVersion().Era().String())
						chosen := c.EraChosen()
						row := tc.row
						if want.end == "stateless" {
							row = "discovered" // the second time
						}
						require.Equal(t, row, chosen.Evidence)
						require.Equal(t, len(want.wire) > 1, chosen.Restarted)
						require.Len(t, chosen.Tried, tries(want.wire))
					case "*":
						require.Error(t, err)
					default:
						require.Error(t, err)
						require.Equal(t, want.end, mcperrors.KindOf(err).String())
					}
				})
			})
		}
	}
}

// tries is how many requests the wire shows.
func tries(wire [][]string) int {
	n := 0
	for _, methods := range wire {
		for _, m := range methods {
			if m != "notifications/initialized" {
				n++
			}
		}
	}
	return n
}

type (
	// rawResult is a result as it is.
	rawResult string
	// httpReply is a status and a body.
	httpReply struct {
		status int
		body   string
	}
	// ended is the end of the stream, program or connection.
	ended struct{}
)

// over connects to a server that replies to its first probe as said and to a
// second one properly.
func over(t *testing.T, carrier string, reply any) (wire func() [][]string, c *client.Client, err error) {
	t.Helper()
	probes := 0
	script := func(_ int, s *fakeServer) {
		s.on("server/discover", func(req jsonrpc.Request) any {
			probes++
			if probes > 1 {
				return json.RawMessage(discoverAnswer)
			}
			switch r := reply.(type) {
			case rawResult:
				return json.RawMessage(r)
			case ended:
				_ = s.conn.Close()
				return nil
			}
			return reply
		})
	}
	switch carrier {
	case "program":
		p := &program{t: t, script: script}
		c, err = find(t, p)
		wire = p.wire
	case "stream":
		tr, s := newFake(t)
		script(0, s)
		c, err = find(t, tr)
		wire = func() [][]string { return [][]string{s.methods()} }
	default:
		s := newProbedSite(t)
		s.on("server/discover", func(probedRequest) (int, string) {
			probes++
			if probes > 1 {
				return http.StatusOK, `{"jsonrpc":"2.0","id":ID,"result":` + discoverAnswer + `}`
			}
			switch r := reply.(type) {
			case rawResult:
				return http.StatusOK, `{"jsonrpc":"2.0","id":ID,"result":` + string(r) + `}`
			case rawLine:
				return http.StatusOK, string(r)
			case *jsonrpc.Error:
				return http.StatusOK, `{"jsonrpc":"2.0","id":ID,"error":` + string(r.AppendJSON(nil)) + `}`
			case httpReply:
				return r.status, r.body
			case ended:
				return 0, ""
			}
			return 1, ""
		})
		c, err = find(t, s.transport(), client.WithResilience(client.Resilience{IdleTimeout: time.Minute}))
		wire = func() [][]string { return [][]string{s.methods()} }
	}
	synctest.Wait()
	return wire, c, err
}

// The session is begun with the revision the server listed (NEG-06).
func TestListedSessionRevisionIsOffered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		s.result("server/discover", `{"supportedVersions":["2024-11-05","2025-06-18"]}`)
		s.result("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`)
		chosen := found(t, tr)
		require.Equal(t, mcp.Version2025_06_18, chosen.Version)
		require.Contains(t, s.received()[1], `"protocolVersion":"2025-06-18"`)
	})
}
