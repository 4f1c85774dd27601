//go:build race

package toolcache_test

// modelSteps is smaller with the race detector, which makes steps ten times as
// slow.
const modelSteps = 25_000
