package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// Bounds of a log.
const (
	maxLines     = 256      // that wait to be written
	maxText      = 200      // bytes of a name that a peer chose
	maxArguments = 64 << 10 // bytes of arguments in one line
	flushTime    = time.Second
)

// Log writes one line of JSON for each request of a host. It never blocks the proxy: lines that
// come faster than they can be written are left out. Its methods may be called from several
// goroutines.
type Log struct {
	// Arguments adds the arguments of tools and prompts.
	Arguments bool
	// Safe hides secrets in a text.
	Safe func(string) string
	// Warn tells the user, once, that lines are missing.
	Warn func(format string, args ...any)

	mu     sync.Mutex
	closed bool
	lines  chan []byte
	ended  chan struct{}
	warned sync.Once
}

// Open begins to write to w. Close ends that.
func (l *Log) Open(w io.Writer) {
	l.lines, l.ended = make(chan []byte, maxLines), make(chan struct{})
	go func() {
		defer close(l.ended)
		for line := range l.lines {
			if _, err := w.Write(line); err != nil {
				l.missing("cannot write to the log, requests go on: %v", err)
			}
		}
	}()
}

func (l *Log) missing(format string, args ...any) {
	l.warned.Do(func() { l.Warn(format, args...) })
}

// Close writes the lines that wait, for a second at most. Later records are left out.
func (l *Log) Close() {
	l.mu.Lock()
	l.closed = true
	close(l.lines)
	l.mu.Unlock()
	select {
	case <-l.ended:
	case <-time.After(flushTime):
	}
}

// line is one line of the log. Members that do not apply are left out.
type line struct {
	Time          string          `json:"time"`
	Host          string          `json:"host,omitempty"`
	Era           string          `json:"era,omitempty"`
	Method        string          `json:"method"`
	Tool          string          `json:"tool,omitempty"`
	Milliseconds  float64         `json:"ms"`
	Outcome       proxy.Outcome   `json:"outcome"`
	ErrorCode     int64           `json:"errorCode,omitempty"`
	Delivery      string          `json:"delivery,omitempty"`
	Code          string          `json:"code,omitempty"`
	Kind          string          `json:"kind,omitempty"`
	ParamsBytes   int             `json:"paramsBytes"`
	ResultBytes   int             `json:"resultBytes"`
	Arguments     json.RawMessage `json:"arguments,omitempty"`
	ArgumentsLost string          `json:"argumentsOmitted,omitempty"`
}

// Add adds a record. It is a function for [proxy.OnRequest].
func (l *Log) Add(_ context.Context, r proxy.Record) {
	out := line{
		Time: r.Time.UTC().Format("2006-01-02T15:04:05.000Z"), Host: l.name(r.Host), Method: l.name(r.Method), Tool: l.name(r.Tool),
		Milliseconds: float64(r.Duration.Microseconds()) / 1000, Outcome: r.Outcome, ErrorCode: r.Code,
		ParamsBytes: len(r.Params), ResultBytes: r.ResultBytes,
	}
	if era := r.Version.Era(); era != mcp.EraUnknown {
		out.Era = era.String()
	}
	if f := r.Failure; f != nil {
		out.Delivery, out.Code, out.Kind = f.Delivery, f.Code, f.Kind
	}
	if l.Arguments {
		out.Arguments, out.ArgumentsLost = l.arguments(r)
	}
	text := append(console.Encode(out), '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case l.lines <- text:
	default:
		l.missing("the log is too slow: some requests are not in it")
	}
}

// name is a text that a peer chose, without secrets and short.
func (l *Log) name(text string) string {
	if text = l.Safe(text); len(text) <= maxText {
		return text
	}
	for cut := maxText; ; cut-- {
		if utf8.RuneStart(text[cut]) {
			return text[:cut] + "…"
		}
	}
}

// arguments returns the arguments of a request without secrets, or why they are left out.
func (l *Log) arguments(r proxy.Record) (arguments json.RawMessage, omitted string) {
	var params struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if r.Params == nil || jsonrpc.Unmarshal(r.Params, &params) != nil || params.Arguments == nil {
		return nil, ""
	}
	if len(params.Arguments) > maxArguments {
		return nil, "larger than " + jsonrpc.Size(maxArguments)
	}
	dec := json.NewDecoder(bytes.NewReader(params.Arguments))
	dec.UseNumber() // numbers stay as they are written
	var value any
	if dec.Decode(&value) != nil {
		return nil, "cannot be read"
	}
	return console.Encode(l.hidden(value)), ""
}

// hidden returns a JSON value without secrets: those that are known, and those that their names
// or forms show.
func (l *Log) hidden(value any) any {
	switch v := value.(type) {
	case string:
		return l.Safe(v)
	case []any:
		for i := range v {
			v[i] = l.hidden(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if mcperrors.SecretName(name) {
				member = "[redacted]"
			}
			out[l.Safe(name)] = l.hidden(member)
		}
		return out
	}
	return value
}
