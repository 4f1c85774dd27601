// Package toolcache keeps the tools a server has listed, so that a call needs
// no tools/list before it.
//
//	cache, err := toolcache.New(toolcache.Settings{})
//	tool, err := cache.Get(ctx, key, "convert_pdf", fetch)
//
// A list is kept whole and replaced whole: a tool that is gone from the server
// is gone after the next refresh, and no tool of a list is ever evicted without
// the others, however many there are. There is one refresh of a list at a time;
// whoever asks meanwhile shares it, and giving up does not end it for the
// others.
//
// The epoch rule: [Cache.Invalidate] begins a new epoch. A list counts as fresh
// only in the epoch in which its fetch began, so the answer to a question asked
// before a change is never taken for the state after it. [Cache.Changed] does
// the same for what a server says by itself, and keeps the fetches that follow a
// second apart.
//
// A list is fresh for the time the server gives, up to a tenth less by chance,
// and not after the machine has slept, when nobody has listened. What comes
// after that is for the application to choose, all of it off by default: an old
// list while the server cannot be reached ([Settings.ServeStale]) or for the
// moment of a refresh ([Settings.Revalidate]), always with a [Freshness] that
// says so; lists that outlive the process ([Settings.Durable]); public lists for
// all who ask ([Settings.SharePublic]). Errors are not remembered, but for one:
// that the server does not have such a list ([ErrAbsent]), for a minute.
//
// The cache does no I/O and knows no client: it is filled by the [Fetch]
// functions its callers bring, and a [Store] is brought, too. It starts no
// goroutine but for a running fetch and what that has to store or to drop, and
// needs no closing.
package toolcache
