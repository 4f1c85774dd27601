//go:build race

package simulation

// seeds is smaller with the race detector, which makes a world twenty times as
// slow.
const seeds = 1
