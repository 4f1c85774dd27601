package transport

import (
	"slices"
	"strings"
	"sync"
)

// ring keeps the last lines of a program's stderr, so that an error can show
// them (STDIO-04). Safe for concurrent use.
type ring struct {
	mu    sync.Mutex
	lines []string
}

// What an error shows: enough for a stack trace's head and its message.
const (
	ringLines     = 50
	ringLineBytes = 500
)

func (r *ring) add(line string) {
	if len(line) > ringLineBytes {
		// Not in the middle of a character.
		line = strings.ToValidUTF8(line[:ringLineBytes], "") + "…"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lines) == ringLines {
		r.lines = slices.Delete(r.lines, 0, 1)
	}
	r.lines = append(r.lines, line)
}

func (r *ring) tail() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}
