package front

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mainstay-mcp/mainstay/conformance/server/tasks"
)

// HTTPOptions configures [HTTP].
type HTTPOptions struct {
	// Backend is the server behind.
	Backend Backend
	// Session and Stateless are go-sdk's handlers of the two eras.
	Session, Stateless http.Handler
	// MaxBytes bounds a request body; 0 is [DefaultMaxBytes].
	MaxBytes int
}

// HTTP is in front of go-sdk's streamable HTTP handlers. It is an [http.Handler], safe for
// concurrent use, and belongs behind a [Gate].
type HTTP struct {
	HTTPOptions

	cancellations cancellations
}

// NewHTTP returns the front of the handlers.
func NewHTTP(opts HTTPOptions) *HTTP {
	if opts.MaxBytes == 0 {
		opts.MaxBytes = DefaultMaxBytes
	}
	return &HTTP{HTTPOptions: opts}
}

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	nameHeader    = "Mcp-Name"
)

func (h *HTTP) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w := &refusals{ResponseWriter: rw}
	r.Header.Del(ticketHeader)
	r.Header.Del(slotHeader)
	if r.Method != http.MethodPost {
		h.stream(w, r)
		return
	}
	// What go-sdk refuses by its headers it refuses without reading the body.
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "application/json" {
		h.Session.ServeHTTP(w, r)
		return
	}
	body, f := h.body(w, r)
	if f != nil {
		writeFault(w, http.StatusRequestEntityTooLarge, f)
		return
	}
	if isBatch(body) {
		h.batch(w, r, body)
		return
	}
	m, f := parse(body)
	if f != nil {
		refuse(w, EraSession, f)
		return
	}
	w.id = m.id
	era, f := h.era(r, m)
	switch {
	case f != nil:
		writeFault(w, http.StatusBadRequest, f)
	case era == EraStateless:
		h.stateless(w, r, m, body)
	default:
		h.inSession(w, r, m, body)
	}
}

// era chooses the era of a message: by the header, else by the body. A body of
// the stateless era under another header goes where that is refused (-32020).
func (h *HTTP) era(r *http.Request, m *message) (Era, *fault) {
	header := r.Header.Get(versionHeader)
	body, named := m.version()
	if header != "" && !served(h.Backend, header) {
		if named && body != header {
			return 0, mismatch(m.id, "MCP-Protocol-Version is not the revision of the body")
		}
		return 0, unsupported(m.id, header, h.Backend.Versions())
	}
	switch {
	case header != "" && EraOf(header) == EraStateless:
		return EraStateless, nil
	case named && EraOf(body) == EraStateless && (header == "" || r.Header.Get(sessionHeader) == ""):
		return EraStateless, nil
	}
	return EraSession, nil
}

// stream serves what is no POST: the streams and the end of a session.
func (h *HTTP) stream(w http.ResponseWriter, r *http.Request) {
	if EraOf(r.Header.Get(versionHeader)) == EraStateless {
		h.Stateless.ServeHTTP(w, r) // 405
		return
	}
	id := r.Header.Get(sessionHeader)
	if id != "" && !h.known(w, id) {
		return
	}
	if r.Method != http.MethodDelete {
		defer h.Backend.Enter(id)()
		h.Session.ServeHTTP(w, r)
		return
	}
	said := &verdict{ResponseWriter: w}
	h.Session.ServeHTTP(said, r)
	if said.status < 300 { // a refused DELETE, of a wrong version say, ends nothing
		h.Backend.Forget(id)
	}
}

// verdict keeps the status of an answer.
type verdict struct {
	http.ResponseWriter
	status int
}

// WriteHeader keeps the status and passes it on.
func (v *verdict) WriteHeader(status int) {
	v.status = status
	v.ResponseWriter.WriteHeader(status)
}

// body reads the whole body, up to the limit. Of one that is longer it keeps
// enough to find the id.
func (h *HTTP) body(w http.ResponseWriter, r *http.Request) ([]byte, *fault) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(h.MaxBytes)))
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return nil, tooLarge(idInPart(b), h.MaxBytes)
	}
	// A body cut short by the peer is answered as what arrived: not JSON.
	return b, nil
}

// pass hands the message to go-sdk.
func pass(next http.Handler, w http.ResponseWriter, r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	next.ServeHTTP(w, r)
}

// known reports whether the session exists; if not it has been answered, by an
// error without the id of the request: the request itself is not answered.
func (h *HTTP) known(w http.ResponseWriter, id string) bool {
	if _, ok := h.Backend.Session(id); ok {
		return true
	}
	writeFault(w, http.StatusNotFound, &fault{err: rpcError(-32001, "Session not found", map[string]any{"reason": "unknown_session"})})
	return false
}

