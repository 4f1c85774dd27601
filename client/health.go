package client

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/healthhttp"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Health describes a client at one moment. Each part is consistent; the parts
// are read one after the other. It contains no secrets: no arguments of
// programs and no queries of URLs.
type Health struct {
	// Server is the name of the server; see [WithName]. Address is its URL without the
	// query, or the path of its program. Transport is "stdio", "http" or "stream".
	// Version is the negotiated revision.
	Server    string
	Address   string
	Transport string
	Version   mcp.Version
	// Status summarizes the health.
	Status HealthStatus
	// Healthy is the value of [Client.Healthy], State the state of the
	// connection.
	Healthy bool
	State   State
	// InFlight is the number of requests that wait for answers.
	InFlight int
	// Breaker is the server's circuit with its last failure; nil if it is off.
	Breaker *breaker.Snapshot
	// Tools are the circuits of tools that are not closed, or are forced open.
	Tools []breaker.Snapshot
	// ThrottledFor is the value of [Client.ThrottledFor].
	ThrottledFor time.Duration
	// RetryTokens is what is left of the retry budget, out of 100; nil before
	// the first retry.
	RetryTokens *int
	// Cache describes the cached list of tools; nil if there is none.
	Cache *toolcache.Status
}

// HealthStatus summarizes a health. A greater value is worse.
type HealthStatus uint8

const (
	// HealthOK: calls go to the server.
	HealthOK HealthStatus = iota
	// HealthDegraded: calls go to the server, but not all. The circuit of a
	// tool is not closed, or a server of a pool is not connected.
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

// Healthy reports whether calls go to the server: the conversation is open,
// and its circuit is neither open nor half-open. It ignores throttling
// (Retry-After). For a healthy client it takes a few nanoseconds and no lock,
// so you can use it to choose a server for each call.
//
// Without calls, an unhealthy client would not notice that the server has recovered.
// So Healthy starts the recovery in the background and returns at once; call it
// again for the outcome. If the circuit's cooldown is over, it starts one
// probe, as a call would. If a lost session could not be reopened, it starts
// the next try once that is due.
func (c *Client) Healthy() bool {
	lost, state := c.core.Links.Load(), c.core.Life.State() // in this order; see Revive
	if state == life.Ready && c.calls.Guard.Healthy() {
		return true
	}
	c.calls.Guard.Revive(lost, state)
	return false
}

// Clients returns a slice with the client itself. Package otel and others that
// observe the clients of a pool can therefore observe one client, too.
func (c *Client) Clients() []*Client { return []*Client{c} }

// Health describes the client. It never blocks. For an unhealthy client it may
// start a probe in the background, as [Client.Healthy] does.
func (c *Client) Health() Health {
	h := Health{
		Server: mcperrors.Redact(c.core.Server), Address: mcperrors.Redact(c.at), Version: c.core.Links.Agreed().Version,
		Healthy: c.Healthy(), State: c.State(), InFlight: c.calls.Guard.InFlight(),
	}
	if l := c.core.Links.Load(); l != nil {
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
	if b := c.calls.Budget(); b != nil {
		left := b.Tokens()
		h.RetryTokens = &left
	}
	if c.cfg.cache != nil || c.listed.Peek() != nil {
		if st, ok := c.CacheStatus(); ok {
			h.Cache = &st
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

// MarshalJSON implements [json.Marshaler] with names in snake case and
// durations in whole milliseconds. Absent values are omitted.
func (h Health) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Server      string             `json:"server"`
		Address     string             `json:"address"`
		Transport   string             `json:"transport,omitempty"`
		Version     mcp.Version        `json:"version,omitempty"`
		Status      HealthStatus       `json:"status"`
		Healthy     bool               `json:"healthy"`
		State       State              `json:"state"`
		InFlight    int                `json:"in_flight"`
		Breaker     *breaker.Snapshot  `json:"breaker,omitempty"`
		Tools       []breaker.Snapshot `json:"tools,omitempty"`
		ThrottledMS int64              `json:"throttled_for_ms,omitempty"`
		RetryTokens *int               `json:"retry_tokens,omitempty"`
		Cache       *toolcache.Status  `json:"cache,omitempty"`
	}{
		h.Server, h.Address, h.Transport, h.Version, h.Status, h.Healthy, h.State, h.InFlight, h.Breaker, h.Tools,
		int64((h.ThrottledFor + time.Millisecond - 1) / time.Millisecond), h.RetryTokens, h.Cache,
	})
}

// HealthHandler answers GET and HEAD with the health of clients as JSON:
// {"status":"ok","servers":[…]}. The status is the worst of all clients. "ok"
// and "degraded" have status 200, "unavailable" has 503. nil clients are
// ignored.
//
// It may be polled as often as needed: it never contacts a healthy server, and
// an unhealthy one only at the pace of its circuit. Polling alone is enough
// for a client to recover; see [Client.Healthy]. Package pool has a handler
// for the servers of a pool.
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
