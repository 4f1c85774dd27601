package suitetest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// fakeHTTPDefect is what is wrong with the HTTP side of a fake.
type fakeHTTPDefect struct {
	// fault is the name of what is wrong, "" for nothing.
	fault string
}

// fakeHTTP serves a fake over streamable HTTP.
type fakeHTTP struct {
	*fake
	fault string

	mu       sync.Mutex
	sessions map[string]*fakeConn
	next     int
}

func newFakeHTTP(f *fake) *fakeHTTP {
	return &fakeHTTP{fake: f, fault: f.http.fault, sessions: map[string]*fakeConn{}}
}

func (h *fakeHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	origin := r.Header.Get("Origin")
	switch {
	case origin != "" && h.fault != "any-origin", origin == "" && h.fault == "needs-origin" && r.Header.Get(wire.HeaderSession) != "":
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodGet && h.fault == "get":
		w.WriteHeader(http.StatusOK)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Method == http.MethodDelete:
		h.end(w, r)
	default:
		h.post(w, r)
	}
}

func (h *fakeHTTP) end(w http.ResponseWriter, r *http.Request) {
	switch h.fault {
	case "delete":
		w.WriteHeader(http.StatusTeapot)
		return
	case "ends-nothing":
	case "ends-all":
		clear(h.sessions)
	default:
		delete(h.sessions, r.Header.Get(wire.HeaderSession))
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *fakeHTTP) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if h.fault == "charset" && r.Header.Get("Content-Type") != wire.MediaJSON {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	id := r.Header.Get(wire.HeaderSession)
	c := h.sessions[id]
	if in := wire.Received(body, nil); in.Method() == mcp.MethodInitialize && id == "" {
		h.next++
		id = "session-" + strconv.Itoa(h.next)
		switch h.fault {
		case "invisible-id":
			id = "session " + strconv.Itoa(h.next)
		case "one-id":
			id = "session"
		}
		c = &fakeConn{fake: h.fake}
		h.sessions[id] = c
		w.Header().Set(wire.HeaderSession, id)
	}
	switch {
	case c == nil && id == "" && h.fault != "no-id-needed":
		w.WriteHeader(http.StatusBadRequest)
		return
	case c == nil && h.fault != "any-id" && id != "":
		w.WriteHeader(http.StatusNotFound)
		return
	case c == nil:
		c = &fakeConn{fake: h.fake, opened: true, ready: true, version: mcp.LatestSession}
	}
	version := r.Header.Get(wire.HeaderRevision)
	if version != "" && !mcp.Version(version).Known() && h.fault != "any-version" || version == "" && c.ready && h.fault == "needs-version" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.answer(w, body, c.handle(body))
}

// exactSpelling is a server that does not know that header names have no case.
// net/http mends the spelling before a handler sees it, so it stands before.
type exactSpelling struct{ next http.RoundTripper }

func (e exactSpelling) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, lower := r.Header["accept"]; lower { //nolint:staticcheck // the spelling is the point
		rec := httptest.NewRecorder()
		rec.WriteHeader(http.StatusNotAcceptable)
		return rec.Result(), nil
	}
	return e.next.RoundTrip(r)
}

func (h *fakeHTTP) answer(w http.ResponseWriter, body []byte, out []any) {
	if len(out) == 0 {
		if h.fault == "status-200" {
			w.WriteHeader(http.StatusOK)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		if h.fault == "body" {
			_, _ = io.WriteString(w, "{}")
		}
		return
	}
	w.Header().Set("Content-Type", wire.MediaJSON)
	if h.fault == "media-type" {
		w.Header().Set("Content-Type", "text/plain")
	}
	if len(out) > 1 || strings.Contains(string(body), `"`+mcp.MethodToolsList+`"`) {
		w.Header().Set("Content-Type", wire.MediaStream)
		for _, m := range out {
			_, _ = io.WriteString(w, "data: "+string(rawjson.Encode(m))+"\n\n")
		}
		return
	}
	if h.fault == "status" {
		w.WriteHeader(http.StatusCreated)
	}
	_, _ = w.Write(rawjson.Encode(out[0]))
}
