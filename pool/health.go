package pool

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/healthhttp"
)

// State is the state of the connection to one server of a [Pool].
type State uint8

const (
	// Connecting: the pool connects to the server, or the server's client restarts
	// its program.
	Connecting State = iota
	// Connected: the server accepts calls. Its circuit breaker shows whether it answers
	// them.
	Connected
	// Failed: the last attempt failed, the connection was lost, or the program keeps
	// exiting and its client pauses restarts ([client.StateBackoff]).
	Failed
	// Closed: the pool is closed.
	Closed
)

// String returns connecting, connected, failed or closed.
func (s State) String() string {
	switch s {
	case Connecting:
		return "connecting"
	case Connected:
		return "connected"
	case Failed:
		return "failed"
	case Closed:
		return "closed"
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// MarshalText implements [encoding.TextMarshaler] with the names of String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Health describes one server of a [Pool] at one moment.
type Health struct {
	// Name is the name of the server in the pool.
	Name string
	// Transport is the address or command of the server, without secrets.
	Transport string
	// Required reports that the server is one of [WithRequiredServers].
	Required bool
	State    State
	// Status is the health in one word, [client.HealthUnavailable] for a server
	// that is not connected.
	Status client.HealthStatus
	// Since is when the server entered its state.
	Since time.Time
	// Attempts counts the finished attempts to connect.
	Attempts int
	// LastError is why the last attempt failed or how the connection ended; nil once
	// the server is connected.
	LastError error
	// NextAttempt is when the next attempt is scheduled; zero when there is none, and
	// for a server that is connected.
	NextAttempt time.Time
	// Breaker is the snapshot of the server's breaker; nil when it is not connected
	// or has none.
	Breaker *breaker.Snapshot
	// Tools are the circuits of tools that are not CLOSED.
	Tools []breaker.Snapshot
}

// Health returns the health of each server, in the order given. It does not wait.
// It may start a probe of an unhealthy server in the background; see
// [client.Client.Healthy].
func (p *Pool) Health() []Health {
	out := make([]Health, len(p.members))
	for i, m := range p.members {
		out[i] = m.health()
		out[i].Status = client.HealthUnavailable
		if c := m.client.Load(); c != nil {
			h := c.Health()
			out[i].Status, out[i].Breaker, out[i].Tools = h.Status, h.Breaker, h.Tools
		}
	}
	return out
}

// HealthHandler returns a handler as [client.HealthHandler] does, for the servers
// of the pool. The status is "unavailable" (503) when a server of
// [WithRequiredServers] is unavailable, when all servers are, and when the pool is
// closed. It is "degraded" (200) when anything less is wrong.
func (p *Pool) HealthHandler() http.Handler {
	return healthhttp.Handler(client.HealthUnavailable, func() (client.HealthStatus, []Health) {
		servers := p.Health()
		return p.status(servers), servers
	})
}

func (p *Pool) status(servers []Health) client.HealthStatus {
	if p.life.Err() != nil {
		return client.HealthUnavailable
	}
	best, worst := client.HealthUnavailable, client.HealthOK
	for _, h := range servers {
		if h.Required && h.Status == client.HealthUnavailable {
			return client.HealthUnavailable
		}
		best, worst = min(best, h.Status), max(worst, h.Status)
	}
	switch {
	case worst == client.HealthOK:
		return client.HealthOK
	case best == client.HealthUnavailable:
		return client.HealthUnavailable
	}
	return client.HealthDegraded
}

// Failures returns why servers are not connected, by name: the reason of the last
// attempt, or that the first one is not finished. It is empty when all servers are
// connected.
func (p *Pool) Failures() map[string]error {
	out := map[string]error{}
	for _, m := range p.members {
		switch h := m.health(); {
		case h.State == Connected:
		case h.LastError != nil:
			out[m.server.Name] = h.LastError
		default:
			out[m.server.Name] = m.unavailable()
		}
	}
	return out
}

// health returns the health of the server, as the pool and its client know it.
func (m *member) health() Health {
	h := Health{Name: m.server.Name, Required: m.required}
	if m.server.Transport != nil {
		h.Transport = m.hide(m.server.Transport.String())
	}
	m.p.mu.Lock()
	h.State, h.Since, h.Attempts, h.LastError, h.NextAttempt = m.state, m.since, m.attempts, m.err, m.next
	m.p.mu.Unlock()
	c := m.client.Load()
	if c == nil || h.State != Connected {
		return h
	}
	outage, down := c.Outage()
	switch state := c.State(); {
	case !down:
		return h
	case state == client.StateRestarting, state == client.StateEnded: // the pool replaces an ended client soon
		h.State = Connecting
	case state == client.StateBackoff:
		h.State = Failed
	default:
		return h
	}
	h.LastError, h.NextAttempt = m.conceal(outage.Cause), outage.NextStart
	return h
}

// MarshalJSON implements [json.Marshaler] with names in snake case, times in RFC
// 3339 and the error as text. Absent values are omitted.
func (h Health) MarshalJSON() ([]byte, error) {
	form := struct {
		Name        string              `json:"name"`
		Transport   string              `json:"transport,omitempty"`
		Required    bool                `json:"required"`
		State       State               `json:"state"`
		Status      client.HealthStatus `json:"status"`
		Since       time.Time           `json:"since"`
		Attempts    int                 `json:"attempts"`
		LastError   string              `json:"last_error,omitempty"`
		NextAttempt *time.Time          `json:"next_attempt,omitempty"`
		Breaker     *breaker.Snapshot   `json:"breaker,omitempty"`
		Tools       []breaker.Snapshot  `json:"tools,omitempty"`
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
