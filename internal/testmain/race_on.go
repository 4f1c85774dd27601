//go:build race

package testmain

// Race reports whether the race detector runs. It makes computation ten times slower, and
// sync.Pool drops items at random, so pooled values are sometimes allocated.
const Race = true
