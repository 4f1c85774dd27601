package lists

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Scope says of which server and for which callers results are kept. The zero Scope
// is that of a server without a name.
type Scope struct {
	server string
	who    *callers // nil for nobody in particular
}

type callers struct {
	partition string
	// apart tells callers apart by context; nil if they are all the same.
	apart func(context.Context) (caller string, err error)
	last  atomic.Pointer[string] // what callerIn returned last, to be returned again
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
	if apart := s.apartIn(t); partition != "" || apart != nil {
		scope.who = &callers{partition: partition, apart: apart}
	}
	return scope, nil
}

// partitionOf returns the name that the application gave, else what the transport
// knows of its credentials. Only a cache that others see needs a name (CACHE-05).
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

// apartIn returns what tells callers apart by context, nil if they do not differ by
// it or have one name.
func (s Sharing) apartIn(t transport.Transport) func(context.Context) (string, error) {
	if named, ok := t.(link.CallerNamer); ok && s.Partition == nil {
		return named.Callers()
	}
	return nil
}

// callerIn returns what the partition of the caller that ctx belongs to has besides the
// client's.
func (w *callers) callerIn(ctx context.Context) string {
	caller, err := w.apart(ctx)
	if err != nil {
		return "\x00nobody" // nothing is fetched for it: requests fail, too
	}
	if last := w.last.Load(); last != nil && (*last)[1:] == caller {
		return *last
	}
	text := "\x00" + caller
	w.last.Store(&text)
	return text
}
