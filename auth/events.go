package auth

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/internal/inbox"
)

// Event reports a change of the login at one server; see [WithEvents].
type Event = transport.LoginChange

// States of a login, as package transport describes them.
const (
	LoginBegun    = transport.LoginBegun
	LoginFinished = transport.LoginFinished
	LoginFailed   = transport.LoginFailed
	LoginRenewed  = transport.LoginRenewed
	LoginLost     = transport.LoginLost
	LoginEnded    = transport.LoginEnded
)

// WithEvents calls f for each change of a login, at any server of the Authorizer. The
// clients that use the Authorizer report the same changes as [client.LoginChanged].
//
// f gets one event after the other, in order, on a goroutine of its own. It may take its
// time: 1,024 events wait for it, then the oldest are dropped. If it panics, the clients
// report [client.CallbackFailed]. [Authorizer.Close] waits for it for up to a second, and
// there are no events after that. Several options add up.
func WithEvents(f func(Event)) Option {
	return func(c *config) {
		if f == nil {
			c.wrong("WithEvents needs a function")
			return
		}
		c.onEvent = append(c.onEvent, f)
	}
}

// events passes on changes of logins: to clients at once, to functions of the
// application by a queue.
type events struct {
	queue *inbox.Queue[queued] // nil without a function
	off   bool                 // nobody logs in

	mu      sync.Mutex
	watches []*watch
}

// watch is a client that uses the login at one server.
type watch struct {
	server string
	transport.LoginWatch
}

// queued is an event on its way to the functions of the application, or what Close
// waits for.
type queued struct {
	Event
	told chan struct{}
}

// Size implements [inbox.Item]. The texts of an event are bounded.
func (queued) Size() int { return 0 }

// Drop implements [inbox.Item].
func (q queued) Drop() {
	if q.told != nil {
		close(q.told)
	}
}

// begin makes the queue, if there are functions.
func (e *events) begin(to []func(Event)) {
	if len(to) == 0 {
		return
	}
	e.queue = inbox.New(inbox.Host[queued]{
		Go: func(f func()) { go f() },
		Deliver: func(q queued) {
			if q.told != nil {
				close(q.told)
				return
			}
			e.call(to, q.Event)
		},
		Dropped: func(int) {}, // as [WithEvents] says
	})
}

// call calls functions for an event. One that ends the goroutine does not stop the next.
func (e *events) call(to []func(Event), event Event) {
	if len(to) == 0 {
		return
	}
	defer e.call(to[1:], event)
	callback.Run("WithEvents", e.failed, func() { to[0](event) })
}

// failed tells the clients of a function that did not return.
func (e *events) failed(broken *callback.Error) {
	for _, w := range e.watching("") {
		w.CallbackFailed(broken.Name, broken.Value, broken.Stack)
	}
}

// close waits until the functions have all events, or for a moment, and ends the queue.
func (e *events) close(moment <-chan struct{}) {
	if e.queue == nil {
		return
	}
	told := make(chan struct{})
	e.queue.Put(queued{told: told})
	select {
	case <-told:
	case <-moment:
	}
	e.queue.Stop()
}

// watching are the clients of a server, "" for all.
func (e *events) watching(server string) []*watch {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(e.watches), func(w *watch) bool { return server != "" && w.server != server })
}

// WatchLogin implements [transport.LoginReporter].
func (a *Authorizer) WatchLogin(endpoint *url.URL, to transport.LoginWatch) (stop func()) {
	w := &watch{canonical(endpoint), to}
	e := &a.events
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watches = append(e.watches, w)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.watches = slices.DeleteFunc(e.watches, func(other *watch) bool { return other == w })
	}
}

// tell reports a change of the login. It runs in turn, so changes come in order.
func (s *server) tell(state transport.LoginState, issuer string, err error) {
	e := &s.a.events
	switch state {
	case LoginLost:
		if s.lost {
			return
		}
		s.lost = true
	case LoginEnded:
		s.lost = true // the program knows
	case LoginFinished, LoginRenewed:
		s.lost = false
	case LoginBegun, LoginFailed: // say nothing of that
	}
	if e.off {
		return
	}
	event := Event{State: state, Server: shown(s.endpoint), Issuer: issuer, Principal: s.id.principal, Err: s.explain(err)}
	for _, w := range e.watching(s.name()) {
		w.Changed(event)
	}
	if e.queue != nil {
		e.queue.Put(queued{Event: event})
	}
}

// notObtained reports a login that failed, or a token that a program cannot renew.
func (s *server) notObtained(again bool, issuer string, err error) {
	var waits *HandedOff
	switch {
	case errors.As(err, &waits): // the person has time to finish it
	case !again:
		s.tell(LoginFailed, issuer, err)
	case refusedForGood(err):
		s.tell(LoginLost, issuer, err)
	}
}

// refusedForGood reports whether an authorization server gives no token until somebody
// changes something (RFC 6749 section 5.2), as opposed to one in trouble.
func refusedForGood(err error) bool {
	var refused *grant.Error
	if !errors.As(err, &refused) || refused.Status >= 500 || refused.Status == http.StatusTooManyRequests {
		return false
	}
	switch refused.Code {
	case "invalid_grant", "invalid_client", "unauthorized_client", "unsupported_grant_type",
		"invalid_request", "invalid_scope", "invalid_target", "access_denied":
		return true
	}
	return false
}
