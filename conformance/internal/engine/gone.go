package engine

import (
	"errors"
	"sync"
	"syscall"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// gone is when a server at a URL could not be reached any more. The suite cannot start it again, as it
// does with a program, to see whether the same message ends it twice. It is safe for concurrent use.
type gone struct {
	mu       sync.Mutex
	scenario string
	frames   []conformance.Frame
}

// noteGone remembers the first time that a server was lost and could not be reached.
func (l *RevisionRun) noteGone(t *Trial) {
	l.gone.mu.Lock()
	defer l.gone.mu.Unlock()
	if l.gone.scenario == "" && t.Trace != nil && t.session != nil && t.session.Answered {
		l.gone.scenario, l.gone.frames = t.Scenario.ID, t.Trace.Since(t.EvidenceFrom)
	}
}

// Gone returns the scenario during which the server was lost, with its last messages, if nobody listens
// at its endpoint now.
func (t *Trial) Gone() (scenario string, frames []conformance.Frame) {
	t.Rev.gone.mu.Lock()
	scenario, frames = t.Rev.gone.scenario, t.Rev.gone.frames
	t.Rev.gone.mu.Unlock()
	if scenario == "" {
		return "", nil
	}
	s, err := t.Rev.open(t.Ctx, nil)
	if err == nil {
		defer t.Rev.dismiss(s)
		err = s.Handshake(t.Ctx, t.Rev.Asked)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return "", nil
	}
	return scenario, frames
}
