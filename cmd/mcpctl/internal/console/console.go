// Package console is what a run of mcpctl reads and writes: data on standard
// output in the chosen format, everything else on standard error, in colour or
// not, and the status line of what takes long.
package console

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
)

// Streams surround a run: main passes those of the process, tests pass others.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// InTerminal and the others report whether the stream is a terminal.
	InTerminal, OutTerminal, ErrTerminal bool
	// Width is the number of columns of the terminal.
	Width int
	// Env looks up a variable of the environment.
	Env func(name string) (string, bool)
}

// Files returns the streams to read from and to print to if both are files, else nil.
func (c *Console) Files() (in, out *os.File) {
	in, reads := c.In.(*os.File)
	out, writes := c.out.w.(*os.File)
	if !reads || !writes {
		return nil, nil
	}
	return in, out
}

// Output formats.
const (
	Human  = "human"
	JSON   = "json"
	NDJSON = "ndjson"
	Raw    = "raw"
)

// Settings are the flags that choose what is printed.
type Settings struct {
	// Format is one of the output formats, Color is auto, always or never.
	Format, Color string
	Quiet         bool
	Verbose       int
}

// Console prints what a run has to say. Its methods may be called from several
// goroutines.
type Console struct {
	Streams
	*Settings
	out *pipe
	// reading gets the line that is being typed, nil when nobody waits for one.
	reading chan typed
}

// New returns a console on the streams. The settings are read at each use, so
// flags may be parsed later.
func New(s Streams, settings *Settings) *Console {
	out := &pipe{w: s.Out}
	s.Out, s.Err = out, &pipe{w: s.Err}
	return &Console{Streams: s, Settings: settings, out: out}
}

// Lost returns the first error of writing standard output, or nil.
func (c *Console) Lost() error { return c.out.failed() }

// Data passes write a writer for what came from a server. On a terminal control
// characters are always marked. In a pipe bytes pass unchanged: human output
// marks them where it is made.
func (c *Console) Data(write func(w io.Writer) error) error {
	if !c.OutTerminal {
		return write(c.Out)
	}
	w := visible.NewWriter(c.Out)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// PrintRaw writes bytes as received, and ends the line.
func (c *Console) PrintRaw(raw []byte) error {
	return c.Data(func(w io.Writer) error {
		_, err := w.Write(append(bytes.Clone(raw), '\n'))
		return err
	})
}

// PrintJSON writes a document indented: names, order and numbers as received.
func (c *Console) PrintJSON(raw []byte) error { return c.PrintRaw(Indent(raw)) }

// PrintEvent writes one line of NDJSON.
func (c *Console) PrintEvent(name string, value []byte) error {
	line := append([]byte(`{"type":`), Encode(name)...)
	line = append(append(line, ','), Encode(name)...)
	line = append(append(append(line, ':'), Compact(value)...), '}')
	return c.PrintRaw(line)
}

// Print writes human output. The caller has marked the text of servers.
func (c *Console) Print(text string) error {
	_, err := io.WriteString(c.Out, text)
	return err
}

// Note writes one line to standard error.
func (c *Console) Note(text string) { fmt.Fprintln(c.Err, text) }

// Warn writes a warning to standard error, unless it is quiet.
func (c *Console) Warn(format string, args ...any) {
	if c.Quiet {
		return
	}
	const label = "warning:"
	text := label + " " + visible.Line(fmt.Sprintf(format, args...))
	if c.ErrTerminal {
		text = strings.Join(Wrap(text, c.Width, "  "), "\n")
	}
	c.Note(c.ErrStyle().Dim(label) + strings.TrimPrefix(text, label))
}

// Step reports progress on standard error, with -v.
func (c *Console) Step(format string, args ...any) {
	if c.Verbose > 0 {
		c.Note(c.ErrStyle().Dim("* " + visible.Line(fmt.Sprintf(format, args...))))
	}
}

// PrintTable writes rows: aligned on a terminal, tab-separated in a pipe.
func (c *Console) PrintTable(rows [][]string) error {
	if c.OutTerminal {
		return c.Print(Aligned(c.OutStyle(), c.Width, "", nil, rows))
	}
	return c.PrintSeparated(rows)
}

// PrintSeparated writes rows with tabs between the cells, one line each.
func (c *Console) PrintSeparated(rows [][]string) error { return c.Print(separated(rows)) }

// TableWidth is the width of a table: nothing is cut in a pipe.
func (c *Console) TableWidth() int {
	if c.OutTerminal {
		return c.Width
	}
	return Unlimited
}

// OutStyle and ErrStyle colour text for the two streams.
func (c *Console) OutStyle() Style { return c.style(c.OutTerminal) }

// ErrStyle colours text for standard error.
func (c *Console) ErrStyle() Style { return c.style(c.ErrTerminal) }

func (c *Console) style(terminal bool) Style {
	switch c.Color {
	case "always":
		return true
	case "never":
		return false
	}
	for _, name := range []string{"CLICOLOR_FORCE", "FORCE_COLOR"} {
		if v, ok := c.Env(name); ok && v != "" && v != "0" {
			return true
		}
	}
	if v, ok := c.Env("NO_COLOR"); ok && v != "" {
		return false
	}
	term, _ := c.Env("TERM")
	return Style(terminal && term != "dumb")
}

// pipe lets several goroutines write, and keeps the first error. After an error
// it writes nothing more.
type pipe struct {
	mu  sync.Mutex // held by a write, which may block
	w   io.Writer
	err atomic.Pointer[error]
}

// Write implements [io.Writer].
func (p *pipe) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.failed(); err != nil {
		return 0, err
	}
	n, err := p.w.Write(data)
	if err != nil {
		p.err.Store(&err)
	}
	return n, err
}

// failed does not wait for a write.
func (p *pipe) failed() error {
	if err := p.err.Load(); err != nil {
		return *err
	}
	return nil
}

// OneLine joins the lines of a text, so that it fits a cell.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Count writes a number with the word for one or for many.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
