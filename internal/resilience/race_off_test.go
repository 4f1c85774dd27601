//go:build !race

package resilience_test

// walk is how many steps a model takes.
const walk = 200_000
