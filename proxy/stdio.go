package proxy

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Option configures a proxy.
type Option func(*settings)

type settings struct {
	log *slog.Logger
}

// WithLogger sets where the proxy and its clients log. By default they do not log. The
// output must not be the stream to the host.
func WithLogger(l *slog.Logger) Option { return func(s *settings) { s.log = l } }

// Stdio serves one host over a pair of streams, usually stdin and stdout of the process, until
// the host closes in, ctx ends or out fails. Open requests then have a few seconds to finish.
// Stdio cancels the others and answers them with an error, ends the server, closes both
// streams and returns: nil after the end of in, else the reason.
//
// Each request decides its era: the stateless one if its _meta names a revision, else that
// of the session. If the server cannot be reached, the host gets the error as the answer to
// its first request, and its next one tries again.
func Stdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser, to Target, opts ...Option) error {
	set := settings{log: slog.New(slog.DiscardHandler)}
	for _, opt := range opts {
		opt(&set)
	}
	h := newHost(ctx, to, set)
	drain := sync.OnceFunc(func() { h.drain(drainTime, errHostGone) })
	h.conn = jsonrpc.NewConn(&drainedReader{ReadCloser: in, drain: drain}, hostWriter{out, h.lose}, jsonrpc.Config{
		OnRequest: h.request, OnNotification: h.notification,
		OnNoise: h.noise,
		OnFault: h.fault,
	})
	h.conn.AcceptBatches(true) // revision 2025-03-26
	close(h.open)
	var reason error
	select {
	case <-h.conn.Done():
	case <-h.line.Done():
		select {
		case <-h.ending: // a host that has closed one stream may close the other
		default:
			reason = context.Cause(h.line)
		}
	case <-ctx.Done():
		reason = context.Cause(ctx)
		h.drain(stopTime, reason)
	}
	h.close()
	_ = h.conn.Close() // a stream that does not close changes nothing for the host
	return reason
}

const (
	// drainTime is how long requests may go on after the host has closed its stream: it may
	// still read their answers. The programs of a host that is gone end soon after.
	drainTime = 2 * time.Second
	// stopTime is the same after the end of the context.
	stopTime = 5 * time.Second
	// flushTime is how long the host may take to read what was written last.
	flushTime = time.Second
)

// hostWriter reports the first error of the stream to the host.
type hostWriter struct {
	io.WriteCloser
	failed func(error)
}

// Write implements [io.Writer].
func (w hostWriter) Write(p []byte) (int, error) {
	n, err := w.WriteCloser.Write(p)
	if err != nil {
		w.failed(err)
	}
	return n, err
}

// drainedReader keeps the end of the host's stream back until its requests are answered: a
// connection whose input has ended answers nothing any more. The last line may lack its end.
type drainedReader struct {
	io.ReadCloser
	drain func()
	err   error
	begun bool // the last line is complete
}

// Read implements [io.Reader].
func (r *drainedReader) Read(p []byte) (int, error) {
	if r.err == nil {
		n, err := r.ReadCloser.Read(p)
		if err == nil || n > 0 {
			r.err = err
			return n, nil
		}
		r.err = err
	}
	if !r.begun && len(p) > 0 {
		r.begun = true
		p[0] = '\n'
		return 1, nil
	}
	r.drain()
	return 0, r.err
}

// noise answers a line that is no message.
func (h *host) noise(line []byte) {
	if json.Valid(line) {
		h.refuse(jsonrpc.Response{ID: idOf(line), Error: jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid Request: each line must be one JSON-RPC message", nil)})
		return
	}
	h.refuse(jsonrpc.Response{Error: jsonrpc.NewError(jsonrpc.CodeParseError, "Parse error: each line must be one JSON-RPC message", nil)})
}

// idOf returns the id of a request that does not say its version of JSON-RPC.
func idOf(line []byte) (id jsonrpc.ID) {
	asks := false
	_ = jsonrpc.Members(line, func(name, value []byte) bool {
		switch string(name) {
		case "id":
			_ = id.UnmarshalJSON(value)
		case "method":
			asks = true
		}
		return true
	})
	if !asks {
		return jsonrpc.ID{}
	}
	return id
}

// fault answers what is JSON, or nearly, and no message.
func (h *host) fault(e *jsonrpc.DecodeError) {
	code, text := int64(jsonrpc.CodeInvalidRequest), "Invalid Request: "
	if e.Syntax {
		code, text = jsonrpc.CodeParseError, "Parse error: "
	}
	id := e.ID
	if e.Syntax {
		id = jsonrpc.ID{} // JSON-RPC 2.0 section 5: it could not be read
	}
	h.refuse(jsonrpc.Response{ID: id, Error: jsonrpc.NewError(code, text+e.Reason, nil)})
}
