package lists

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Scope is the server and the callers for which results are cached. The zero Scope is that of a
// server without a name.
type Scope struct {
	server string
	who    *callers // nil if results do not depend on the caller
}

type callers struct {
	partition string
	// ask returns the caller of a call, from its context; nil if results do not depend on it.
	ask func(context.Context) *transport.Caller
	// apart is set if each caller has its own results.
	apart bool
	last  atomic.Pointer[string] // last result of partitionOf, for reuse
}

// Sharing describes who can see the cached values. The zero Sharing is a cache in memory for one
// client.
type Sharing struct {
	// Partition is the application's name for the callers of this client, nil for none.
	Partition *string
	// Clients is set if other clients use the cache, Durable if it outlives the process.
	Clients, Durable bool
}

// NewScope returns the scope of a client of t.
func NewScope(t transport.Transport, s Sharing) (Scope, error) {
	partition, err := s.partitionOf(t)
	if err != nil {
		return Scope{}, err
	}
	scope := Scope{server: t.String()}
	if t, ok := t.(link.Identified); ok {
		scope.server = t.Identity()
	}
	who := callers{partition: partition}
	if named, ok := t.(link.CallerNamer); ok {
		who.ask = named.Callers()
	}
	if partition != "" || who.ask != nil {
		who.apart = who.ask != nil && s.Partition == nil
		scope.who = &who
	}
	return scope, nil
}

// partitionOf returns the application's name, or else the scope of the transport's credentials. A
// cache for one client needs no name.
func (s Sharing) partitionOf(t transport.Transport) (string, error) {
	switch scoped, ok := t.(link.Scoped); {
	case s.Partition != nil:
		return *s.Partition, nil
	case !ok || !s.Clients && !s.Durable:
		return "", nil
	default:
		scope, known := scoped.Scope()
		if !known && s.Durable {
			return "", errors.New("a durable cache with a RoundTripper needs a Partition in WithCache, because the RoundTripper may add credentials")
		}
		return scope, nil
	}
}

// partitionOf returns the caller's part of the partition.
func (w *callers) partitionOf(who *transport.Caller) string {
	if who == nil || who.Err != nil {
		return "\x00nobody" // nothing is fetched: its requests fail
	}
	if last := w.last.Load(); last != nil && (*last)[1:] == who.Name {
		return *last
	}
	text := "\x00" + who.Name
	w.last.Store(&text)
	return text
}
