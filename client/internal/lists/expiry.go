package lists

import (
	"math"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Expiry is when a list of several pages expires: with the first page that expires. The zero
// Expiry has no page.
type Expiry struct {
	known bool
	at    time.Time
}

// Note records the TTL of a page that has just arrived, in milliseconds; nil means none.
func (e *Expiry) Note(ttlMs *int64) {
	if ttlMs == nil {
		return
	}
	if at := time.Now().Add(*milliseconds(*ttlMs)); !e.known || at.Before(e.at) {
		e.known, e.at = true, at
	}
}

// Left returns how long the list is still fresh, nil if no page had a TTL.
func (e *Expiry) Left() *time.Duration {
	if !e.known {
		return nil
	}
	left := max(0, time.Until(e.at))
	return &left
}

// ttlOf returns the TTL of a result, nil for none.
func ttlOf(result any) *time.Duration {
	var ms *int64
	switch result := result.(type) {
	case *mcp.ListToolsResult:
		ms = result.TTLMs
	case *mcp.ListPromptsResult:
		ms = result.TTLMs
	case *mcp.ListResourcesResult:
		ms = result.TTLMs
	case *mcp.ListResourceTemplatesResult:
		ms = result.TTLMs
	case *mcp.ReadResourceResult:
		ms = result.TTLMs
	}
	if ms == nil {
		return nil
	}
	return milliseconds(*ms)
}

func milliseconds(ms int64) *time.Duration {
	d := time.Duration(min(max(ms, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	return &d
}
