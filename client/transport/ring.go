package transport

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// ring keeps the parts of a program's stderr that may explain a failure: the start, the end, and
// the lines in between that look like errors. A stack trace has its reason at the top, an
// installer at the start, and most programs at the end. It is safe for concurrent use.
type ring struct {
	mu                sync.Mutex
	head, fault, tail []ringLine
	left              int // number of dropped lines
	count             atomic.Int64
}

// ringLine is a line with its number from 0 and the time it was read.
type ringLine struct {
	text   string
	number int64
	at     time.Time
}

// Limits of the stderr in an error, in lines and in bytes per line.
const (
	ringHead      = 8
	ringFaults    = 8
	ringTail      = 32
	ringLineBytes = 500
)

func (r *ring) add(line string) {
	if len(line) > ringLineBytes {
		// Do not cut inside a character.
		line = strings.ToValidUTF8(line[:ringLineBytes], "") + "…"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := ringLine{line, r.count.Add(1) - 1, time.Now()}
	if len(r.head) < ringHead {
		r.head = append(r.head, now)
		return
	}
	r.tail = append(r.tail, now)
	if len(r.tail) <= ringTail {
		return
	}
	oldest := r.tail[0]
	r.tail = slices.Delete(r.tail, 0, 1)
	if !mcperrors.ErrorLine(oldest.text) {
		r.left++
		return
	}
	r.fault = append(r.fault, oldest)
	if len(r.fault) > ringFaults {
		r.fault = slices.Delete(r.fault, 0, 1)
		r.left++
	}
}

// lines returns the kept lines in order, and how many of the first ones are old.
func (r *ring) lines(old func(ringLine) bool) (out []string, before int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	keep := func(lines ...ringLine) {
		for _, line := range lines {
			if before == len(out) && old(line) {
				before++
			}
			out = append(out, line.text)
		}
	}
	keep(r.head...)
	if r.left > 0 {
		keep(ringLine{text: fmt.Sprintf("… %d lines are omitted …", r.left), number: ringHead, at: r.tail[0].at})
	}
	keep(r.fault...)
	keep(r.tail...)
	return out, before
}
