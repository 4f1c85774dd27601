package client_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The codes of revision 2026-07-28 prove that a call was refused only if their content
// can be true of the request: a tool that has paid can throw them, too.
func TestCodesOfTheStatelessEraProveARefusalOnlyWhenTheyCanBeTrue(t *testing.T) {
	t.Parallel()
	const (
		header     = `{"code":-32020,"message":"header mismatch"}`
		capability = `{"code":-32021,"message":"capability missing","data":{"requiredCapabilities":%s}}`
		version    = `{"code":-32022,"message":"unsupported protocol version","data":%s}`
	)
	anywhere := [2]mcperrors.Delivery{mcperrors.Rejected, mcperrors.Rejected}
	nowhere := [2]mcperrors.Delivery{mcperrors.Answered, mcperrors.Answered}
	for name, tt := range map[string]struct {
		body string
		want [2]mcperrors.Delivery // over stdio, over HTTP with status 400
	}{
		"a header":                               {header, [2]mcperrors.Delivery{mcperrors.Answered, mcperrors.Rejected}},
		"a capability we lack":                   {fmt.Sprintf(capability, `{"elicitation":{}}`), anywhere},
		"an extension we lack":                   {fmt.Sprintf(capability, `{"extensions":{"com.example/pay":{}}}`), anywhere},
		"a part of a capability we lack":         {fmt.Sprintf(capability, `{"sampling":{"tools":{}}}`), anywhere},
		"a capability we lack beside one stated": {fmt.Sprintf(capability, `{"sampling":{},"roots":{}}`), anywhere},
		"the capability we stated":               {fmt.Sprintf(capability, `{"sampling":{}}`), nowhere},
		"no capability":                          {fmt.Sprintf(capability, `{}`), nowhere},
		"capabilities that are null":             {fmt.Sprintf(capability, `{"roots":null}`), nowhere},
		"capabilities in a list":                 {fmt.Sprintf(capability, `["roots"]`), nowhere},
		"capabilities without data":              {`{"code":-32021,"message":"capability missing"}`, nowhere},
		"another revision":                       {fmt.Sprintf(version, `{"supported":["2031-01-01"],"requested":"2026-07-28"}`), anywhere},
		"other revisions, of the other era":      {fmt.Sprintf(version, `{"supported":["2025-11-25","2025-06-18"]}`), anywhere},
		"the revision sent":                      {fmt.Sprintf(version, `{"supported":["2026-07-28"],"requested":"2026-07-28"}`), nowhere},
		"the revision sent among others":         {fmt.Sprintf(version, `{"supported":["2031-01-01","2026-07-28"]}`), nowhere},
		"a revision that was not requested":      {fmt.Sprintf(version, `{"supported":["2025-11-25"],"requested":"2031-01-01"}`), nowhere},
		"no revision":                            {fmt.Sprintf(version, `{"supported":[]}`), nowhere},
		"revisions that are numbers":             {fmt.Sprintf(version, `{"supported":[1]}`), nowhere},
		"revisions without data":                 {`{"code":-32022,"message":"unsupported protocol version"}`, nowhere},
	} {
		for i, over := range []string{"stdio", "http"} {
			t.Run(name+", "+over, func(t *testing.T) {
				t.Parallel()
				p := &peer{t: t, over: over, stateless: true}
				p.pay = func(x *payment) { x.reply(http.StatusBadRequest, `{"jsonrpc":"2.0","id":ID,"error":`+tt.body+`}`) }
				c := p.dial(client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
					return nil, client.ErrRejected
				}))
				_, err := c.CallTool(t.Context(), "pay", map[string]any{})
				require.Error(t, err)
				require.Equal(t, mcperrors.CodeIncompatible, mcperrors.CodeOf(err))
				require.Equal(t, tt.want[i], mcperrors.DeliveryOf(err), "%v", err)
				require.Equal(t, 1, p.count("tools/call"), "paid once")
			})
		}
	}
}

// Over HTTP a refusal comes with status 400, as the specification says, and with
// nothing before it. Anything else may come from a tool that has run.
func TestRefusalsOverHTTPNeedTheirStatus(t *testing.T) {
	t.Parallel()
	paid := map[string]func(x *payment, body string){
		"200": func(x *payment, body string) { x.reply(http.StatusOK, body) },
		"500": func(x *payment, body string) { x.reply(http.StatusInternalServerError, body) },
		"a stream after progress": func(x *payment, body string) {
			x.begin(http.StatusOK)
			x.reply(0, body)
		},
		"a stream with status 400": func(x *payment, body string) {
			x.begin(http.StatusBadRequest)
			x.reply(0, body)
		},
	}
	for code, data := range map[int]string{
		-32020: `{}`,
		-32021: `{"requiredCapabilities":{"sampling":{}}}`,
		-32022: `{"supported":["2031-01-01"],"requested":"2026-07-28"}`,
	} {
		for name, pay := range paid {
			t.Run(fmt.Sprint(code, ", ", name), func(t *testing.T) {
				t.Parallel()
				p := &peer{t: t, over: "http", stateless: true}
				p.pay = func(x *payment) {
					pay(x, fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"error":{"code":%d,"message":"no","data":%s}}`, code, data))
				}
				err := pays(t, p.dial())
				require.Error(t, err)
				require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err), "%v", err)
				require.Equal(t, 1, p.count("tools/call"), "paid once")
			})
		}
	}
}

// A call is made again with renewed headers only where its refusal is proved.
func TestRenewedHeadersNeedAProof(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int{http.StatusBadRequest: 2, http.StatusOK: 1} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			p := &peer{t: t, over: "http", stateless: true}
			p.replies = func(x *payment) bool {
				if x.Method != "tools/list" {
					return false
				}
				x.reply(0, fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","tools":[{"name":"pay","inputSchema":{"type":"object","properties":{"to":{"type":"string","x-mcp-header":"To%d"}}}}]}}`,
					p.count("tools/list")))
				return true
			}
			p.pay = func(x *payment) {
				if x.number == 1 {
					x.reply(status, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32020,"message":"header mismatch"}}`)
					return
				}
				x.reply(0, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[]}}`)
			}
			_, err := p.dial().CallTool(t.Context(), "pay", map[string]any{"to": "bob"})
			require.Equal(t, want, p.count("tools/call"))
			if want == 1 {
				require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))
				return
			}
			require.NoError(t, err)
		})
	}
}

// Reading twice does no harm: a request that may run twice is sent once more with a
// revision that the server lists, even if that is the refused one.
func TestReadsTakeAListedRevision(t *testing.T) {
	t.Parallel()
	for _, over := range []string{"stdio", "http"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			p := &peer{t: t, over: over, stateless: true}
			p.replies = func(x *payment) bool {
				if x.Method != "resources/read" {
					return false
				}
				if p.count("resources/read") == 1 {
					x.reply(http.StatusBadRequest, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}`)
					return true
				}
				x.reply(0, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","contents":[]}}`)
				return true
			}
			_, err := p.dial().ReadResource(t.Context(), "x:/a")
			require.NoError(t, err)
			require.Equal(t, 2, p.count("resources/read"))
		})
	}
}
