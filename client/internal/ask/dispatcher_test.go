package ask

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// owner is the client of a dispatcher.
type owner struct {
	*Dispatcher
	close context.CancelFunc
	work  sync.WaitGroup

	mu        sync.Mutex
	responses []jsonrpc.Response
	failed    []*callback.Error
}

// own returns a dispatcher with an owner. Its goroutines end with the test.
func own(t *testing.T, offer Offer) *owner {
	t.Helper()
	require.NoError(t, offer.Complete())
	o := &owner{}
	k := &core.Core{Server: "srv", Log: slog.New(slog.DiscardHandler), Emit: func(event.Event) {}}
	k.Failed = func(e *callback.Error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.failed = append(o.failed, e)
	}
	l := &k.Life
	l.Begin()
	o.close = func() {
		l.Move(life.Closed, nil)
		l.End()
	}
	t.Cleanup(func() {
		o.close()
		o.work.Wait()
		require.True(t, l.Await(time.Minute))
	})
	o.Dispatcher = New(k, Config{Offer: &offer, OpenTime: time.Minute}, func(_ context.Context, _ Incoming, resp jsonrpc.Response) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.responses = append(o.responses, resp)
	})
	return o
}

// said are the responses so far, each as its id and its result or error.
func (o *owner) said() map[string]string {
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	all := map[string]string{}
	for _, r := range o.responses {
		if all[r.ID.String()] = string(r.Result); r.Error != nil {
			all[r.ID.String()] = r.Error.Error()
		}
	}
	return all
}

// conn is a connection that only ends.
type conn struct {
	transport.Conn
	ended chan struct{}
}

func (c conn) Done() <-chan struct{}    { return c.ended }
func (c conn) Traits() transport.Traits { return transport.Traits{} }

// session is a link of the session era with a function that ends it.
func session() (l *link.Link, end func()) {
	c := conn{ended: make(chan struct{})}
	return link.New(c).With(&link.Agreement{Version: mcp.Version2025_11_25, Era: mcp.EraSession}), func() { close(c.ended) }
}

func rootsRequest(id int64) jsonrpc.Request {
	return jsonrpc.Request{ID: jsonrpc.IntID(id), Method: mcp.MethodRootsList}
}

func formRequest(id int64) jsonrpc.Request {
	return jsonrpc.Request{ID: jsonrpc.IntID(id), Method: mcp.MethodElicitationCreate, Params: json.RawMessage(`{"message":"?","requestedSchema":{"type":"object"}}`)}
}

// hangs is a form whose user never answers, with the reason why its context ended.
func hangs(why chan<- error) func(context.Context, Requester, FormRequest) (*mcp.ElicitResult, error) {
	return func(ctx context.Context, _ Requester, _ FormRequest) (*mcp.ElicitResult, error) {
		<-ctx.Done()
		why <- context.Cause(ctx)
		return nil, ctx.Err()
	}
}

// A question of a call that has ended is not decoded.
func TestQuestionsOfAnEndedCallAreNotRead(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := own(t, Offer{}).AnswerAll(ctx, Occasion{Agreed: link.Nothing}, mcp.InputRequests{"a": {Method: "no such thing"}})
	require.ErrorIs(t, err, context.Canceled)
}

func TestRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := own(t, Offer{Roots: []mcp.Root{}})
		l, _ := session()
		o.Request(t.Context(), nil, Incoming{Request: jsonrpc.Request{ID: jsonrpc.IntID(1), Method: mcp.MethodPing}})
		o.Request(t.Context(), nil, Incoming{Request: rootsRequest(2)}) // nothing is agreed before there is a link
		o.Request(t.Context(), l, Incoming{Request: rootsRequest(3)})
		o.Request(t.Context(), l, Incoming{Request: formRequest(4)}) // not declared
		require.Equal(t, map[string]string{
			"1": `{}`, "2": "Method not found: roots/list (code -32601)",
			"3": `{"roots":[]}`, "4": "Method not found: elicitation/create (code -32601)",
		}, o.said())
		o.SetRoots([]mcp.Root{{URI: "file:///a"}})
		o.Request(t.Context(), l, Incoming{Request: rootsRequest(5)})
		require.Equal(t, `{"roots":[{"uri":"file:///a"}]}`, o.said()["5"])
	})
}

// The end of an open request cancels its handler, and no response is sent. After the time limit,
// the response is that the user did not choose.
func TestOpenRequestsEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end   func(o *owner, endLink func())
		cause error
		said  string
	}{
		"the link ends":      {func(_ *owner, endLink func()) { endLink() }, errLinkEnded, ""},
		"its owner drops it": {func(o *owner, _ func()) { o.LinkEnded() }, errLinkEnded, ""},
		"the server withdraws": {func(o *owner, _ func()) {
			o.Cancelled(jsonrpc.Notification{Params: json.RawMessage(`{"requestId":1}`)})
		}, errWithdrawn, ""},
		"the client closes": {func(o *owner, _ func()) { o.close() }, context.Canceled, ""},
		"time is over":      {func(*owner, func()) { <-time.After(time.Minute) }, context.DeadlineExceeded, `{"action":"cancel"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				why := make(chan error, 1)
				o := own(t, Offer{Form: hangs(why)})
				l, endLink := session()
				o.Request(t.Context(), l, Incoming{Request: formRequest(1)})
				synctest.Wait()
				tt.end(o, endLink)
				require.ErrorIs(t, <-why, tt.cause)
				require.Equal(t, tt.said, o.said()["1"])
			})
		})
	}
}

// The first refusal ends a round and cancels the other handlers.
func TestOneRefusalEndsARound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		why := make(chan error, 1)
		o := own(t, Offer{
			Form: hangs(why),
			Sampling: func(context.Context, Requester, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				<-time.After(time.Second) // the form is shown by now
				return nil, ErrRejected
			},
		})
		_, err := o.AnswerAll(t.Context(), Occasion{Agreed: &link.Agreement{Version: mcp.Version2026_07_28}}, mcp.InputRequests{
			"a": {Method: mcp.MethodElicitationCreate, Params: formRequest(1).Params},
			"b": {Method: mcp.MethodSamplingCreateMessage, Params: json.RawMessage(`{"messages":[],"maxTokens":1}`)},
		})
		var unanswered *Unanswered
		require.ErrorAs(t, err, &unanswered)
		require.Len(t, unanswered.Requests, 2)
		require.ErrorIs(t, err, ErrRejected)
		require.ErrorIs(t, <-why, context.Canceled)
	})
}
