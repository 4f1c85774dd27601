package connect

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// trace shows the traffic with -vv, warns once if a program prints something that is no
// message, and notes when the server says that its tools have changed.
func (d *Dialer) trace(c *Connection) transport.Trace {
	var once sync.Once
	received := func(frame []byte) {
		c.received(frame)
		d.heard(frame)
	}
	t := transport.Trace{Received: received, Noise: func(line []byte) {
		once.Do(func() {
			d.Console.Warn("skipped a line on the server's stdout that is not a message: %q", visible.Cut(d.Secrets.Safe(string(line)), 100))
		})
	}}
	if d.Console.Verbose > 1 {
		s := d.Console.ErrStyle()
		t.Sent = func(frame []byte) { d.Console.Note(s.Dim("→ ") + visible.Line(d.Secrets.Hide(string(frame)))) }
		t.Received = func(frame []byte) {
			d.Console.Note(s.Dim("← ") + visible.Line(d.Secrets.Hide(string(frame))))
			received(frame)
		}
	}
	if d.Watch != nil {
		t = d.Watch(t)
	}
	return t
}

// heard shows progress and logs, or gives all notifications to Heard. It is called for each message
// in the order of arrival, so that everything that came before a result is shown before it. The
// NDJSON of a command whose lines are items has no events.
func (d *Dialer) heard(frame []byte) {
	if d.show == nil && d.Heard == nil || !bytes.Contains(frame, []byte("notifications")) {
		return
	}
	events := d.Events && d.Console.Format == console.NDJSON
	message, err := doc.Parse(frame)
	if err != nil {
		return // the client reports it
	}
	for _, m := range append(message.Items(), message) { // a batch has several
		method := m.Get("method").Str()
		if d.Heard != nil {
			if strings.HasPrefix(method, "notifications/") && m.Get("id") == nil {
				d.Heard(m)
			}
			continue
		}
		params := m.Get("params").AppendJSON(nil)
		switch method {
		case mcp.MethodProgress:
			var p mcp.ProgressParams
			switch {
			case mcp.Unmarshal(params, &p) != nil:
			case events:
				_ = d.Console.PrintEvent("progress", console.Encode(p)) // Lost reports a broken pipe
			default:
				d.show.Progress(p)
			}
		case mcp.MethodMessage:
			var l mcp.LoggingMessageParams
			switch {
			case mcp.Unmarshal(params, &l) != nil:
			case events:
				_ = d.Console.PrintEvent("log", console.Encode(l)) // as above
			default:
				d.show.Log(l)
			}
		}
	}
}

// ServerStderr is the copy of a program's stderr: none by default, because a
// failure shows the last lines. closed ends the copy.
func (d *Dialer) ServerStderr() (w io.Writer, closed func(), err error) {
	nothing := func() {}
	switch where := d.Flags.ServerStderr; where {
	case "hide":
		return nil, nothing, nil
	case "auto":
		if d.Console.Verbose == 0 {
			return nil, nothing, nil
		}
		fallthrough
	case "show":
		return &prefixed{d}, nothing, nil
	default:
		f, err := os.OpenFile(where, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, nothing, failure.Usage("--server-stderr: %v", err)
		}
		return f, func() { _ = f.Close() }, nil
	}
}

// prefixed shows lines of a program's stderr. Each write is one line.
type prefixed struct{ *Dialer }

// Write implements [io.Writer].
func (p *prefixed) Write(line []byte) (int, error) {
	text := visible.Text(p.Secrets.Hide(string(line)))
	_, err := io.WriteString(p.Console.Err, p.Console.ErrStyle().Dim("server: ")+text)
	if err != nil {
		return 0, err
	}
	return len(line), nil
}