// inSession serves a message of the session era.
//
// The status of an answer: 400 for what is not a valid message (transport
// page, "Sending Messages to the Server", item 4), 200 for a method that is
// not served or for bad params, because in the session era a JSON-RPC error is
// an ordinary answer and 404 would say that the session is gone.
func (h *HTTP) inSession(w http.ResponseWriter, r *http.Request, m *message, body []byte) {
	id := r.Header.Get(sessionHeader)
	if id != "" && !h.known(w, id) {
		return
	}
	defer h.Backend.Enter(id)()
	if m.kind == kindRequest && h.Backend.IsDirect(m.method) {
		h.direct(w, r, m)
		return
	}
	switch {
	case m.kind == kindNotification && !heard(h.Backend, EraSession, m):
		w.WriteHeader(http.StatusAccepted)
		return
	case m.kind == kindRequest && !h.Backend.Serves(EraSession, m.method):
		writeFault(w, http.StatusOK, methodFault(m))
		return
	}
	if m.kind == kindRequest && m.id[0] != '"' && !exactFloat(m.id) {
		writeFault(w, http.StatusBadRequest, inexactID(m.id))
		return
	}
	switch {
	case m.method == "initialize" && m.kind == kindRequest:
		if f := checkInitialize(m); f != nil {
			writeFault(w, http.StatusBadRequest, f)
			return
		}
		if id == "" {
			slot, done, ok := h.Backend.Open(address(r))
			if !ok {
				overloaded(w, m.id)
				return
			}
			defer done()
			r.Header.Set(slotHeader, slot)
		}
	case id == "": // a ping, too: it needs a session
		writeFault(w, http.StatusBadRequest, notInitialized(m.id))
		return
	case m.kind != kindResponse:
		if f := m.check(); f != nil {
			refuse(w, EraSession, f)
			return
		}
		h.call(w, r, m, id)
	}
	switch {
	case m.kind == kindRequest && id != "":
		out, leave := h.cancellations.enter(w, id, m.id)
		defer leave()
		w = out
	case m.method == "notifications/cancelled":
		h.cancellations.cancel(id, m)
	}
	pass(h.Session, w, r, body)
}

// stateless serves a message of the stateless era.
func (h *HTTP) stateless(w http.ResponseWriter, r *http.Request, m *message, body []byte) {
	if m.kind == kindResponse {
		writeFault(w, http.StatusBadRequest, invalidRequest(m.id, "response", "nobody asked: the server sends no requests in this revision"))
		return
	}
	if m.kind == kindRequest && h.Backend.IsDirect(m.method) {
		h.direct(w, r, m)
		return
	}
	switch {
	case m.kind == kindNotification && !heard(h.Backend, EraStateless, m):
		w.WriteHeader(http.StatusAccepted)
		return
	case m.kind == kindRequest && !h.Backend.Serves(EraStateless, m.method):
		writeFault(w, http.StatusNotFound, methodFault(m))
		return
	}
	if f := m.check(); f != nil {
		refuse(w, EraStateless, f)
		return
	}
	if m.kind == kindRequest && m.id[0] != '"' && !exactFloat(m.id) {
		writeFault(w, http.StatusBadRequest, inexactID(m.id))
		return
	}
	r.Header.Del(sessionHeader)   // ignored in this era
	r.Header.Del("Last-Event-Id") // streams are not resumable
	decodeName(r.Header)
	ids, f := subscribed(h.Backend, m)
	if f == nil {
		f = taskNamed(r.Header, m)
	}
	if f != nil {
		refuse(w, EraStateless, f)
		return
	}
	if ids != nil {
		stream := &newsStream{w: w}
		defer stream.end()
		r = r.WithContext(tasks.WithNews(r.Context(), &tasks.News{IDs: ids, Subscription: m.id, Send: stream.send}))
	}
	h.call(w, r, m, "")
	if m.method == listenMethod {
		uncount(r)
	}
	w.Header().Set("X-Accel-Buffering", "no")
	pass(h.Stateless, w, r, body)
}

// decodeName takes the name of what is asked for out of base64: go-sdk compares it as it
// is. What is no base64 stays, and is refused there.
func decodeName(h http.Header) {
	encoded, marked := strings.CutPrefix(h.Get(nameHeader), "=?base64?")
	encoded, ends := strings.CutSuffix(encoded, "?=")
	if !marked || !ends {
		return
	}
	if name, err := base64.StdEncoding.DecodeString(encoded); err == nil {
		h.Set(nameHeader, string(name))
	}
}

// call collects the facts about a `tools/call` for its handler.
func (h *HTTP) call(w http.ResponseWriter, r *http.Request, m *message, session string) {
	if c := newCall(m, false); c != nil {
		h.admit(w, r, c, session)
		r.Header.Set(ticketHeader, c.ticket())
	}
}

// admit fills in where the call comes from and asks the rate limit.
func (h *HTTP) admit(w http.ResponseWriter, r *http.Request, c *Call, session string) {
	c.Origin.Transport, c.Origin.Session = "http", session
	if session != "" {
		c.Origin.Version, _ = h.Backend.Session(session)
	} else if !c.Origin.Direct {
		c.Origin.Version = r.Header.Get(versionHeader)
	}
	c.named(r.Header.Get("X-Agent-Name"), session, "http")
	c.Quota = h.Backend.Admit(r.Context(), c)
	limited(w.Header(), c.Quota)
}

// direct answers a tool that is called as a method of its own.
func (h *HTTP) direct(w http.ResponseWriter, r *http.Request, m *message) {
	writeJSON(w, http.StatusOK, h.directly(w, r, m))
}

// refuse answers a message that cannot be served.
func refuse(w http.ResponseWriter, era Era, f *fault) {
	switch {
	case f.err == nil: // a bad notification: refused, without an answer
		w.WriteHeader(http.StatusBadRequest)
	case era == EraSession && f.err.Code == jsonrpc.CodeInvalidParams:
		writeFault(w, http.StatusOK, f)
	default:
		writeFault(w, http.StatusBadRequest, f)
	}
}

// overloaded answers a client for whose session there is no room.
func overloaded(w http.ResponseWriter, id json.RawMessage) {
	w.Header().Set("Retry-After", "1")
	writeFault(w, http.StatusServiceUnavailable, &fault{id: id, err: rpcError(-32000, "too many sessions", map[string]any{"reason": "overloaded"})})
}

// address returns where r comes from, without the port.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func writeFault(w http.ResponseWriter, status int, f *fault) {
	writeJSON(w, status, f.encode())
}

func writeJSON(w http.ResponseWriter, status int, b []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client is gone: nobody is left to tell
}
