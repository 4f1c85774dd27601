//go:build !race

package docling

const underRace = false
