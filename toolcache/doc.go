// Package toolcache configures the cache of a client: how long lists of tools are fresh, when
// stale lists may replace answers, and where lists are stored beyond the process.
//
//	c, err := client.Connect(ctx, server, client.WithCache(client.CacheConfig{
//		Settings: toolcache.Settings{
//			ServeStale: true,
//			Durable:    &toolcache.FileStore{Dir: folder},
//		},
//	}))
//
// The cache stores and replaces a list as a whole. A tool that the server removes disappears
// at the next refresh. At most one refresh of a list runs at a time, and callers share it. A
// caller that gives up does not cancel it for the others. A change that the server announces
// makes the list stale at once; the fetches that follow are at least a second apart.
//
// A list is fresh for the time that the server sets, minus a random part of up to a tenth. It
// is not fresh after the machine has slept. Errors are not cached, with one exception: that a
// server has no such list, for a minute.
//
// Several clients share one cache with client.NewCache.
package toolcache
