package server

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/server/front"
)

// progressEvery is the longest that a call with a progress token goes without a
// notification. Clients give a silent call up after a minute, some after less.
const progressEvery = 5 * time.Second

const methodProgress = "notifications/progress"

// A reporter sends the progress of one call whenever its tool has reported nothing
// for [progressEvery].
type reporter struct {
	session *mcp.ServerSession
	token   json.RawMessage // unchanged: go-sdk converts numbers to float64
	begin   time.Time
	timer   *time.Timer

	mu sync.Mutex // held while a notification is sent, so that values increase on the wire
	// own is what the tool has reported last, and added counts the notifications sent
	// in its place. Each is one step more, in the tool's later values as well: progress
	// MUST increase with each notification (basic/utilities/progress).
	own   mcp.ProgressNotificationParams
	added float64
}

// reporterKey finds the reporter of a call in its context.
type reporterKey struct{}

// report starts the reporter of a call and returns the context for its tool. The
// caller calls stop before the result is sent: afterwards the token is no longer
// in use. A call without a token has no reporter.
func report(ctx context.Context, req mcp.Request) (_ context.Context, stop func()) {
	r, ok := req.(*mcp.CallToolRequest)
	if !ok {
		return ctx, func() {}
	}
	token := progressToken(r)
	if token == nil {
		return ctx, func() {}
	}
	rep := &reporter{session: r.Session, token: token, begin: time.Now(), timer: time.NewTimer(progressEvery)}
	life, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { rep.run(life) })
	return context.WithValue(ctx, reporterKey{}, rep), func() {
		end()
		rep.timer.Stop()
		running.Wait()
	}
}

// progressToken returns the token of a call, nil if it has none.
func progressToken(r *mcp.CallToolRequest) json.RawMessage {
	if r.Extra == nil {
		return nil
	}
	ticket, _ := front.TicketOf(r.Extra.Header, r.Params.Meta)
	var meta struct {
		ProgressToken json.RawMessage `json:"progressToken"`
	}
	if json.Unmarshal(ticket.Origin.Meta, &meta) != nil || len(meta.ProgressToken) == 0 {
		return nil
	}
	if c := meta.ProgressToken[0]; c != '"' && c != '-' && (c < '0' || c > '9') {
		return nil // a token is a string or a number
	}
	return meta.ProgressToken
}

// run sends progress until the call ends or the client is gone.
func (r *reporter) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.timer.C:
			if r.add(ctx) != nil {
				return
			}
		}
	}
}

// add reports one step in the place of the tool.
func (r *reporter) add(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.added++
	p := r.shifted(r.own)
	p.Message = fmt.Sprintf("still working after %v", time.Since(r.begin).Round(time.Second))
	r.timer.Reset(progressEvery)
	return r.session.NotifyProgress(ctx, p)
}

// forward passes on what the tool reports itself.
func (r *reporter) forward(p *mcp.ProgressNotificationParams, send func(*mcp.ProgressNotificationParams) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own = *p
	r.timer.Reset(progressEvery)
	return send(r.shifted(r.own))
}

// shifted returns p with the steps that were added.
func (r *reporter) shifted(p mcp.ProgressNotificationParams) *mcp.ProgressNotificationParams {
	p.ProgressToken = r.token
	p.Progress += r.added
	if p.Total != 0 {
		p.Total += r.added
	}
	return &p
}

// merge is the middleware of every notification that is sent. Progress of a call with a
// reporter goes through that.
func merge(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		rep, _ := ctx.Value(reporterKey{}).(*reporter)
		session, _ := req.GetSession().(*mcp.ServerSession)
		p, ok := req.GetParams().(*mcp.ProgressNotificationParams)
		if method != methodProgress || rep == nil || !ok {
			return next(ctx, method, req)
		}
		return nil, rep.forward(p, func(p *mcp.ProgressNotificationParams) error {
			_, err := next(ctx, method, &mcp.ServerRequest[mcp.Params]{Session: session, Params: p})
			return err
		})
	}
}
