package wire

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Lag is how much later than the answer to a later request an answer may come.
const Lag = 500 * time.Millisecond

// Silences counts how often in a row a subject was silent about a message that it need not answer,
// and how often it left requests without an answer. It is shared by all sessions with the subject,
// and safe for concurrent use. The zero value has seen none.
type Silences struct {
	row atomic.Int64

	mu      sync.Mutex
	missing map[string]int           // requests without an answer, by method, and of all methods for ""
	longest map[string]time.Duration // of the answers, by method
}

// A subject that left mostMissing requests of a method without an answer gets less time for the
// next ones: four times that of its longest answer, and at least a second. Twice as many of all
// methods shorten the wait for all but calls of tools, which may have work to do.
const mostMissing = 3

// Wait is how long an answer to a request is waited for, at most full.
func (s *Silences) Wait(method string, full time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.missing[method] < mostMissing && (s.missing[""] < 2*mostMissing || method == mcp.MethodToolsCall) {
		return full
	}
	return min(full, max(time.Second, 4*s.longest[method]))
}

// NoteWait counts a request that was waited for so long, with an answer or without one.
func (s *Silences) NoteWait(method string, took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.missing == nil {
		s.missing, s.longest = map[string]int{}, map[string]time.Duration{}
	}
	switch {
	case errors.Is(err, ErrNoAnswer):
		s.missing[method]++
		s.missing[""]++
	case err == nil:
		s.longest[method] = max(s.longest[method], took)
	}
}

// Lag is how long an answer is waited for once a ping after it was answered: less from a subject that
// was silent three times, and more from one that is slow. An answer makes the wait long again.
func (s *Silences) Lag() time.Duration {
	if s.row.Load() < 3 {
		return max(Lag, s.pace())
	}
	return max(Lag/5, s.pace())
}

// pace is four times the longest answer so far, but for requests that may take their time.
func (s *Silences) pace() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	longest := time.Duration(0)
	for method, took := range s.longest {
		if method != mcp.MethodToolsCall && method != mcp.MethodInitialize {
			longest = max(longest, took)
		}
	}
	return 4 * longest
}

// Note counts the answer to a message, or the silence.
func (s *Silences) Note(err error) {
	if errors.Is(err, ErrNoAnswer) {
		s.row.Add(1)
	} else {
		s.row.Store(0)
	}
}
