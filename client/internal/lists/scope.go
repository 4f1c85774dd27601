package lists

import (
	"context"
	"errors"

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
	apart link.CallerIn
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
	if who := (callers{partition, s.apartIn(t)}); who != (callers{}) {
		scope.who = &who
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
func (s Sharing) apartIn(t transport.Transport) link.CallerIn {
	callers, ok := t.(link.CallerIn)
	if !ok || s.Partition != nil {
		return nil
	}
	if _, differs, _ := callers.CallerIn(context.Background()); !differs { //nolint:forbidigo // whether, not who
		return nil
	}
	return callers
}

// callerIn returns what the partition of the caller that ctx belongs to has besides the
// client's.
func (w *callers) callerIn(ctx context.Context) string {
	caller, differs, err := w.apart.CallerIn(ctx)
	switch {
	case err != nil:
		return "\x00nobody" // nothing is fetched for it: requests fail, too
	case differs:
		return "\x00" + caller
	}
	return ""
}
