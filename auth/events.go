package auth

import (
	"errors"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/client/transport"
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
// clients that use the Authorizer report the same changes as client.LoginChanged.
//
// f gets the events in order, on a goroutine of its own. A slow f delays nothing else: up
// to 1,024 events wait for it, then the oldest are dropped. If f panics, the clients report
// client.CallbackFailed. [Authorizer.Close] waits for f for up to a second, and there are
// no events after that. Several options add up.
func WithEvents(f func(Event)) Option {
	return func(c *config) {
		if f == nil {
			c.wrong("WithEvents needs a function")
			return
		}
		c.onEvent = append(c.onEvent, f)
	}
}

// events passes changes of logins to clients at once, and to functions of the
// application through a queue.
type events struct {
	handlers []func(Event)
	off      bool // nothing is reported

	mu      sync.Mutex
	watches []*watch
	queue   []Event       // for the handlers
	drained chan struct{} // closed once the handlers have all events, nil if none wait
	closed  bool
}

// maxEvents bounds the queue.
const maxEvents = 1024

// watch is a client that uses the login at one server.
type watch struct {
	server string
	transport.LoginWatch
}

// put queues an event for the handlers. It never waits.
func (e *events) put(event Event) {
	if len(e.handlers) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	if len(e.queue) == maxEvents {
		e.queue = e.queue[1:]
	}
	e.queue = append(e.queue, event)
	if e.drained == nil {
		e.drained = make(chan struct{})
		go e.deliver()
	}
}

// deliver calls the handlers until the queue is empty. One that ends the goroutine does
// not stop the rest.
func (e *events) deliver() {
	done := false
	defer func() {
		if !done {
			go e.deliver()
		}
	}()
	for {
		event, more := e.next()
		if done = !more; done {
			return
		}
		e.call(e.handlers, event)
	}
}

// next takes the oldest event from the queue.
func (e *events) next() (event Event, more bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		close(e.drained)
		e.queue, e.drained = nil, nil
		return event, false
	}
	event, e.queue = e.queue[0], e.queue[1:]
	return event, true
}

// call calls functions for an event. One that ends the goroutine does not stop the next.
func (e *events) call(to []func(Event), event Event) {
	if len(to) == 0 {
		return
	}
	defer e.call(to[1:], event)
	returned := false
	defer func() {
		if returned {
			return
		}
		value, stack := recover(), []byte(nil)
		if value != nil {
			stack = debug.Stack()
		}
		for _, w := range e.watching("") {
			w.CallbackFailed("WithEvents", value, stack)
		}
	}()
	to[0](event)
	returned = true
}

// close waits until the handlers have all events or timeout ends, and drops the rest.
func (e *events) close(timeout <-chan struct{}) {
	e.mu.Lock()
	drained := e.drained
	e.mu.Unlock()
	if drained != nil {
		select {
		case <-drained:
		case <-timeout:
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed, e.queue = true, nil
}

// watching returns the clients of a server, "" for all.
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

// tell reports a change of the login. The serial of the server is held, so changes are in order.
func (s *server) tell(state transport.LoginState, issuer string, err error) {
	e := &s.a.events
	switch state {
	case LoginLost:
		if s.lost {
			return
		}
		s.lost = true
	case LoginEnded:
		s.lost = true // the program itself logged out
	case LoginFinished, LoginRenewed:
		s.lost = false
	case LoginBegun, LoginFailed: // the login may still be valid
	}
	if e.off {
		return
	}
	event := Event{State: state, Server: shown(s.endpoint), Issuer: issuer, Principal: s.id.principal, Err: s.explain(err)}
	for _, w := range e.watching(s.name()) {
		w.Changed(event)
	}
	e.put(event)
}

// notObtained reports a failed login, or a token that a program cannot renew.
func (s *server) notObtained(again bool, issuer string, err error) {
	var waits *LoginPendingError
	switch {
	case errors.As(err, &waits): // it is pending
	case errors.Is(err, errElsewhere): // its token is used
	case !again:
		s.tell(LoginFailed, issuer, err)
	case refusedForGood(err):
		s.tell(LoginLost, issuer, err)
	}
}

// refusedForGood reports whether an authorization server issues no token until the cause is
// corrected (RFC 6749 section 5.2). Other failures are temporary.
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
