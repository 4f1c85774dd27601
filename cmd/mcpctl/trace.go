package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
)

// trace shows the traffic with -vv, and says once when a program prints what
// is no message.
func (a *app) trace() transport.Trace {
	var once sync.Once
	t := transport.Trace{Noise: func(line []byte) {
		once.Do(func() {
			a.warn("the server printed on stdout what is not a message, and was skipped: %q", short(a.safe(string(line)), 100))
		})
	}}
	if a.flags.verbose > 1 {
		s := a.style(a.errTerminal)
		t.Sent = func(frame []byte) { fmt.Fprintln(a.stderr, s.dim("→ ")+visible.Line(a.hide(string(frame)))) }
		t.Received = func(frame []byte) { fmt.Fprintln(a.stderr, s.dim("← ")+visible.Line(a.hide(string(frame)))) }
	}
	return t
}

// serverStderr is where a program's stderr is copied to: nowhere by default,
// since its end is shown when the program fails. closed ends the copy.
func (a *app) serverStderr() (w io.Writer, closed func(), err error) {
	nothing := func() {}
	switch where := a.flags.serverStderr; where {
	case "hide":
		return nil, nothing, nil
	case "auto":
		if a.flags.verbose == 0 {
			return nil, nothing, nil
		}
		fallthrough
	case "show":
		return &prefixed{a: a}, nothing, nil
	default:
		f, err := os.OpenFile(where, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, nothing, usage("--server-stderr: %v", err)
		}
		return f, func() { _ = f.Close() }, nil
	}
}

// prefixed shows lines of a program's stderr. Each write is one line.
type prefixed struct{ a *app }

// Write implements [io.Writer].
func (p *prefixed) Write(line []byte) (int, error) {
	text := visible.Text(p.a.hide(string(line)))
	_, err := io.WriteString(p.a.stderr, p.a.style(p.a.errTerminal).dim("server: ")+text)
	if err != nil {
		return 0, err
	}
	return len(line), nil
}
