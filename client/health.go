package client

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Health is how a client stands at one moment (resilience.md 3.12). What belongs
// to one part belongs together; the parts are read one after the other. It holds
// no secrets: neither arguments of programs nor queries of addresses.
type Health struct {
	// Server names the server, Transport is "stdio", "http" or "stream", Version
	// the revision that was agreed.
	Server    string
	Transport string
	Version   mcp.Version
	// Healthy is what [Client.Healthy] says, State what the connection is.
	Healthy bool
	State   State
	// InFlight is how many requests wait for their answers.
	InFlight int
	// Breaker is the server's circuit, nil when it is switched off. It has the
	// last failure and when that was.
	Breaker *breaker.Snapshot
	// Tools are the circuits of tools that are not CLOSED.
	Tools []breaker.Snapshot
	// HoldLeft is what [Client.HoldLeft] says.
	HoldLeft time.Duration
	// RetryTokens is what is left to pay for retries, of 100; nil before the
	// first one.
	RetryTokens *int
	// Cache is the list of tools, nil before there is one.
	Cache *CacheHealth
}

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
// its circuit neither open nor half-open. It takes a few nanoseconds and no lock,
// for choosing between servers call by call. A Retry-After of the server it does
// not look at.
func (c *Client) Healthy() bool {
	if c.State() != StateReady {
		return false
	}
	b := c.guard.peek() // the client's own, made by the first call
	if b == nil {
		b = c.res.Breaker
	}
	return b == nil || b.Healthy()
}

// Health returns how the client stands. It asks the server nothing, changes
// nothing, and takes no lock of the client: it works while everything else is
// stuck. (A cache shared by several servers has a lock of its own, never held
// across a wait.)
func (c *Client) Health() Health {
	h := Health{
		Server: mcperrors.Redact(c.server), Version: c.told().version,
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
			if s.State != breaker.Closed {
				h.Tools = append(h.Tools, redacted(s))
			}
		}
	}
	h.HoldLeft = c.HoldLeft()
	if b := c.budgets(); b != nil {
		left := b.retries.Tokens()
		h.RetryTokens = &left
	}
	if cache := c.tools.peek(); cache != nil {
		if st, ok := cache.Status(c.cacheKey()); ok {
			h.Cache = &CacheHealth{Tools: st.Tools, Age: st.Age, Stale: !st.Fresh, Epoch: st.Epoch}
		}
	}
	return h
}

func redacted(s breaker.Snapshot) breaker.Snapshot {
	for _, text := range []*string{&s.Name, &s.Reason, &s.HoldReason, &s.LastFailure} {
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
		Healthy     bool               `json:"healthy"`
		State       State              `json:"state"`
		InFlight    int                `json:"in_flight"`
		Breaker     *breaker.Snapshot  `json:"breaker,omitempty"`
		Tools       []breaker.Snapshot `json:"tools,omitempty"`
		HoldMS      int64              `json:"hold_ms,omitempty"`
		RetryTokens *int               `json:"retry_tokens,omitempty"`
		Cache       *CacheHealth       `json:"cache,omitempty"`
	}{
		h.Server, h.Transport, h.Version, h.Healthy, h.State, h.InFlight, h.Breaker, h.Tools,
		int64((h.HoldLeft + time.Millisecond - 1) / time.Millisecond), h.RetryTokens, h.Cache,
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
// {"status":"ok","servers":[…]} and 200, or the status "unavailable" and 503 when
// any of them is not healthy. Asking costs the servers nothing and changes
// nothing, so it may be asked as often as one likes. nil clients are left out.
func HealthHandler(clients ...*Client) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET", http.StatusMethodNotAllowed)
			return
		}
		answer := struct {
			Status  string   `json:"status"`
			Servers []Health `json:"servers"`
		}{Status: "ok", Servers: make([]Health, 0, len(clients))}
		status := http.StatusOK
		for _, c := range clients {
			if c == nil {
				continue
			}
			h := c.Health()
			answer.Servers = append(answer.Servers, h)
			if !h.Healthy {
				answer.Status, status = "unavailable", http.StatusServiceUnavailable
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer) // an error means that the asker has gone
	})
}
