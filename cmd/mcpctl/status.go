package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statusDelay is how long a call may take before anything is said about it.
const statusDelay = 300 * time.Millisecond

// status is the one line on a terminal's stderr that says that a call is still
// going on: time, progress, the last message. It is there from the delay to
// the end, and nowhere when stderr is not a terminal.
type status struct {
	a *app
	// atOnce: it is there from the first moment, for what always takes long.
	atOnce bool

	mu   sync.Mutex
	what string
	last string
	on   bool
	stop chan struct{}
	done chan struct{}
}

func (a *app) newStatus() *status { return &status{a: a} }

// begin starts the line for a call. What is no terminal gets none.
func (s *status) begin(what string) {
	if !s.a.errTerminal || s.a.flags.quiet || s.a.flags.verbose > 1 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what, s.stop, s.done = what, make(chan struct{}), make(chan struct{})
	began := time.Now()
	if s.atOnce {
		s.show(began)
	}
	go s.draw(began, s.stop, s.done)
}

func (s *status) draw(began time.Time, stop, done chan struct{}) {
	defer close(done)
	timer := time.NewTimer(statusDelay)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		s.mu.Lock()
		s.show(began)
		s.mu.Unlock()
		timer.Reset(statusDelay)
	}
}

// show writes the line over the one before. The caller holds the mutex.
func (s *status) show(began time.Time) {
	text := fmt.Sprintf("%s · %.0f s", s.what, time.Since(began).Seconds())
	if s.last != "" {
		text += " · " + s.last
	}
	s.on = true
	fmt.Fprint(s.a.stderr, "\r\x1b[K"+short(text, s.a.width-2))
}

// say changes what the line ends with, from the next time it is drawn.
func (s *status) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = text
}

// end takes the line away. It may be called more than once.
func (s *status) end() {
	s.mu.Lock()
	stop, done := s.stop, s.done
	s.stop = nil
	s.mu.Unlock()
	if stop == nil {
		return
	}
	close(stop)
	<-done
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

func (s *status) clear() {
	if s.on {
		fmt.Fprint(s.a.stderr, "\r\x1b[K")
		s.on = false
	}
}

// above writes a line over the status line.
func (s *status) above(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprintln(s.a.stderr, line)
}

// progress takes what a server says of a call that is going on.
func (a *app) progress(s *status, p mcp.ProgressParams) {
	if a.flags.output == formatNDJSON {
		_ = a.printEvent("progress", encoded(p)) // a broken pipe is seen by run
		return
	}
	text := fmt.Sprintf("%v", p.Progress)
	if p.Total != nil && *p.Total > 0 {
		const cells = 20
		filled := int(max(0, min(1, p.Progress / *p.Total)) * cells)
		text = "[" + strings.Repeat("#", filled) + strings.Repeat(".", cells-filled) + fmt.Sprintf("] %v/%v", p.Progress, *p.Total)
	}
	if p.Message != "" {
		text += " · " + visible.Line(p.Message)
	}
	s.say(text)
}

// log shows a log message of the server: on a terminal, with -v, or as an
// event. In a pipe there is nothing but the result.
func (a *app) log(s *status, m mcp.LoggingMessageParams) {
	switch {
	case a.flags.output == formatNDJSON:
		_ = a.printEvent("log", encoded(m)) // a broken pipe is seen by run
	case a.flags.quiet, !a.errTerminal && a.flags.verbose == 0:
	default:
		text := strings.Trim(string(m.Data), `"`)
		s.above(a.style(a.errTerminal).dim(visible.Line(fmt.Sprintf("%s %s: ", m.Level, orWord(m.Logger, "server")))) + visible.Line(text))
	}
}
