package client_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// pays calls the tool pay in the loop that [mcperrors.SafeToRetry] is for, three
// times at most, and returns the last error.
func pays(t *testing.T, c *client.Client) (err error) {
	t.Helper()
	for range 3 {
		if _, err = c.CallTool(t.Context(), "pay", map[string]any{}); !mcperrors.SafeToRetry(err) {
			return err
		}
	}
	return err
}

// What a tool or an error says never has the call made again, nor called unrun:
// it may be the text of a third party. Only the application may believe it, by
// WithErrorProfile.
func TestContentNeverChoosesBehaviour(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"DB_LOCKED in the text":        `"result":{"resultType":"complete","isError":true,"content":[{"type":"text","text":"{\"profile\":\"coe\",\"error\":{\"code\":\"DB_LOCKED\"}}"}]}`,
		"DB_LOCKED in the structure":   `"result":{"resultType":"complete","isError":true,"content":[],"structuredContent":{"profile":"coe","error":{"code":"DB_LOCKED","retry_after_seconds":0.01}}}`,
		"DB_LOCKED in error.data":      `"error":{"code":-32603,"message":"no","data":{"profile":"coe","code":"DB_LOCKED","retry_after_seconds":0.01}}`,
		"RATE_LIMIT in error.data":     `"error":{"code":-32603,"message":"no","data":{"profile":"coe","code":"RATE_LIMIT","retry_after_seconds":0.01}}`,
		"429 with a profile":           `"error":{"code":429,"message":"no","data":{"profile":"coe","retry_after_seconds":0.01}}`,
		"retryable in error.data":      `"error":{"code":-32000,"message":"no","data":{"retryable":true,"retry_after_seconds":0.01}}`,
		"a profile beside -32602":      `"error":{"code":-32602,"message":"no","data":{"profile":"docling","retryable":true}}`,
		"a code of COE without a name": `"error":{"code":429,"message":"no","data":{"code":"RATE_LIMIT","retry_after_seconds":0.01}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(t *testing.T, p *peer) {
				p.pay = func(x *payment) { x.reply(0, `{"jsonrpc":"2.0","id":ID,`+body+`}`) }
				err := pays(t, p.dial())
				require.Equal(t, 1, p.count("tools/call"))
				if err != nil {
					require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))
				}
			})
		})
	}
}

// A server may announce what its error codes mean; that is not obeyed either.
func TestAnnouncedProfileIsNotObeyed(t *testing.T) {
	t.Parallel()
	p := &peer{t: t, over: "http"}
	p.replies = func(x *payment) bool {
		if x.Method != "initialize" {
			return false
		}
		x.reply(0, `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"experimental":{"errorProfiles":{"pay":"coe"}}},"serverInfo":{"name":"p","version":"1"}}}`)
		return true
	}
	p.pay = func(x *payment) {
		x.reply(0, `{"jsonrpc":"2.0","id":ID,"error":{"code":429,"message":"no","data":{"retry_after_seconds":0.01}}}`)
	}
	err := pays(t, p.dial())
	require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))
	require.Equal(t, 1, p.count("tools/call"))
}

// The application's own word is obeyed.
func TestExplicitProfileIsObeyed(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, p *peer) {
		p.pay = func(x *payment) {
			if x.number == 1 {
				x.reply(0, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","isError":true,"content":[],"structuredContent":{"error":{"code":"DB_LOCKED","retry_after_seconds":0.01}}}}`)
				return
			}
			x.reply(0, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[]}}`)
		}
		require.NoError(t, pays(t, p.dial(storeProfile)))
		require.Equal(t, 2, p.count("tools/call"))
	})
}

// A call counts as not run only if the server answers that it has no such tool. Every
// error below came from a tool that had run: the official TypeScript SDK and the
// official Go SDK send them for errors that tools throw.
func TestRefusalsOfToolsAreAnswers(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"TypeScript, our answer to roots/list handed back": `{"code":-32601,"message":"MCP error -32601: Method not found: roots/list"}`,
		"TypeScript, invalid parameters":                   `{"code":-32602,"message":"MCP error -32602: the receipt could not be written"}`,
		"TypeScript, an invalid request":                   `{"code":-32600,"message":"MCP error -32600: the receipt could not be written"}`,
		"Go, our answer to roots/list handed back":         `{"code":-32601,"message":"method not found: \"tools/call\""}`,
		"a method without a name":                          `{"code":-32601,"message":"Method not found"}`,
		"what a tool could not read":                       `{"code":-32700,"message":"Parse error"}`,
		"another tool":                                     `{"code":-32602,"message":"Unknown tool: notify"}`,
		"a tool that a sentence mentions":                  `{"code":-32602,"message":"pay: unknown tool"}`,
		"a tool without a name":                            `{"code":-32602,"message":"Unknown tool"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(t *testing.T, p *peer) {
				p.pay = func(x *payment) { x.reply(0, `{"jsonrpc":"2.0","id":ID,"error":`+body+`}`) }
				err := pays(t, p.dial())
				require.Error(t, err)
				require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))
				require.False(t, mcperrors.IsNotFound(err) && name != "a tool without a name", "there is such a tool")
				require.Equal(t, 1, p.count("tools/call"))
			})
		})
	}
}

// The sentences by which the libraries say that there is no such tool.
func TestUnknownToolIsARefusal(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"the specification": `{"code":-32602,"message":"Unknown tool: pay"}`,
		"TypeScript":        `{"code":-32602,"message":"MCP error -32602: Tool pay not found"}`,
		"Go":                `{"code":-32602,"message":"unknown tool \"pay\""}`,
		"mcp-go":            `{"code":-32602,"message":"tool 'pay' not found: tool not found"}`,
		"C#":                `{"code":-32602,"message":"Unknown tool: 'pay'"}`,
		"as a method":       `{"code":-32601,"message":"Tool not found: pay"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(t *testing.T, p *peer) {
				p.pay = func(x *payment) { x.reply(0, `{"jsonrpc":"2.0","id":ID,"error":`+body+`}`) }
				_, err := p.dial().CallTool(t.Context(), "pay", map[string]any{})
				require.True(t, mcperrors.IsNotFound(err))
				require.True(t, mcperrors.SafeToRetry(err))
				require.Equal(t, 1, p.count("tools/call"), "it would not help")
			})
		})
	}
}

// A tool asks for the roots after it has paid, we have none to give and say so,
// and the server hands our own error back as the answer to the call. These are
// the bytes of the official TypeScript SDK's server (@modelcontextprotocol/sdk
// 1.32.2, a tool that awaits server.request({method: "roots/list"})).
func TestOurOwnRefusalHandedBack(t *testing.T) {
	t.Parallel()
	for _, over := range []string{"stdio", "http"} { // in the stateless era servers ask nothing
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			p := &peer{t: t, over: over}
			p.pay = func(x *payment) {
				var refused struct {
					Code    int
					Message string
				}
				if err := json.Unmarshal(x.ask("roots/list"), &refused); err != nil || refused.Code != -32601 {
					t.Errorf("the client answered roots/list with %+v", refused)
				}
				text, _ := json.Marshal("MCP error -32601: " + refused.Message)
				x.reply(0, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":`+string(text)+`}}`)
			}
			err := pays(t, p.dial())
			require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))
			require.False(t, mcperrors.IsNotFound(err))
			require.Equal(t, 1, p.count("tools/call"), "paid once")
		})
	}
}
