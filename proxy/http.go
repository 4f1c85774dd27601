package proxy

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Headers of the streamable HTTP transport.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	prefixParam   = "Mcp-Param-"
	headerEvent   = "Last-Event-Id"
)

// maxBody bounds the body of a POST.
const maxBody = 8 << 20

// Handler serves hosts over streamable HTTP, those of both eras on the same URL. Each session
// has a server of its own, unless [WithSharedServer] says otherwise. Requests of the stateless era
// share servers; see [Target].
//
// A Handler does not read the path of a request. Close it before its [net/http.Server], which
// waits for open streams.
type Handler struct {
	settings
	target  Server
	single  *host // of requests without a session
	streams sync.WaitGroup
	load    load

	mu       sync.Mutex
	closed   bool
	sessions map[string]*session
	closing  sync.WaitGroup // sessions that end
	end      func()         // ends a shared server
}

// NewHandler returns a handler for the hosts of a server.
func NewHandler(to Server, opts ...Option) *Handler {
	h := &Handler{settings: newSettings(opts), sessions: map[string]*session{}}
	h.target, h.end = h.shared(context.Background(), to) //nolint:forbidigo // Close ends it
	h.single = h.newHost()
	h.single.line, h.single.strangers = nobody{}, true
	return h
}

func (h *Handler) newHost() *host {
	return newHost(context.Background(), h.target, h.settings) //nolint:forbidigo // hosts outlive every request; Close ends them
}

// nobody is the line for what no request of a stateless host asked for.
type nobody struct{}

// notify implements [line].
func (nobody) notify(context.Context, jsonrpc.Notification) error { return nil }

// call implements [line].
func (nobody) call(context.Context, jsonrpc.Request) (jsonrpc.Response, error) {
	return jsonrpc.Response{}, errNoQuestions
}

// Close answers no more requests, gives the open ones five seconds or until ctx ends, ends all
// sessions and their servers, and waits for them. The error is about a host that does not read
// its last answers.
func (h *Handler) Close(ctx context.Context) error {
	h.mu.Lock()
	again := h.closed
	h.closed = true
	h.mu.Unlock()
	if again {
		return nil
	}
	all := h.all()
	defer context.AfterFunc(ctx, func() {
		for _, s := range all {
			s.host.end(context.Cause(ctx))
		}
		h.single.end(context.Cause(ctx))
	})()
	for _, s := range all {
		h.remove(s, stopTime)
	}
	h.single.drain(stopTime, errEnding())
	h.single.close()
	h.closing.Wait()
	h.end()
	read := make(chan struct{})
	go func() {
		h.streams.Wait()
		close(read)
	}()
	select {
	case <-read:
		return nil
	case <-time.After(flushTime):
		return errHostSlow
	}
}

func (h *Handler) all() []*session {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*session, 0, len(h.sessions))
	for _, s := range h.sessions {
		all = append(all, s)
	}
	return all
}

// ServeHTTP implements [net/http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	closed := h.closed
	if !closed {
		h.streams.Add(1)
	}
	h.mu.Unlock()
	if closed {
		unavailable(w, jsonrpc.ID{}, "the proxy is ending")
		return
	}
	defer h.streams.Done()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch {
	case !h.allowed(r):
		http.Error(w, "this Host or Origin is not allowed", http.StatusForbidden)
	case !h.authorized(r):
		w.Header().Set("WWW-Authenticate", `Bearer realm="mcp"`)
		http.Error(w, "the proxy requires its token: Authorization: Bearer TOKEN", http.StatusUnauthorized)
	case r.Method == http.MethodPost:
		h.post(w, r)
	case mcp.Version(r.Header.Get(headerVersion)).Era() == mcp.EraStateless:
		noMethod(w, http.MethodPost)
	case r.Method == http.MethodGet:
		h.get(w, r)
	case r.Method == http.MethodDelete:
		h.delete(w, r)
	default:
		noMethod(w, "GET, POST, DELETE")
	}
}

