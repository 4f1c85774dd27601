//go:build race

package toolcache

// Nothing races in a hash.
func init() { storeRounds = 1 << 6 }
