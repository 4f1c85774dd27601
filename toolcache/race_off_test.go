//go:build !race

package toolcache_test

// modelSteps is how many steps each model takes.
const modelSteps = 150_000
