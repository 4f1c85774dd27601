package toolcache

import (
	"encoding/json"
	"time"
)

// Freshness reports how old an answer of the cache is.
type Freshness struct {
	// Stale reports that the answer is past its time to live. The cache returns
	// it because a fetch failed ([Settings.ServeStale]) or because a fetch runs
	// in the background ([Settings.Revalidate]).
	Stale bool
	// Age is the time since the server was asked.
	Age time.Duration
	// Cause is the error of the fetch that failed, or nil.
	Cause error
}

// Status is the status of a list, for health reports.
type Status struct {
	// Tools is the number of tools in the list. Refused is the number of tools
	// that were too large for it.
	Tools, Refused int
	// Age is the time since the list was fetched. TTL is how long it is fresh.
	Age, TTL time.Duration
	// Stale reports that the next use asks the server. Public reports that the server
	// calls the list public.
	Stale, Public bool
	// Epoch counts the events that made the list stale early: invalidations,
	// changes reported by the server, and refused credentials.
	Epoch uint64
	// Hash is the SHA-256 digest of the tools, in hexadecimal. Equal lists have
	// equal hashes.
	Hash string
}

// MarshalJSON implements [json.Marshaler] with the form that health reports use.
func (s Status) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Tools int    `json:"tools"`
		AgeMS int64  `json:"age_ms"`
		Stale bool   `json:"stale"`
		Epoch uint64 `json:"epoch"`
	}{s.Tools, s.Age.Milliseconds(), s.Stale, s.Epoch})
}
