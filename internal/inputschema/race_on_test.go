//go:build race

package inputschema

// raced says that the race detector runs. It makes large inputs ten times as
// slow, and what works through them is one goroutine.
const raced = true
