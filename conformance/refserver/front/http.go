package front

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// HTTPOptions configures [HTTP].
type HTTPOptions struct {
	// Methods says which methods are served.
	Methods Methods
	// HasSession reports whether a session id is known.
	HasSession func(id string) bool
	// MaxBytes bounds a request body; 0 is [DefaultMaxBytes].
	MaxBytes int
	// AllowedHosts are host names (without port) accepted in Host and Origin
	// besides the loopback ones.
	AllowedHosts []string
}

// HTTP stands before go-sdk's streamable HTTP handler. It is an
// [http.Handler], safe for concurrent use.
type HTTP struct {
	session http.Handler
	opts    HTTPOptions

	mu       sync.Mutex
	draining bool
	running  sync.WaitGroup // POSTs being served; Add under mu
}

// NewHTTP returns the front of session, go-sdk's handler of the session era.
func NewHTTP(session http.Handler, opts HTTPOptions) *HTTP {
	if opts.MaxBytes == 0 {
		opts.MaxBytes = DefaultMaxBytes
	}
	return &HTTP{session: session, opts: opts}
}

const sessionHeader = "Mcp-Session-Id"

func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if text := h.foreign(r); text != "" {
		writeFault(w, http.StatusForbidden, &fault{err: rpcError(-32000, text, nil)})
		return
	}
	if r.Method != http.MethodPost {
		h.session.ServeHTTP(w, r)
		return
	}
	if !h.enter() {
		w.Header().Set("Retry-After", "1")
		writeFault(w, http.StatusServiceUnavailable, &fault{err: rpcError(-32000, "server is shutting down", nil)})
		return
	}
	defer h.running.Done()
	// What go-sdk refuses by its headers it refuses without reading the body.
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "application/json" {
		h.session.ServeHTTP(w, r)
		return
	}
	body, f := h.body(w, r)
	if f != nil {
		writeFault(w, http.StatusRequestEntityTooLarge, f)
		return
	}
	if !h.admit(w, r, body) {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	h.session.ServeHTTP(w, r)
}

// Drain refuses new messages with 503 and waits until those being served are
// answered, or ctx ends.
func (h *HTTP) Drain(ctx context.Context) {
	h.mu.Lock()
	h.draining = true
	h.mu.Unlock()
	done := make(chan struct{})
	go func() {
		h.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (h *HTTP) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return false
	}
	h.running.Add(1)
	return true
}

// body reads the whole body, up to the limit. Of one that is longer it keeps
// enough to find the id.
func (h *HTTP) body(w http.ResponseWriter, r *http.Request) ([]byte, *fault) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(h.opts.MaxBytes)))
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return nil, tooLarge(idInPart(b), h.opts.MaxBytes)
	}
	// A body cut short by the peer is answered as what arrived: not JSON.
	return b, nil
}

// admit answers the message in body itself, or reports that go-sdk can.
//
// The status of an answer: 400 for what is not a valid message (transport
// page, "Sending Messages to the Server", item 4), 200 for a method that is
// not served, because in the session era a JSON-RPC error is an ordinary
// answer and 404 would say that the session is gone.
func (h *HTTP) admit(w http.ResponseWriter, r *http.Request, body []byte) bool {
	m, f := parse(body)
	switch {
	case f != nil && f.err == nil: // a bad notification: refused, without an answer
		w.WriteHeader(http.StatusBadRequest)
		return false
	case f != nil:
		writeFault(w, http.StatusBadRequest, f)
		return false
	}
	id := r.Header.Get(sessionHeader)
	if id != "" && !h.opts.HasSession(id) {
		writeFault(w, http.StatusNotFound, &fault{id: m.id, err: rpcError(-32001, "Session not found", map[string]any{"reason": "unknown_session"})})
		return false
	}
	if m.kind == kindResponse {
		if id == "" {
			writeFault(w, http.StatusBadRequest, notInitialized(nil))
		}
		return id != ""
	}
	if !h.opts.Methods(m.method) {
		if m.kind == kindNotification {
			w.WriteHeader(http.StatusAccepted)
		} else {
			writeFault(w, http.StatusOK, methodFault(m))
		}
		return false
	}
	if m.kind == kindRequest && m.id[0] != '"' && !exactFloat(m.id) {
		// go-sdk's handler would answer under another number.
		writeFault(w, http.StatusBadRequest, invalidRequest(m.id, "id", "an integer id beyond 2^53 cannot be served over HTTP"))
		return false
	}
	if m.method == "initialize" && m.kind == kindRequest {
		if f := checkInitialize(m); f != nil {
			writeFault(w, http.StatusBadRequest, f)
			return false
		}
		return true
	}
	if id == "" {
		writeFault(w, http.StatusBadRequest, notInitialized(m.id))
		return false
	}
	return true
}

// exactFloat reports whether the integer id survives go-sdk's float64.
func exactFloat(id json.RawMessage) bool {
	var n int64
	const most = 1 << 53
	return json.Unmarshal(id, &n) == nil && n >= -most && n <= most
}

// foreign returns why r may not come in, or "". A browser on this machine
// sends the page's origin, and after DNS rebinding the attacker's name as the
// host (transport page, "Security Warning").
func (h *HTTP) foreign(r *http.Request) string {
	if !h.allowed(hostname(r.Host)) {
		return "Forbidden: Host is not served here"
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !h.allowed(u.Hostname()) {
			return "Forbidden: Origin is not allowed"
		}
	}
	return ""
}

func (h *HTTP) allowed(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || slices.Contains(h.opts.AllowedHosts, host) {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func writeFault(w http.ResponseWriter, status int, f *fault) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(f.encode()) // the client is gone: nobody is left to tell
}
