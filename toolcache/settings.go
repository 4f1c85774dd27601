package toolcache

import (
	"log/slog"
	"time"
)

// Settings configure a cache. The zero value uses the defaults: lists in memory, fresh for
// the time that the server sets.
type Settings struct {
	// TTL is how long a list is fresh. If it is not 0, it is also an upper limit for the
	// times that servers set. The default is the time that the server sets, or 5 minutes
	// if it sets none. Less than 0 asks the server every time.
	TTL time.Duration
	// Size is the greatest number of lists: one for each server, protocol revision and
	// caller. The cache removes the least recently used list first. 0 means 128. A list has
	// at most 100,000 tools, without tools whose schemas exceed 1 MiB. A client limits a
	// fetch to 64 MiB.
	Size int
	// FetchTimeout limits a fetch, however many callers wait for it. 0 means 30 s.
	//
	// # Experimental
	FetchTimeout time.Duration
	// ExactTTL keeps times to live unchanged. By default the cache subtracts a
	// random part of up to a tenth, so that processes that start together do not
	// ask together.
	//
	// # Experimental
	ExactTTL bool
	// ServeStale returns an expired list if the fetch fails, for up to an hour
	// after it expired. It does not apply after the server announced a change or refused
	// the credentials. The [Freshness] of the answer has Stale set.
	ServeStale bool
	// StaleIf selects the errors for which ServeStale applies. nil means that the server
	// cannot be reached, its front end answers 429 or 5xx, or the circuit is open.
	//
	// # Experimental
	StaleIf func(error) bool
	// Revalidate is how long after its end an expired list is returned while a
	// fetch runs in the background, at most 30 s. It does not apply after the server
	// announced a change, or if the server asks not to be cached. 0 means that
	// callers wait for the fetch. It applies only to lists of tools.
	//
	// # Experimental
	Revalidate time.Duration
	// SharePublic shares a list that the server calls public between all
	// callers of its server. It is off by default, because a server that calls a list
	// public by mistake would then show the tools of one user to another.
	SharePublic bool
	// Durable stores lists of tools beyond this process. nil means that lists end
	// with the process. See [Store].
	Durable Store
	// Logger logs stale answers and errors of Durable. nil means the logger of the client;
	// a shared cache then logs nothing.
	Logger *slog.Logger
}
