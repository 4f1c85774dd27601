package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Server is what is behind a proxy: one server, which is a [Target], or several, which [Servers]
// joins.
type Server interface {
	// open returns the server for a host. It does not wait for it.
	open(side *hostSide) (backend, error)
}

// A backend is what a host talks to: an [upstream], or a [group] of them.
type backend interface {
	side() *hostSide
	// early answers a request from the cache while the server is not there, nil if it has to wait.
	early(r *request) json.RawMessage
	// connected waits for the server.
	connected(ctx context.Context) error
	// keep puts an answer into the cache.
	keep(r *request, answer json.RawMessage)
	// waitsFor names what a request waits for.
	waitsFor() string
	// agreement returns the result of initialize.
	agreement(agreed mcp.Version) json.RawMessage
	// watchLists makes sure that a session host learns of changed lists.
	watchLists()
	serve(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error)
	// notify passes a notification of a session host on.
	notify(n jsonrpc.Notification)
	// idle reports whether no call waits for the host.
	idle() bool
	// attributes reports whether the server is known to say for which call it asks.
	attributes() bool
	close()
}

// hostSide is what servers know of a host.
type hostSide struct {
	host     *host
	version  mcp.Version         // of the host
	info     *mcp.Implementation // nil if the host does not say
	declared mcp.ClientCapabilities
	raw      json.RawMessage // declared, as the host sent it

	ready chan struct{} // closed when messages of servers may reach the host
	begin func()        // closes ready

	before backend         // whose place the server takes, nil for none
	ended  <-chan struct{} // closed when that one has ended
}

// side implements [backend] for what embeds a hostSide.
func (s *hostSide) side() *hostSide { return s }

// open returns the server for a host that declares these. It does not connect yet.
func (h *host) open(version mcp.Version, info, capabilities json.RawMessage) (backend, error) {
	s := &hostSide{host: h, version: version, raw: capabilities, ready: make(chan struct{})}
	s.begin = sync.OnceFunc(func() { close(s.ready) })
	if info != nil {
		s.info = &mcp.Implementation{}
		if err := mcp.Unmarshal(slices.Clone(info), s.info); err != nil {
			return nil, invalidParams("clientInfo", err)
		}
		s.info.Name, s.info.Version = cmp.Or(s.info.Name, "unknown"), cmp.Or(s.info.Version, "unknown") // servers want both
	}
	if err := mcp.Unmarshal(slices.Clone(capabilities), &s.declared); err != nil {
		return nil, invalidParams("capabilities", err)
	}
	s.declared.Tasks = nil // those of the host cannot be followed from the server
	return h.target.open(s)
}

// WithIdleStop sets after what time the server of a session of a [Handler] ends, although the
// session stays, once its host has left without ending the session: it had opened the stream for
// messages of the server, the stream has ended, and nothing came since. The default is 30 s. A
// host that never opened that stream gets ten times as long, because its silence says little.
//
// The next request, or the stream, starts the server again, as after an exit: it has the log level
// and the subscriptions of the session, and has lost what else it had in memory. Servers with an
// open request, an open question or a task go on, and so does that of [WithSharedServer]. A d of
// the session timeout keeps all servers as long as their sessions.
func WithIdleStop(d time.Duration) Option {
	return func(s *settings) {
		if d > 0 {
			s.idleStop = d
		}
	}
}

const (
	defaultIdleStop = 30 * time.Second
	// silentFactor is how many times longer a host may be silent that opened no stream.
	silentFactor = 10
)

// stopIdle ends the server of the session, unless a request is open or it serves other hosts too.
// The next request opens it again.
func (h *host) stopIdle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped || h.share || h.session == nil || h.idled != nil || len(h.requests) > 0 {
		return
	}
	up, ended := h.session, make(chan struct{})
	h.idled = ended
	h.work.Go(func() {
		defer close(ended)
		up.close()
	})
}

// current returns the server of the session, nil if there is none. Requires h.mu.
func (h *host) current() backend {
	if h.idled == nil || h.stopped {
		return h.session
	}
	side := *h.session.side()
	side.before, side.ended = h.session, h.idled
	up, err := h.target.open(&side)
	if err != nil { // nothing has changed since it was opened before
		return h.session
	}
	h.session, h.idled = up, nil
	return up
}

// wake starts the server of the session again if it was ended.
func (h *host) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.idled == nil || h.stopped {
		return
	}
	up := h.current()
	h.work.Go(func() { _ = up.connected(h.ctx) }) // the next request tells what is wrong
}
