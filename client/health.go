package client

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/healthhttp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Health is how a client stands at one moment. What belongs
// to one part belongs together; the parts are read one after the other. It holds
// no secrets: neither arguments of programs nor queries of addresses.
type Health struct {
	// Server names the server, Transport is "stdio", "http" or "stream", Version
	// the revision that was agreed.
	Server    string
	Transport string
	Version   mcp.Version
	// Status is the health in one word.
	Status HealthStatus
	// Healthy is what [Client.Healthy] says, State what the connection is.
	Healthy bool
	State   State
	// InFlight is how many requests wait for their answers.
	InFlight int
	// Breaker is the server's circuit, nil when it is switched off. It has the
	// last failure and when that was.
	Breaker *breaker.Snapshot
	// Tools are the circuits of tools that are not CLOSED, or forced open.
	Tools []breaker.Snapshot
	// ThrottledFor is what [Client.ThrottledFor] says.
	ThrottledFor time.Duration
	// RetryTokens is what is left to pay for retries, of 100; nil before the
	// first one.
	RetryTokens *int
	// Cache is the list of tools, nil before there is one.
	Cache *CacheHealth
}

// HealthStatus is a health in one word. The worse is the greater.
type HealthStatus uint8

const (
	// HealthOK: calls go to the server.
	HealthOK HealthStatus = iota
	// HealthDegraded: calls go to the server, but not all of them: the circuit of
	// a tool is not closed, or a server of a pool is not connected.
	HealthDegraded
	// HealthUnavailable: calls are refused.
	HealthUnavailable
)

// String returns ok, degraded or unavailable.
func (s HealthStatus) String() string {
	switch s {
	case HealthOK:
		return "ok"
	case HealthDegraded:
		return "degraded"
	default:
		return "unavailable"
	}
}

// MarshalText implements [encoding.TextMarshaler] with the names of String.
func (s HealthStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// CacheHealth is how the list of tools stands.
type CacheHealth struct {
	// Tools is how many the list has, Age how long ago it came.
	Tools int
	Age   time.Duration
	// Stale says that the next use asks the server.
	Stale bool
	// Epoch counts what made the list stale before its time.
	Epoch uint64
}

// Healthy reports whether calls go to the server: the conversation is open and
// its circuit neither open nor half-open. For a client that is healthy it takes a
// few nanoseconds and no lock, for choosing between servers call by call. A
// Retry-After of the server it does not look at.
//
// A client that is not asked to call because it is not healthy has no call that
// finds out that the server is back. So asking does: once the circuit's cooldown
// is over, it starts one probe in the background, as a call would, and where a
// lost session could not be opened again it starts the next try once that is due.
// Ask again for the outcome.
func (c *Client) Healthy() bool {
	b := c.guard.peek() // the client's own, made by the first call
	if b == nil {
		b = c.res.Breaker
	}
	if c.State() == StateReady && (b == nil || b.Healthy()) {
		return true
	}
	c.revive(b)
	return false
}

// Clients returns the client itself: what observes the clients of a pool, such as
// package otel, can observe one client in the same way.
func (c *Client) Clients() []*Client { return []*Client{c} }

// Health returns how the client stands. It does not wait, and works while
// everything else is stuck. Of a client that is not healthy it asks what
// [Client.Healthy] asks: a probe may start in the background.
func (c *Client) Health() Health {
	h := Health{
		Server: mcperrors.Redact(c.server), Version: c.live.Agreed().Version,
		Healthy: c.Healthy(), State: c.State(), InFlight: int(c.inFlight.Load()),
	}
	if l := c.live.Load(); l != nil {
		h.Transport = transportOf(l)
	}
	if b := c.Breaker(); b != nil {
		s := redacted(b.Snapshot())
		h.Breaker = &s
	}
	if g := c.ToolBreakers(); g != nil {
		for _, s := range g.Snapshots() {
			if s.State == breaker.Closed && s.Mode != breaker.ForcedOpen {
				continue
			}
			h.Tools = append(h.Tools, redacted(s))
			if s.Mode != breaker.Bypass {
				h.Status = HealthDegraded
			}
		}
	}
	if !h.Healthy {
		h.Status = HealthUnavailable
	}
	h.ThrottledFor = c.ThrottledFor()
	if b := c.budgets(); b != nil {
		left := b.Tokens()
		h.RetryTokens = &left
	}
	if cache := c.tools.peek(); cache != nil {
		if st, ok := cache.Status(c.live.Agreed().Key); ok {
			h.Cache = &CacheHealth{Tools: st.Tools, Age: st.Age, Stale: !st.Fresh, Epoch: st.Epoch}
		}
	}
	return h
}

func redacted(s breaker.Snapshot) breaker.Snapshot {
	for _, text := range []*string{&s.Name, &s.Reason, &s.ThrottleReason, &s.LastFailure} {
		*text = mcperrors.Redact(*text)
	}
	return s
}

// MarshalJSON implements [json.Marshaler] with names in snake case and durations
// in whole milliseconds. What there is not is left out.
func (h Health) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Server      string             `json:"server"`
		Transport   string             `json:"transport,omitempty"`
		Version     mcp.Version        `json:"version,omitempty"`
		Status      HealthStatus       `json:"status"`
		Healthy     bool               `json:"healthy"`
		State       State              `json:"state"`
		InFlight    int                `json:"in_flight"`
		Breaker     *breaker.Snapshot  `json:"breaker,omitempty"`
		Tools       []breaker.Snapshot `json:"tools,omitempty"`
		HoldMS      int64              `json:"hold_ms,omitempty"`
		RetryTokens *int               `json:"retry_tokens,omitempty"`
		Cache       *CacheHealth       `json:"cache,omitempty"`
	}{
		h.Server, h.Transport, h.Version, h.Status, h.Healthy, h.State, h.InFlight, h.Breaker, h.Tools,
		int64((h.ThrottledFor + time.Millisecond - 1) / time.Millisecond), h.RetryTokens, h.Cache,
	})
}

// MarshalJSON implements [json.Marshaler], as that of [Health].
func (h CacheHealth) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Tools int    `json:"tools"`
		AgeMS int64  `json:"age_ms"`
		Stale bool   `json:"stale"`
		Epoch uint64 `json:"epoch"`
	}{h.Tools, h.Age.Milliseconds(), h.Stale, h.Epoch})
}

// HealthHandler answers GET and HEAD with the health of clients as JSON:
// {"status":"ok","servers":[…]}. The status is the worst of the clients': "ok" and
// "degraded" come with 200, since calls go to every server, "unavailable" with 503.
// It may be asked as often as one likes: a server that is well is not asked
// anything, and one that is not is probed at the pace of its circuit, so that a
// client gets ready again without a call (see [Client.Healthy]). nil clients are
// left out. Package pool has a handler for the servers of a pool.
func HealthHandler(clients ...*Client) http.Handler {
	return healthhttp.Handler(HealthUnavailable, func() (HealthStatus, []Health) {
		status, servers := HealthOK, make([]Health, 0, len(clients))
		for _, c := range clients {
			if c != nil {
				h := c.Health()
				status, servers = max(status, h.Status), append(servers, h)
			}
		}
		return status, servers
	})
}
