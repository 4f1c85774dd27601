//go:build race

package sse_test

// raced says that the race detector runs: sync.Pool then drops things at
// random, and what is pooled is allocated now and then.
const raced = true
