package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// ServerState is how a server of a [Pool] stands.
type ServerState uint8

const (
	// ServerConnecting: it is being tried, or its client starts its program again.
	ServerConnecting ServerState = iota
	// ServerConnected: it takes calls; see its breaker for how it does.
	ServerConnected
	// ServerFailed: the last try failed, or the connection was lost, or the program
	// ends again and again and its client leaves it alone ([StateHeld]).
	ServerFailed
	// ServerClosed: the pool is closed.
	ServerClosed
)

// String returns connecting, connected, failed or closed.
func (s ServerState) String() string {
	switch s {
	case ServerConnecting:
		return "connecting"
	case ServerConnected:
		return "connected"
	case ServerFailed:
		return "failed"
	case ServerClosed:
		return "closed"
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// MarshalText implements [encoding.TextMarshaler] with the names of String.
func (s ServerState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// ServerHealth is how one server of a [Pool] stands at one moment.
type ServerHealth struct {
	// Name is the server's in the pool, Transport where it is, without secrets.
	Name, Transport string
	// Required says that the pool was not to be opened without it.
	Required bool
	State    ServerState
	// Status is the health in one word, [HealthUnavailable] for a server that is
	// not connected.
	Status HealthStatus
	// Since is when it came to be so.
	Since time.Time
	// Attempts is how many tries to connect are over.
	Attempts int
	// LastError is why the last try failed or how the connection ended; nil once
	// it is connected.
	LastError error
	// NextAttempt is when it is tried again by itself, zero for never and for a
	// server that is connected.
	NextAttempt time.Time
	// Breaker is the snapshot of its breaker, nil when it is not connected or has
	// none. Tools are the circuits of tools that are not CLOSED.
	Breaker *breaker.Snapshot
	Tools   []breaker.Snapshot
}

// Health returns how each server stands, in the order given. It does not wait; a
// server that is not healthy may be probed in the background, see
// [Client.Healthy].
func (p *Pool) Health() []ServerHealth {
	out := make([]ServerHealth, len(p.members))
	for i, m := range p.members {
		out[i] = m.health()
		out[i].Status = HealthUnavailable
		if c := m.client.Load(); c != nil {
			h := c.Health()
			out[i].Status, out[i].Breaker, out[i].Tools = h.Status, h.Breaker, h.Tools
		}
	}
	return out
}

// HealthHandler is [HealthHandler] for a pool, whose servers come and go. It says
// "unavailable" (503) when a server of [WithRequiredServers] is unavailable, when
// all servers are, and when the pool is closed; "degraded" (200) when anything less
// is wrong.
func (p *Pool) HealthHandler() http.Handler {
	return healthHandler(func() (HealthStatus, []ServerHealth) {
		servers := p.Health()
		return p.status(servers), servers
	})
}

func (p *Pool) status(servers []ServerHealth) HealthStatus {
	if p.life.Err() != nil {
		return HealthUnavailable
	}
	best, worst := HealthUnavailable, HealthOK
	for _, h := range servers {
		if h.Required && h.Status == HealthUnavailable {
			return HealthUnavailable
		}
		best, worst = min(best, h.Status), max(worst, h.Status)
	}
	switch {
	case worst == HealthOK:
		return HealthOK
	case best == HealthUnavailable:
		return HealthUnavailable
	}
	return HealthDegraded
}

// Failures returns why servers are not connected, by name: those that failed, with
// the reason, and those still being tried, with the reason of the last time or that
// they are not there yet. It is empty when all are connected.
func (p *Pool) Failures() map[string]error {
	out := map[string]error{}
	for _, m := range p.members {
		switch h := m.health(); {
		case h.State == ServerConnected:
		case h.LastError != nil:
			out[m.spec.Name] = h.LastError
		default:
			out[m.spec.Name] = m.away()
		}
	}
	return out
}

func (m *poolMember) health() ServerHealth {
	h := ServerHealth{Name: m.spec.Name, Required: m.required}
	if m.spec.Transport != nil {
		h.Transport = m.hide(m.spec.Transport.String())
	}
	m.p.mu.Lock()
	h.State, h.Since, h.Attempts, h.LastError, h.NextAttempt = m.state, m.since, m.attempts, m.err, m.next
	m.p.mu.Unlock()
	c := m.client.Load()
	if c == nil || h.State != ServerConnected {
		return h
	}
	k := c.restarting()
	if k == nil {
		return h // the pool will see its end in a moment
	}
	switch c.State() { // it looks after its program itself
	case StateConnecting, StateReady, StateClosed:
		return h
	case StateRestarting:
		h.State = ServerConnecting
	case StateHeld, StateEnded:
		h.State = ServerFailed
	}
	if cause, until, ok := k.Outage(); ok {
		h.LastError, h.NextAttempt = m.conceal(cause), until
	}
	return h
}

// MarshalJSON implements [json.Marshaler] with snake-case names, times in RFC 3339,
// the error as text, and without what is not known.
func (h ServerHealth) MarshalJSON() ([]byte, error) {
	form := struct {
		Name        string             `json:"name"`
		Transport   string             `json:"transport,omitempty"`
		Required    bool               `json:"required"`
		State       ServerState        `json:"state"`
		Status      HealthStatus       `json:"status"`
		Since       time.Time          `json:"since"`
		Attempts    int                `json:"attempts"`
		LastError   string             `json:"last_error,omitempty"`
		NextAttempt *time.Time         `json:"next_attempt,omitempty"`
		Breaker     *breaker.Snapshot  `json:"breaker,omitempty"`
		Tools       []breaker.Snapshot `json:"tools,omitempty"`
	}{
		Name: h.Name, Transport: h.Transport, Required: h.Required, State: h.State, Status: h.Status,
		Since: h.Since.UTC(), Attempts: h.Attempts, Breaker: h.Breaker, Tools: h.Tools,
	}
	if h.LastError != nil {
		form.LastError = h.LastError.Error()
	}
	if !h.NextAttempt.IsZero() {
		next := h.NextAttempt.UTC()
		form.NextAttempt = &next
	}
	return json.Marshal(form)
}