// allowed checks where a request comes from: a web page must not reach a server of this machine
// (transports, "Security Warning").
func (h *Handler) allowed(r *http.Request) bool {
	if !h.hostAllowed(r.Host) {
		return false
	}
	origins := r.Header.Values("Origin")
	return !slices.ContainsFunc(origins, func(origin string) bool {
		u, err := url.Parse(origin)
		return err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Path != "" || !h.hostAllowed(u.Host)
	})
}

func (h *Handler) hostAllowed(hostport string) bool {
	name := hostport
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		name = host
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" {
		return true
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return slices.Contains(h.hosts, name)
}

func (h *Handler) authorized(r *http.Request) bool {
	if h.token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(h.token)) == 1
}

// post serves one message, or a batch.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, jsonrpc.ID{}, invalidRequest("Content-Type must be application/json"))
		return
	}
	if !accepts(r, "application/json") || !accepts(r, "text/event-stream") {
		refuse(w, http.StatusNotAcceptable, jsonrpc.ID{}, invalidRequest("Accept must have application/json and text/event-stream"))
		return
	}
	size := r.ContentLength
	if size < 0 || size > maxBody { // unknown, or refused below
		size = maxBody
	}
	kept := h.load.read(addressOf(r), size)
	if kept == nil {
		unavailable(w, jsonrpc.ID{}, "too many large messages at once")
		return
	}
	defer kept.release()
	r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, kept))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	kept.isRead(int64(len(body)))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		refuse(w, http.StatusRequestEntityTooLarge, jsonrpc.ID{}, invalidRequest("the body is larger than "+jsonrpc.Size(maxBody)))
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, jsonrpc.ID{}, invalidRequest("the body cannot be read: "+err.Error()))
		return
	case jsonrpc.IsBatch(body):
		h.batch(w, r, body)
		return
	}
	m, err := jsonrpc.Decode(body)
	if err != nil {
		id, fault := faultOf(err)
		refuse(w, http.StatusBadRequest, id, fault)
		return
	}
	h.message(w, r, m)
}

// accepts reports whether the host takes a media type. One that names none takes all.
func accepts(r *http.Request, media string) bool {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return true
	}
	kind, _, _ := strings.Cut(media, "/")
	for value := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, _, err := mime.ParseMediaType(value)
		if err == nil && (name == media || name == kind+"/*" || name == "*/*") {
			return true
		}
	}
	return false
}

// message serves one message in its era: that of the header, else that of the body. A body of
// the stateless era under another header is refused there.
func (h *Handler) message(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
	header := mcp.Version(r.Header.Get(headerVersion))
	if header.Era() == mcp.EraSession {
		h.inSession(w, r, m)
		return
	}
	req, asks := m.(jsonrpc.Request)
	var read *request
	var body mcp.Version
	if asks {
		var fault *jsonrpc.Error
		if read, fault = readRequest(req); fault != nil {
			refuse(w, http.StatusBadRequest, req.ID, fault)
			return
		}
		body = read.version
	}
	switch {
	case header != "" && header.Era() == mcp.EraUnknown && body != "" && body != header:
		refuse(w, http.StatusBadRequest, req.ID, mismatch("MCP-Protocol-Version is not the revision in _meta"))
	case header != "" && header.Era() == mcp.EraUnknown:
		refuse(w, http.StatusBadRequest, req.ID, unsupported(header))
	case header == "" && (body.Era() != mcp.EraStateless || r.Header.Get(headerSession) != ""):
		h.inSession(w, r, m)
	case asks:
		h.stateless(w, r, read)
	default:
		if _, answers := m.(jsonrpc.Response); answers {
			refuse(w, http.StatusBadRequest, jsonrpc.ID{}, invalidRequest("nobody asked: servers send no requests in this revision"))
			return
		}
		w.WriteHeader(http.StatusAccepted) // there is none that a server needs
	}
}
