//go:build race

package mcperrors_test

// raced says that the race detector runs. It makes large inputs ten times as
// slow, and what works through them is one goroutine.
const raced = true
