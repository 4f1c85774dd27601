//go:build !race

package breaker_test

// walkSteps is the number of steps of a random walk in a normal test run.
const walkSteps = 1_000_000
