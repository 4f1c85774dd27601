//go:build race

package docling

// underRace says that the race detector is on. It makes converter processes,
// in which nothing races, many times slower and larger.
const underRace = true
