package client_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

const nullableTool = `{"name":"echo","inputSchema":{"type":"object","required":["message"],"properties":{` +
	`"message":{"type":"string"},"count":{"type":"integer"},"flag":{"type":["boolean","null"]},"any":{},"either":{"anyOf":[{"type":"string"},{"type":"number"}]},` +
	`"inner":{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"string"}}}}}}`

// With DropNulls, null for an optional argument is omitted, but only if the schema does
// not accept it.
func TestNullRepair(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ args, sent string }{ // "" is refused
		"optional":           {`{"message":"m","count":null}`, `{"message":"m"}`},
		"union":              {`{"either":null,"message":"m"}`, `{"message":"m"}`},
		"nested":             {`{"message":"m","inner":{"a":"x","b":null}}`, `{"message":"m","inner":{"a":"x"}}`},
		"escaped":            {`{"message":"m","c\u006funt":null}`, `{"message":"m"}`},
		"taken":              {`{"message":"m","flag":null,"any":null}`, `{"message":"m","flag":null,"any":null}`},
		"taken beside one":   {`{"message":"m","flag":null,"count":null}`, `{"message":"m","flag":null}`},
		"not in the schema":  {`{"message":"m","other":null,"count":null}`, `{"message":"m","other":null}`},
		"digits stay":        {`{"message":"m","count":null,"any":9007199254740993.10}`, `{"message":"m","any":9007199254740993.10}`},
		"required":           {`{"message":null}`, ""},
		"required, nested":   {`{"message":"m","inner":{"a":null}}`, ""},
		"wrong all the same": {`{"message":"m","count":null,"either":[]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
				p.tools = nullableTool
				sent := ""
				p.answer("tools/call", func(params json.RawMessage) string {
					var call struct{ Arguments json.RawMessage }
					require.NoError(t, json.Unmarshal(params, &call))
					sent = string(call.Arguments)
					return `"result":` + peerReturn
				})
				c, err := p.dial(client.WithValidation(client.Validation{DropNulls: true}))
				require.NoError(t, err)
				_, err = c.CallTool(t.Context(), "echo", json.RawMessage(tt.args))
				if tt.sent == "" {
					require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
					return
				}
				require.NoError(t, err)
				require.Equal(t, tt.sent, sent)
			})
		})
	}
	inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
		p.tools = nullableTool
		c, err := p.dial()
		require.NoError(t, err)
		_, err = c.CallTool(t.Context(), "echo", json.RawMessage(`{"message":"m","count":null}`))
		require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err), "off by default")
	})
}

// A call that begins as a task is sent with the same arguments as any other.
func TestNullRepairOfTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core, client.WithValidation(client.Validation{DropNulls: true}))
		s.On("tools/list", result(`{"tools":[{"name":"optional","execution":{"taskSupport":"optional"},`+
			`"inputSchema":{"type":"object","properties":{"count":{"type":"integer"}}}}]}`))
		c.InvalidateTools()
		_, err := c.GetToolSchema(t.Context(), "optional")
		require.NoError(t, err)
		_, err = c.StartTool(t.Context(), "optional", json.RawMessage(`{"count":null}`))
		require.NoError(t, err)
		require.Contains(t, s.received()[len(s.received())-1], `"arguments":{}`)
	})
}
