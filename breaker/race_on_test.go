//go:build race

package breaker_test

// walkSteps is smaller with the race detector, which makes steps ten times as
// slow.
const walkSteps = 100_000
