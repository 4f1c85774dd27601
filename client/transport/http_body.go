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

// sentBody is a request's body that knows whether all of it may have been
// sent: only then can the server have the whole request. Large params are sent
// from where they are.
type sentBody struct {
	parts  [3][]byte
	size   int64
	taken  atomic.Bool
	reused atomic.Bool // the connection had been used before
	conn   net.Conn    // nil if unknown
	// standard: the HTTP layer is that of the standard library. A second try
	// then means that the first sent nothing, or that it is harmless. With any
	// other, earlier is set when all was taken before a second try.
	standard bool
	earlier  atomic.Bool
	// harmful: the request may be sent twice only on proof that the server has not
	// processed it. See rewinds.
	harmful bool

	// one and trace are what a small body is sent with by the standard
	// library, which writes head and body at once when it knows the body's type
	// to be in memory, and in two packets else. It tells trace how far it is.
	one    bytes.Reader
	unread bool // one has not been given away
	trace  httptrace.ClientTrace
}

// inlineParams is the size up to which params are copied into the body.
const inlineParams = 32 << 10

// set makes the body from a message. It may be called once.
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

// traced returns the context that the body must be sent with.
func (b *sentBody) traced(ctx context.Context) context.Context {
	if !b.atOnce() {
		return ctx
	}
	b.taken.Store(true) // unless it says otherwise
	b.trace.GetConn = func(string) { b.taken.Store(false) }
	b.trace.GotConn = func(got httptrace.GotConnInfo) {
		b.reused.Store(got.Reused)
		b.conn = got.Conn
	}
	b.trace.WroteHeaders = func() { b.taken.Store(true) } // the body is not written yet
	return httptrace.WithClientTrace(ctx, &b.trace)
}

// alone reports whether the connection is known to carry one request at a time,
// which is HTTP/1. plain says that it is where there is no TLS.
func (b *sentBody) alone(plain bool) bool {
	if _, ok := b.conn.(secured); ok {
		return b.negotiated() != "h2"
	}
	return b.conn != nil && plain
}

// secured is a connection with TLS.
type secured interface{ ConnectionState() tls.ConnectionState }

// negotiated is the protocol that was agreed on the connection, "" for none.
func (b *sentBody) negotiated() string {
	if conn, ok := b.conn.(secured); ok {
		return conn.ConnectionState().NegotiatedProtocol
	}
	return ""
}

// atOnce reports whether the body is sent as the standard library likes it.
func (b *sentBody) atOnce() bool { return b.standard && b.parts[1] == nil }

// none says that there is no body, so that all of it has been sent.
func (b *sentBody) none() { b.taken.Store(true) }

// headOf is the message without its params and closing brace.
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

// rejected notes that the server has refused the request that was sent: what became of
// it is known, and the next try is the first.
func (b *sentBody) rejected() {
	b.taken.Store(false)
	b.earlier.Store(false)
}

// whole reports whether the HTTP layer took all of the body, in any try that
// may have reached the server.
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
		reader = new(bytes.Reader) // the first may still be read from
	}
	b.unread = false
	reader.Reset(b.parts[0])
	return io.NopCloser(reader)
}

// rewinds returns the request's GetBody, nil where the HTTP layer must not send the
// request again automatically. The standard library does so over HTTP/1 when nothing was
// written to a connection that it had used before, and for requests with an
// Idempotency-Key, which is refused. Over HTTP/2 it does so after REFUSED_STREAM and
// GOAWAY, which prove that the server did nothing, but also when the server resets
// the stream with PROTOCOL_ERROR (golang/go#47635), which proves nothing. There the
// client itself makes requests again that were not processed; see [unprocessed].
func (b *sentBody) rewinds(http2 bool) func() (io.ReadCloser, error) {
	if http2 && b.harmful {
		return nil
	}
	return b.again
}

var errSentOnce = errors.New("the request had been sent when its stream over HTTP/2 was reset, and is not sent again")

// again is the request's GetBody. It refuses where only the connection says that it
// speaks HTTP/2: no answer has come over one before.
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
