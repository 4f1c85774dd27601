package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// sentBody is the body of a request, and knows whether all of it may have been sent: only then
// can the server have the whole request. Large params are sent without a copy.
type sentBody struct {
	parts  [3][]byte
	size   int64
	taken  atomic.Bool
	reused atomic.Bool // the connection was used before
	conn   net.Conn    // nil if unknown
	// standard is set for the HTTP layer of the standard library. It tries again only if the
	// first try sent nothing, or if that is harmless. With other layers, earlier is set if all
	// was taken before a second try.
	standard bool
	earlier  atomic.Bool
	// harmful is set if the request may be sent twice only if the server certainly has not
	// processed it. See rewinds.
	harmful bool

	// one and trace are used to send a small body with the standard library, which writes head
	// and body in one packet if the type of the body is known to be in memory. It reports the
	// progress to trace.
	one    bytes.Reader
	unread bool // one was not used yet
	trace  httptrace.ClientTrace
}

// inlineParams is the size up to which params are copied into the body.
const inlineParams = 32 << 10

// set sets the body from a message. It may be called once.
func (b *sentBody) set(m jsonrpc.Message, params json.RawMessage, standard bool) {
	b.standard = standard
	if req, ok := m.(jsonrpc.Request); ok {
		b.harmful = !mcp.Idempotent(req.Method)
	}
	if len(params) <= inlineParams {
		b.parts[0] = m.AppendJSON(make([]byte, 0, 256+len(params)))
		b.unread = standard
	} else {
		b.parts[0] = append(headOf(m), `,"params":`...)
		b.parts[1] = params
		b.parts[2] = []byte("}")
	}
	for _, part := range b.parts {
		b.size += int64(len(part))
	}
}

// traced returns the context to send the body with.
func (b *sentBody) traced(ctx context.Context) context.Context {
	if !b.atOnce() {
		return ctx
	}
	b.taken.Store(true) // until trace reports otherwise
	b.trace.GetConn = func(string) { b.taken.Store(false) }
	b.trace.GotConn = func(got httptrace.GotConnInfo) {
		b.reused.Store(got.Reused)
		b.conn = got.Conn
	}
	b.trace.WroteHeaders = func() { b.taken.Store(true) } // the body is not written yet
	return httptrace.WithClientTrace(ctx, &b.trace)
}

// alone reports whether the connection is known to carry one request at a time, as in HTTP/1.
// plain is set if connections without TLS use HTTP/1.
func (b *sentBody) alone(plain bool) bool {
	if _, ok := b.conn.(secured); ok {
		return b.negotiated() != "h2"
	}
	return b.conn != nil && plain
}

// secured is a connection with TLS.
type secured interface{ ConnectionState() tls.ConnectionState }

// negotiated returns the protocol negotiated by TLS, "" for none.
func (b *sentBody) negotiated() string {
	if conn, ok := b.conn.(secured); ok {
		return conn.ConnectionState().NegotiatedProtocol
	}
	return ""
}

// atOnce reports whether the body is sent in one packet by the standard library.
func (b *sentBody) atOnce() bool { return b.standard && b.parts[1] == nil }

// none records that there is no body, so that all of it has been sent.
func (b *sentBody) none() { b.taken.Store(true) }

// headOf returns the message without its params and closing brace.
func headOf(m jsonrpc.Message) []byte {
	switch m := m.(type) {
	case jsonrpc.Request:
		m.Params = nil
		head := m.AppendJSON(nil)
		return head[:len(head)-1]
	case jsonrpc.Notification:
		m.Params = nil
		head := m.AppendJSON(nil)
		return head[:len(head)-1]
	}
	return nil
}

// rejected records that the server has refused the request: its outcome is known, and the next
// try counts as the first.
func (b *sentBody) rejected() {
	b.taken.Store(false)
	b.earlier.Store(false)
}

// whole reports whether the HTTP layer has taken all of the body, in any try that may have
// reached the server.
func (b *sentBody) whole() bool { return b.taken.Load() || b.earlier.Load() }

func (b *sentBody) rewound() io.ReadCloser {
	if !b.atOnce() {
		if b.taken.Swap(false) && !b.standard {
			b.earlier.Store(true)
		}
		return &bodyReader{b: b, parts: b.parts}
	}
	reader := &b.one
	if !b.unread {
		reader = new(bytes.Reader) // the first reader may still be in use
	}
	b.unread = false
	reader.Reset(b.parts[0])
	return io.NopCloser(reader)
}

// rewinds returns the request's GetBody, nil if the HTTP layer must not send the request again
// automatically. The standard library does so over HTTP/1 if nothing was written to a reused
// connection, and for requests with an Idempotency-Key, which is a reserved header here. Over
// HTTP/2 it does so after REFUSED_STREAM and GOAWAY, which prove that the server did nothing, but
// also after a reset with PROTOCOL_ERROR (golang/go#47635), which proves nothing. Over HTTP/2 the
// client itself repeats requests that were not processed; see [unprocessed].
func (b *sentBody) rewinds(http2 bool) func() (io.ReadCloser, error) {
	if http2 && b.harmful {
		return nil
	}
	return b.again
}

var errSentOnce = errors.New("the request had been sent when its stream over HTTP/2 was reset, and is not sent again")

// again is the request's GetBody. It refuses if only the connection reveals HTTP/2: no answer has
// come over HTTP/2 yet.
func (b *sentBody) again() (io.ReadCloser, error) {
	if b.harmful && b.taken.Load() && b.negotiated() == "h2" {
		return nil, errSentOnce
	}
	return b.rewound(), nil
}

type bodyReader struct {
	b     *sentBody
	parts [3][]byte
}

func (r *bodyReader) Read(p []byte) (int, error) {
	for i := range r.parts {
		if len(r.parts[i]) > 0 {
			n := copy(p, r.parts[i])
			r.parts[i] = r.parts[i][n:]
			if r.left() == 0 {
				r.b.taken.Store(true)
			}
			return n, nil
		}
	}
	return 0, io.EOF
}

func (r *bodyReader) left() int {
	return len(r.parts[0]) + len(r.parts[1]) + len(r.parts[2])
}

// Close implements io.Closer.
func (r *bodyReader) Close() error { return nil }
