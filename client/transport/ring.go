package transport

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// ring keeps of a program's stderr what says why it failed: how it
// began, how it ended, and the lines between that look like errors. A stack trace
// has its reason at the top, an installer at the beginning, and most programs say
// it last. Safe for concurrent use.
type ring struct {
	mu                sync.Mutex
	head, fault, tail []string
	faultAt           []int64 // the numbers of the lines in fault, from 0
	left              int     // lines that are not kept
	count             atomic.Int64
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
	n := r.count.Add(1)
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
	r.fault, r.faultAt = append(r.fault, oldest), append(r.faultAt, n-ringTail-1)
	if len(r.fault) > ringFaults {
		r.fault, r.faultAt = slices.Delete(r.fault, 0, 1), slices.Delete(r.faultAt, 0, 1)
		r.left++
	}
}

// lines returns what is kept, in the order it was written, and how many of these
// lines are among the first mark that were written.
func (r *ring) lines(mark int64) (out []string, before int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	keep := func(line string, number int64) {
		if out = append(out, line); number < mark {
			before = len(out)
		}
	}
	for i, line := range r.head {
		keep(line, int64(i))
	}
	if r.left > 0 {
		keep(fmt.Sprintf("… %d lines are left out …", r.left), ringHead)
	}
	for i, line := range r.fault {
		keep(line, r.faultAt[i])
	}
	for i, line := range r.tail {
		keep(line, r.count.Load()-int64(len(r.tail)-i))
	}
	return out, before
}
