package lists

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Scope tells for which server and for which callers results are kept. The zero Scope
// is that of a server without a name.
type Scope struct {
	server string
	who    *callers // nil for nobody in particular
}

type callers struct {
	partition string
	// ask finds out who makes a call, by its context; nil if nothing depends on that.
	ask func(context.Context) *transport.Caller
	// apart says that callers have results of their own.
	apart bool
	last  atomic.Pointer[string] // what partitionOf returned last, to be returned again
}

// Sharing says who sees what a cache keeps. The zero Sharing is a cache of one
// client's own, in memory.
type Sharing struct {
	// Partition is the name that the application gave the callers of this client, nil
	// for none.
	Partition *string
	// Clients is set if other clients use the cache, Durable if it outlives the
	// process.
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

// partitionOf returns the name that the application gave, else what the transport
// knows of its credentials. Only a cache that others see needs a name.
func (s Sharing) partitionOf(t transport.Transport) (string, error) {
	switch scoped, ok := t.(link.Scoped); {
	case s.Partition != nil:
		return *s.Partition, nil
	case !ok || !s.Clients && !s.Durable:
		return "", nil
	default:
		scope, known := scoped.Scope()
		if !known && s.Durable {
			return "", errors.New("a durable tool cache with a RoundTripper needs a Partition in WithCache: the RoundTripper may add credentials")
		}
		return scope, nil
	}
}

// partitionOf returns what the partition of a caller has besides the client's.
func (w *callers) partitionOf(who *transport.Caller) string {
	if who == nil || who.Err != nil {
		return "\x00nobody" // nothing is fetched for it: its requests fail
	}
	if last := w.last.Load(); last != nil && (*last)[1:] == who.Name {
		return *last
	}
	text := "\x00" + who.Name
	w.last.Store(&text)
	return text
}
