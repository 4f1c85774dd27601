package transport

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// ring keeps of a program's stderr what says why it failed: how it
// began, how it ended, and the lines between that look like errors. A stack trace
// has its reason at the top, an installer at the beginning, and most programs say
// it last. Safe for concurrent use.
type ring struct {
	mu                sync.Mutex
	head, fault, tail []string
	left              int // lines that are not kept
}

// What an error shows, in lines and in bytes of a line.
const (
	ringHead      = 8
	ringFaults    = 8
	ringTail      = 32
	ringLineBytes = 500
)

func (r *ring) add(line string) {
	if len(line) > ringLineBytes {
		// Not in the middle of a character.
		line = strings.ToValidUTF8(line[:ringLineBytes], "") + "…"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.head) < ringHead {
		r.head = append(r.head, line)
		return
	}
	r.tail = append(r.tail, line)
	if len(r.tail) <= ringTail {
		return
	}
	oldest := r.tail[0]
	r.tail = slices.Delete(r.tail, 0, 1)
	if !mcperrors.ErrorLine(oldest) {
		r.left++
		return
	}
	if r.fault = append(r.fault, oldest); len(r.fault) > ringFaults {
		r.fault = slices.Delete(r.fault, 0, 1)
		r.left++
	}
}

// lines returns what is kept, in the order it was written.
func (r *ring) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.head)
	if r.left > 0 {
		out = append(out, fmt.Sprintf("… %d lines are left out …", r.left))
	}
	return append(append(out, r.fault...), r.tail...)
}
