//go:build race

package resilience_test

// walk is how many steps a model takes: fewer with the race detector, which makes
// a step ten times as slow.
const walk = 100_000
