package console

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statusDelay is how long a call may take before the status line appears, and
// the pause between two updates of it.
const statusDelay = 300 * time.Millisecond

// pipeDelay is the time between two lines about a call where standard error is no terminal.
// The first about the start of a program comes after startDelay.
const (
	pipeDelay  = 15 * time.Second
	startDelay = 3 * time.Second
)

// Status is the line on a terminal's standard error that shows what a run waits
// for: the time, the progress, the last message. It appears after a delay and
// disappears at the end. Where standard error is no terminal, it is a line now
// and then, for people only: programs wait for one line of JSON.
type Status struct {
	c *Console
	// atOnce shows the line without the delay.
	atOnce bool

	mu   sync.Mutex
	what string
	// bar is before last where there is room for it.
	bar, last string
	on        bool
	// held keeps the line away while a person is asked something.
	held bool
	// logs shows log messages in a pipe, too.
	logs bool
	stop chan struct{}
	done chan struct{}
}

// NewStatus returns a status line, which Begin starts.
func (c *Console) NewStatus() *Status { return &Status{c: c} }

// NewStatusAtOnce returns a status line for what always takes long: it appears
// without a delay, and ends with text.
func (c *Console) NewStatusAtOnce(text string) *Status {
	return &Status{c: c, atOnce: true, last: text}
}

// Begin starts the line for a call.
func (s *Status) Begin(what string) { s.begin(what, s.atOnce, pipeDelay) }

// BeginStart starts the line for the start of a program, which may have to be fetched first:
// it appears at once.
func (s *Status) BeginStart(what string) { s.begin(what, true, startDelay) }

// begin starts the line. inPipe is the delay where standard error is no terminal.
func (s *Status) begin(what string, atOnce bool, inPipe time.Duration) {
	if s.c.Quiet || s.c.Verbose > 1 || !s.c.ErrTerminal && s.c.Format != Human {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what, s.stop, s.done = what, make(chan struct{}), make(chan struct{})
	began := time.Now()
	first, delay := statusDelay, statusDelay
	if !s.c.ErrTerminal {
		first, delay = inPipe, pipeDelay
	} else if atOnce {
		s.show(began)
	}
	go s.draw(began, first, delay, s.stop, s.done)
}

// draw shows the line for the first time after a delay, and then at intervals.
func (s *Status) draw(began time.Time, first, delay time.Duration, stop, done chan struct{}) {
	defer close(done)
	timer := time.NewTimer(first)
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
		timer.Reset(delay)
	}
}

// show writes the line over the previous one. The caller holds the mutex.
func (s *Status) show(began time.Time) {
	if s.held {
		return
	}
	text := fmt.Sprintf(" · %.0f s", time.Since(began).Seconds())
	width := 200
	if s.c.ErrTerminal {
		width = s.c.Width - 2
	}
	if s.last != "" {
		text += " · "
		if utf8.RuneCountInString(s.what+text+s.bar+s.last) < width {
			text += s.bar
		}
		text += s.last
	}
	// The time and the progress stay on a narrow terminal; what is waited for is known.
	text = visible.Cut(visible.Line(s.what), max(10, width-utf8.RuneCountInString(text)-1)) + text
	if !s.c.ErrTerminal {
		s.c.Note(visible.Cut(text, width))
		return
	}
	s.on = true
	fmt.Fprint(s.c.Err, "\r\x1b[K"+strings.TrimSuffix(visible.Fit(text, width+1), " ·…")) // one column stays free
}

// Set changes the end of the line, from the next update on.
func (s *Status) Set(text string) { s.set("", text) }

func (s *Status) set(bar, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bar, s.last = bar, text
}

// End removes the line. It may be called more than once.
func (s *Status) End() {
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
	s.last = ""
}

func (s *Status) clear() {
	if s.on {
		fmt.Fprint(s.c.Err, "\r\x1b[K")
		s.on = false
	}
}

// Pause takes the line away until goOn is called.
func (s *Status) Pause() (goOn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.held = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = false
	}
}

// above writes a line over the status line.
func (s *Status) above(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.c.Note(line)
}

// Progress shows the progress of a request on the line.
func (s *Status) Progress(p mcp.ProgressParams) {
	bar, text := "", fmt.Sprintf("%v", p.Progress)
	if p.Total != nil && *p.Total > 0 {
		const cells = 20
		filled := int(max(0, min(1, p.Progress / *p.Total)) * cells)
		bar = "[" + strings.Repeat("#", filled) + strings.Repeat(".", cells-filled) + "] "
		text = fmt.Sprintf("%v/%v", p.Progress, *p.Total)
	}
	if p.Message != "" {
		text += " · " + visible.Line(p.Message)
	}
	s.set(bar, text)
}

// ShowLogs shows log messages where standard error is no terminal, too. Call it before messages can
// arrive.
func (s *Status) ShowLogs() { s.logs = true }

// Log shows a log message of the server on a terminal, and in a pipe with -v.
func (s *Status) Log(m mcp.LoggingMessageParams) {
	switch {
	case s.c.Quiet, !s.c.ErrTerminal && s.c.Verbose == 0 && !s.logs:
	default:
		text := strings.Trim(string(m.Data), `"`)
		s.above(s.c.ErrStyle().Dim(visible.Line(fmt.Sprintf("%s %s: ", m.Level, cmp.Or(m.Logger, "server")))) + visible.Line(text))
	}
}
