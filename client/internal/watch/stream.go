package watch

import (
	"context"
	"errors"
	"sync"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// acknowledgeTime limits the wait for a server to acknowledge a subscription.
const acknowledgeTime = 30 * time.Second

// stream is one subscriptions/listen request of the stateless era, which stays open. Circuits,
// the limit of requests in flight and timeouts ignore it.
type stream struct {
	s      *Subscription
	ctx    context.Context
	cancel context.CancelCauseFunc
	filter mcp.SubscriptionFilter

	once     sync.Once
	acked    chan struct{} // closed by the acknowledgement
	accepted mcp.SubscriptionFilter

	ended  chan struct{} // closed when the stream has ended
	err    error         // the reason; nil if the server ended it properly
	lasted time.Duration // how long it was open

	warned sync.Once
}

// ErrServerEnds is the cause of the context of a request whose stream the server has ended.
var ErrServerEnds = errors.New("the server ended the subscription")

var (
	errClosed        = errors.New("the subscription was closed")
	errNoAcknowledge = errors.New("the server did not acknowledge the subscription in time")
)

// listen opens a stream and waits for the acknowledgement, which is its first message.
func (s *Subscription) listen(ctx context.Context, filter mcp.SubscriptionFilter) (*stream, error) {
	w := s.w
	l := &stream{s: s, filter: filter, acked: make(chan struct{}), ended: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(s.ctx)
	req, err := w.set.Client.Listen(filter)
	if err != nil {
		return nil, err
	}
	if !w.Life.Go(func() { l.run(req) }) {
		return nil, w.Local(w.Life.Refusal(), Method)
	}
	timer := time.NewTimer(acknowledgeTime)
	defer timer.Stop()
	select {
	case <-l.acked:
		return l, nil
	case <-l.ended:
		if l.isAcked() {
			return l, nil
		}
		if err = l.err; err == nil {
			err = w.Local(mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
				"the server ended the subscription without acknowledging it", nil), Method)
		}
	case <-ctx.Done():
		err = w.Local(errormap.From(context.Cause(ctx), mcperrors.Unknown), Method)
	case <-timer.C:
		err = w.Local(errormap.Timeout(mcperrors.Unknown, errNoAcknowledge.Error(), acknowledgeTime, errNoAcknowledge), Method)
	}
	l.cancel(errClosed)
	return nil, err
}

// run sends the request and returns when the stream has ended.
func (l *stream) run(req Request) {
	began := time.Now()
	defer func() {
		l.lasted = time.Since(began)
		l.cancel(nil)
		close(l.ended)
	}()
	for again := true; again; {
		l.err = l.attempt(req)
		if l.err == nil || l.isAcked() || l.ctx.Err() != nil {
			return
		}
		again, l.err = req.Repair(l.ctx)
	}
}

func (l *stream) attempt(req Request) error {
	w := l.s.w
	id := w.set.Client.NextID()
	w.mu.Lock()
	w.streams[id] = l
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.streams, id)
	}()
	return req.Send(l.ctx, id)
}

func (l *stream) isAcked() bool {
	select {
	case <-l.acked:
		return true
	default:
		return false
	}
}

// hear receives a notification of the stream, on the goroutine that reads.
func (l *stream) hear(n jsonrpc.Notification) {
	switch n.Method {
	case mcp.MethodSubscriptionsAcknowledged:
		var params mcp.SubscriptionsAcknowledgedParams
		if err := params.UnmarshalJSON(n.Params); err != nil {
			w := l.s.w
			w.Log.Warn("[MCP] the acknowledgement of a subscription cannot be read", "server", w.Server, "error", err)
			return
		}
		l.once.Do(func() {
			l.accepted = params.Notifications
			close(l.acked)
		})
	default:
		if ch, ok := changeOf(n); ok {
			l.s.heard(l, ch)
		}
	}
}
