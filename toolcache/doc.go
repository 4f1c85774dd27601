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
// before a change is never taken for the state after it.
//
// The cache does no I/O and knows no client: it is filled by the [Fetch]
// functions its callers bring. It starts no goroutine but for a running fetch,
// and needs no closing.
package toolcache
