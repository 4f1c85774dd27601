// Package toolcache keeps the tools that a server has listed, so that a call
// needs no tools/list request first.
//
//	cache, err := toolcache.New(toolcache.Settings{})
//	tool, err := cache.Get(ctx, key, "convert_pdf", fetch)
//
// The cache stores and replaces a list as a whole. A tool that the server
// removes disappears at the next refresh, and tools of one list are never
// evicted separately. At most one refresh of a list runs at a time. Callers
// that need the list in the meantime share the refresh; a caller that gives up
// does not cancel it for the others.
//
// [Cache.Invalidate] starts a new epoch. A list is fresh only in the epoch in
// which its fetch began, so an answer from before a change never counts as the
// state after it. [Cache.Changed] does the same for notifications of the
// server, and limits the fetches that follow to one a second.
//
// A list is fresh for the time that the server sets, minus a random part of up
// to a tenth. It is not fresh after the machine has slept. The following are
// off by default: stale lists while the server is unreachable
// ([Settings.ServeStale]) or during a refresh ([Settings.Revalidate]), lists
// that outlive the process ([Settings.Durable]), and public lists shared by all
// callers ([Settings.SharePublic]). A stale answer always has a [Freshness]
// with Stale set. Errors are not cached, with one exception: [ErrAbsent], the
// error of a server without such a list, for a minute.
//
// The cache does no I/O of its own. Callers pass [Fetch] functions, and the
// application may pass a [Store]. The cache has goroutines only while a fetch
// runs and while it writes to the store, so it needs no Close.
package toolcache
