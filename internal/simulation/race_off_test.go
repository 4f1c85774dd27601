//go:build !race

package simulation

// seeds is how many worlds are run for each era.
const seeds = 3
