//go:build !race

package inputschema

// raced says that the race detector runs.
const raced = false
