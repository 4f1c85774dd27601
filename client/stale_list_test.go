package client_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// A server changes a tool and says nothing: arguments that fit the new schema
// pass, whatever the age of the list.
func TestStaleListRefusesNoArguments(t *testing.T) {
	t.Parallel()
	inBubbleWithPeer(t, func(t *testing.T, p *listPeer, c *client.Client) {
		for _, wait := range []time.Duration{0, time.Second, time.Minute} {
			time.Sleep(wait)
			p.list(peerNewTool)
			_, err := c.CallTool(t.Context(), "echo", map[string]any{"text": "new"})
			require.NoError(t, err, wait)

			p.list(peerTool)
			time.Sleep(10 * time.Second)
			_, err = c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err, wait)
			time.Sleep(10 * time.Second)
		}
		require.Equal(t, 6, p.count("tools/call"))
	})
}

// Arguments that fit neither schema are refused, and cost a list once in 10 s.
func TestWrongArgumentsDoubtTheListNowAndThen(t *testing.T) {
	t.Parallel()
	inBubbleWithPeer(t, func(t *testing.T, p *listPeer, c *client.Client) {
		before := p.count("tools/list")
		start := time.Now()
		for range 50 {
			_, err := c.CallTool(t.Context(), "echo", map[string]any{"message": 1})
			require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
			require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		}
		require.Zero(t, time.Since(start))
		require.Equal(t, before+1, p.count("tools/list"))
		time.Sleep(10 * time.Second)
		_, err := c.CallTool(t.Context(), "echo", map[string]any{"message": 1})
		require.Error(t, err)
		require.Equal(t, before+2, p.count("tools/list"))
		require.Zero(t, p.count("tools/call"))
	})
}

// Many servers report a change of their tools just after they were listed: wrong
// arguments are still refused at once.
func TestWrongArgumentsDoNotWaitForThePace(t *testing.T) {
	t.Parallel()
	inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
		if p.http {
			return // a client without a handler hears nothing over HTTP
		}
		c, err := p.dial()
		require.NoError(t, err)
		time.Sleep(200 * time.Millisecond)
		p.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		synctest.Wait()
		start := time.Now()
		_, err = c.CallTool(t.Context(), "echo", map[string]any{"message": 1})
		require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
		require.Zero(t, time.Since(start))
	})
}

// Arguments that do not fit an old list pass when no newer one can be had: the
// server judges them.
func TestListThatCannotBeHadRefusesNobody(t *testing.T) {
	t.Parallel()
	inBubbleWithPeer(t, func(t *testing.T, p *listPeer, c *client.Client) {
		p.answer("tools/list", func(json.RawMessage) string { return peerInternal })
		before := p.count("tools/list")
		for range 20 {
			for _, call := range []struct {
				tool string
				args map[string]any
			}{{"echo", map[string]any{"text": "new"}}, {"added", nil}} {
				_, err := c.CallTool(t.Context(), call.tool, call.args)
				require.NoError(t, err, call.tool)
			}
		}
		require.Equal(t, 40, p.count("tools/call"))
		require.Equal(t, before+1, p.count("tools/list"), "asked once in 10 s")
		time.Sleep(10 * time.Second)
		p.answer("tools/list", nil)
		_, err := c.CallTool(t.Context(), "echo", map[string]any{"text": "new"})
		require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err), "the list can be had again")
	})
}

// A call that has run does not fail because its result does not fit a schema
// that is out of date.
func TestStaleListFailsNoResult(t *testing.T) {
	t.Parallel()
	listed := func(output string) string {
		return strings.TrimSuffix(peerTool, "}") + `,"outputSchema":` + output + `}`
	}
	inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
		p.tools = listed(`{"type":"object","required":["degrees"]}`)
		p.result = `{"resultType":"complete","content":[],"structuredContent":{"celsius":3}}`
		c, err := p.dial(strictResults)
		require.NoError(t, err)
		p.list(listed(`{"type":"object","required":["celsius"]}`))
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		got, err := client.CallAs[struct {
			Celsius int `json:"celsius"`
		}](t.Context(), c, "echo", hello)
		require.NoError(t, err)
		require.Equal(t, 3, got.Celsius)

		p.list(listed(`{"type":"object","required":["kelvin"]}`))
		time.Sleep(10 * time.Second)
		c.InvalidateTools()
		before := p.count("tools/list")
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err, "it fits the list that the call was made with")
		time.Sleep(5 * time.Minute)
		getSchema(t, c, "echo")
		_, err = c.CallTool(t.Context(), "echo", hello)
		var output *client.OutputError
		require.ErrorAs(t, err, &output, "the server's own newest schema")
		require.Greater(t, p.count("tools/list"), before)

		time.Sleep(10 * time.Second)
		p.answer("tools/list", func(json.RawMessage) string { return peerInternal })
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err, "nobody knows what the server offers now")
	})
}
