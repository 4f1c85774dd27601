package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/inbox"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// versionConn is a connection that is only told its revision.
type versionConn struct {
	transport.Conn
	version string
}

func (c *versionConn) UseVersion(version string)  { c.version = version }
func (*versionConn) Traits() (t transport.Traits) { return t }

// A call of a tool takes another revision only when it is proved that it was
// refused; what may run twice takes any that the server lists.
func TestRenewVersionNeedsAProof(t *testing.T) {
	t.Parallel()
	rpc := jsonrpc.NewError(mcp.CodeUnsupportedProtocolVersion, "no", json.RawMessage(`{"supported":["2026-07-28"]}`))
	for _, tt := range []struct {
		method   string
		sent     mcp.Version
		delivery mcperrors.Delivery
		again    bool
	}{
		{mcp.MethodToolsCall, "2026-07-01", mcperrors.Rejected, true},
		{mcp.MethodToolsCall, "2026-07-01", mcperrors.Answered, false},
		{mcp.MethodToolsCall, mcp.Version2026_07_28, mcperrors.Answered, false},
		{mcp.MethodToolsCall, mcp.Version2026_07_28, mcperrors.Rejected, false},
		{mcp.MethodToolsList, "2026-07-01", mcperrors.Answered, true},
		{mcp.MethodToolsList, mcp.Version2026_07_28, mcperrors.Answered, true},
		{"com.example/own", mcp.Version2026_07_28, mcperrors.Answered, false},
	} {
		cfg, err := newConfig(nil)
		require.NoError(t, err)
		c := newClient(cfg, &transport.Stream{})
		conn := &versionConn{}
		c.core.Links.Use(conn)
		cl := &run.Call{Request: run.Request{Method: tt.method}}
		cl.Link = &link.Link{Conn: conn, Agreed: &link.Agreement{Version: tt.sent, Era: mcp.EraStateless}}
		refused := mcperrors.New(mcperrors.CodeIncompatible, mcperrors.KindVersion, tt.delivery, "no", rpc)
		if tt.again {
			again, err := c.calls.Repaired(t.Context(), cl, &outcome.Outcome{Err: refused})
			require.NoError(t, err, "%+v", tt)
			require.True(t, again)
			require.Equal(t, string(mcp.Version2026_07_28), conn.version)
			_, err = c.calls.Repaired(t.Context(), cl, &outcome.Outcome{Err: refused})
			require.ErrorAs(t, err, new(*VersionError), "once a call")
			continue
		}
		_, err = c.calls.Repaired(t.Context(), cl, &outcome.Outcome{Err: refused})
		require.Error(t, err, "%+v", tt)
		require.Empty(t, conn.version)
	}
}

// The error stays readable with any list of missing capabilities.
func TestMissingCapabilitiesAreBounded(t *testing.T) {
	t.Parallel()
	testmain.SkipLarge(t)
	cause := func(members string) *MissingCapabilityError {
		rpc := &jsonrpc.Error{Data: []byte(`{"requiredCapabilities":{` + members + `}}`)}
		err := (*callSupport)(nil).MissingCapability(mcperrors.New(mcperrors.CodeIncompatible, mcperrors.KindUnsupported, mcperrors.Rejected, "no", rpc))
		var e *MissingCapabilityError
		require.ErrorAs(t, err, &e)
		return e
	}
	require.EqualError(t, cause(`"sampling":{},"elicitation":{"form":{},"url":{}}`),
		"the server needs a client with sampling, elicitation.form, elicitation.url")
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, `,"k%d":{"%s":{}}`, i, strings.Repeat("x", 200))
	}
	e := cause(many.String()[1:])
	require.Len(t, e.Names, maxNames)
	require.True(t, strings.HasSuffix(e.Error(), " and 9980 more"))
	require.Less(t, len(e.Error()), 4_000)
}

// What waits for a slow handler is counted by what it keeps in memory.
func TestInboxCountsWhatItHolds(t *testing.T) {
	t.Parallel()
	testmain.SkipLarge(t)
	const one = 2 << 20
	text := strings.Repeat("x", one)
	definition := mcp.Tool{Name: "x", Description: text}
	tests := map[string]func(c *Client){
		"notifications": func(c *Client) {
			c.inbound().Notifier().Notification(t.Context(), jsonrpc.Notification{Method: "acme/x", Params: []byte(text)})
		},
		"progress with members of its own": func(c *Client) {
			c.inbound().Progress().Notify(jsonrpc.Notification{Params: []byte(`{"progressToken":1,"progress":1,"x":"` + text + `"}`)})
		},
		"definitions that changed": func(c *Client) { c.emit(ToolDrift{Before: &mcp.Tool{}, After: definition}) },
		"definitions of before":    func(c *Client) { c.emit(ToolDrift{Before: &definition}) },
	}
	for name, put := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow := make(chan struct{})
			cfg, err := newConfig([]Option{
				OnEvent(func(context.Context, Event) { <-slow }),
				OnNotification(func(context.Context, jsonrpc.Notification) { <-slow }),
			})
			require.NoError(t, err)
			c := newClient(cfg, &transport.Stream{})
			c.core.Links.Use(&versionConn{})
			c.inbound().Progress().Add(func(mcp.ProgressParams) { <-slow })
			for range inbox.MaxBytes/one + 2 {
				put(c)
			}
			held := c.core.Budget.Held()
			require.LessOrEqual(t, held, int64(inbox.MaxBytes))
			require.Greater(t, held, int64(inbox.MaxBytes-2*one))
			close(slow)
			require.True(t, c.core.Life.Await(time.Minute))
			require.Zero(t, c.core.Budget.Held())
		})
	}
}
