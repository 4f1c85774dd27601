package client_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// What the wire shows of an outcome: the methods each start of a program got.
var (
	probed     = []string{"server/discover"}
	probed2    = []string{"server/discover", "server/discover"}
	wireOpened = []string{"initialize", "notifications/initialized"}
	onTop      = []string{"server/discover", "initialize", "notifications/initialized"}
	asBefore   = "session"
)

// wireSeen is the wire, and how connecting ended: "stateless", "session" or the
// kind of the error.
type wireSeen struct {
	wire [][]string
	end  string
}

func wireStateless() wireSeen           { return wireSeen{[][]string{probed}, "stateless"} }
func wireSession() wireSeen             { return wireSeen{[][]string{onTop}, asBefore} }
func wireFresh() wireSeen               { return wireSeen{[][]string{probed, wireOpened}, asBefore} }
func wireCorrected() wireSeen           { return wireSeen{[][]string{probed2}, "stateless"} }
func wireRefused(kind string) *wireSeen { return &wireSeen{[][]string{probed}, kind} }

// The decision table of the era, row by row, on the wire of a program, of another byte
// stream and of HTTP.
func TestProbeReplies(t *testing.T) {
	t.Parallel()
	version := func(supported string) *jsonrpc.Error {
		return rpcError(-32022, "Unsupported protocol version", `{"supported":`+supported+`,"requested":"2026-07-28"}`)
	}
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	list := func(versions string) json.RawMessage { return raw(`{"supportedVersions":` + versions + `}`) }
	status := func(code int) error { return &clienttest.HTTPError{Status: code, Body: "no"} }
	statusWith := func(code int, err *jsonrpc.Error) error { return &clienttest.HTTPError{Status: code, RPC: err} }
	all := func(s wireSeen) [3]*wireSeen { return [3]*wireSeen{&s, &s, &s} }
	none := (*wireSeen)(nil)
	webOnly := func(s *wireSeen) [3]*wireSeen { return [3]*wireSeen{none, none, s} }
	unset := func(s wireSeen) *wireSeen { return &s }
	for name, tc := range map[string]struct {
		reply any
		row   string
		want  [3]*wireSeen // program, stream, HTTP
	}{
		"a whole result":                {raw(discoverAnswer), "discovered", all(wireStateless())},
		"a list alone":                  {list(`["2026-07-28"]`), "discovered", all(wireStateless())},
		"a list with unknown revisions": {list(`["zzz","2027-01-01","2026-07-28","2024-11-05"]`), "discovered", all(wireStateless())},
		"sessions only":                 {list(`["2025-06-18","2024-11-05"]`), "discovered-session-only", all(wireSession())},
		"sessions and the unknown":      {list(`["2027-01-01","2025-11-25"]`), "discovered-session-only", all(wireSession())},
		"nothing shared":                {list(`["2027-01-01"]`), "", all(*wireRefused("version"))},
		"an empty list":                 {list(`[]`), "", all(*wireRefused("version"))},
		"-32022 with ours":              {version(`["2026-07-28"]`), "discovered", all(wireCorrected())},
		"-32022 with sessions":          {version(`["2025-11-25"]`), "unsupported-session-only", all(wireSession())},
		"-32022 with nothing shared":    {version(`["2027-01-01"]`), "", all(*wireRefused("version"))},
		"-32022 with an empty list":     {version(`[]`), "unsupported-without-list", all(wireSession())},
		"-32022 with a list of numbers": {version(`[1]`), "unsupported-without-list", all(wireSession())},
		"-32022 bare":                   {rpcError(-32022, "no", ""), "unsupported-without-list", all(wireSession())},
		"-32020":                        {rpcError(-32020, "header", ""), "", all(*wireRefused("protocol"))},
		"-32021":                        {rpcError(-32021, "capability", `{"requiredCapabilities":{"roots":{}}}`), "", all(*wireRefused("unsupported"))},
		"-32601":                        {rpcError(-32601, "Method not found", ""), "method-not-found", all(wireSession())},
		"-32602":                        {rpcError(-32602, "Invalid params", ""), "other-error", all(wireSession())},
		"-32600":                        {rpcError(-32600, "Invalid Request", ""), "other-error", all(wireSession())},
		"-32000":                        {rpcError(-32000, "Server not initialized", ""), "other-error", all(wireSession())},
		"-32001":                        {rpcError(-32001, "x", ""), "other-error", all(wireSession())},
		"code 0":                        {rpcError(0, "x", ""), "other-error", all(wireSession())},
		"code 42":                       {rpcError(42, "x", ""), "other-error", all(wireSession())},
		"an error without id (RPC-10)":  {clienttest.Raw(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}`), "other-error", all(wireSession())},
		"an empty result":               {raw(`{}`), "other-result", all(wireSession())},
		"a list that is none":           {raw(`{"supportedVersions":"2026-07-28"}`), "other-result", all(wireSession())},
		"a list of numbers":             {raw(`{"supportedVersions":[1]}`), "other-result", all(wireSession())},
		"silence":                       {clienttest.ErrSilent, "silence", all(wireSession())},
		"the end":                       {clienttest.ErrCut, "ended", [3]*wireSeen{unset(wireFresh()), wireRefused("transport"), unset(wireCorrected())}},
		"400 with an error":             {&clienttest.HTTPError{Status: 400, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: no session"}}`}, "other-error", webOnly(unset(wireSession()))},
		"404 with -32601":               {statusWith(404, rpcError(-32601, "x", "")), "method-not-found", webOnly(unset(wireSession()))},
		"400 with -32022":               {statusWith(400, rpcError(-32022, "x", `{"supported":["2026-07-28"]}`)), "discovered", webOnly(unset(wireCorrected()))},
		"500 with -32601":               {statusWith(500, rpcError(-32601, "x", "")), "", webOnly(&wireSeen{[][]string{probed}, "*"})},
		"401 with -32601":               {statusWith(401, rpcError(-32601, "x", "")), "", webOnly(&wireSeen{[][]string{probed}, "*"})},
		"400 in plain text":             {status(400), "refused", webOnly(unset(wireSession()))},
		"404 in plain text":             {status(404), "refused", webOnly(unset(wireSession()))},
		"405":                           {status(405), "refused", webOnly(unset(wireSession()))},
		"406":                           {status(406), "refused", webOnly(unset(wireSession()))},
		"415":                           {status(415), "refused", webOnly(unset(wireSession()))},
		"200 in plain text":             {status(200), "other-result", webOnly(unset(wireSession()))},
		"202":                           {&clienttest.HTTPError{Status: 202}, "other-result", webOnly(unset(wireSession()))},
		"401":                           {status(401), "", webOnly(wireRefused("auth"))},
		"403":                           {status(403), "", webOnly(wireRefused("auth"))},
		"408":                           {status(408), "", webOnly(wireRefused("server"))},
		"425":                           {status(425), "", webOnly(wireRefused("server"))},
		"429":                           {status(429), "", webOnly(wireRefused("overloaded"))},
		"500":                           {status(500), "", webOnly(wireRefused("server"))},
		"502":                           {status(502), "", webOnly(wireRefused("server"))},
		"503":                           {status(503), "", webOnly(wireRefused("server"))},
		"504":                           {status(504), "", webOnly(wireRefused("server"))},
		"302":                           {status(302), "", webOnly(wireRefused("transport"))},
	} {
		for i, carrier := range []string{"program", "stream", "HTTP"} {
			want := tc.want[i]
			if want == nil {
				continue
			}
			t.Run(carrier+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					wire, c, err := probedOver(t, carrier, tc.reply)
					if c != nil {
						defer func() { _ = ignoreClosed(c.Close()) }()
					}
					require.Equal(t, want.wire, wire())
					switch want.end {
					case "stateless", "session":
						require.NoError(t, err)
						require.Equal(t, want.end, c.ProtocolVersion().Era().String())
						chosen := c.Negotiated()
						row := tc.row
						if want.end == "stateless" {
							row = "discovered" // the second time
						}
						require.Equal(t, row, chosen.Evidence)
						require.Equal(t, len(want.wire) > 1, chosen.Restarted)
						require.Len(t, chosen.Tried, wireTries(want.wire))
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

// wireTries is how many requests the wire shows.
func wireTries(wire [][]string) int {
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

// probedOver connects to a server that replies to its first probe as said and to a
// second one properly.
func probedOver(t *testing.T, carrier string, reply any) (wire func() [][]string, c *client.Client, err error) {
	t.Helper()
	s, probes := sessionServer(t), 0
	s.On("server/discover", func(call *clienttest.Call) (any, error) {
		if probes++; probes > 1 {
			return json.RawMessage(discoverAnswer), nil
		}
		return says(reply)(call)
	})
	switch carrier {
	case "program":
		c, err = find(t, s.Transport())
	case "stream":
		c, err = find(t, s.Stream())
	default:
		c, err = find(t, s.HTTP(), client.WithResilience(client.Resilience{Off: true, IdleTimeout: time.Minute}))
	}
	synctest.Wait()
	return func() [][]string { return wireOf(s) }, c, err
}

// The session is begun with the revision the server listed.
func TestListedSessionRevisionIsOffered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.On("server/discover", result(`{"supportedVersions":["2024-11-05","2025-06-18"]}`))
		s.On("initialize", result(`{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`))
		chosen := found(t, s.Stream())
		require.Equal(t, mcp.Version2025_06_18, chosen.Version)
		require.Contains(t, string(s.Requests()[1].Params), `"protocolVersion":"2025-06-18"`)
	})
}
