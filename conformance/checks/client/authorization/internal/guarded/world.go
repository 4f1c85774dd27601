package guarded

import (
	"crypto/rand"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The hosts.
const (
	Resource  = "server"    // the MCP server
	First     = "as"        // its authorization server
	Second    = "second"    // another authorization server
	Elsewhere = "elsewhere" // a host that has nothing to do with the login
	Private   = "private"   // a listener on a private or reserved address
)

// Endpoint is the path of the MCP endpoint.
const Endpoint = "/mcp"

// MetadataPath is where the resource metadata are by RFC 9728 section 3.1.
const MetadataPath = "/.well-known/oauth-protected-resource"

// Places opens listeners.
type Places struct {
	// Serve serves h and returns the base URL, without a slash at its end.
	Serve func(h http.Handler) (base string, stop func(), err error)
	// Private listens on a private or reserved address; nil if there is none. Clients get
	// address.
	Private func() (l net.Listener, address string)
}

// World is one MCP server and the hosts around it. A scenario sets the fields before the
// client starts.
type World struct {
	// Base is the origin of the MCP server.
	Base string
	// MCP is the server behind the guard.
	MCP http.Handler
	// First and Second are the authorization servers; only First is named anywhere.
	First, Second *Server
	// Elsewhere is the origin of a host that must get no secrets. Private is the host and
	// port of a listener on a private address, "" if this machine has none.
	Elsewhere, Private string

	// Metadata are the resource metadata, and MetadataPaths where they are served.
	Metadata      map[string]any
	MetadataPaths []string
	// Challenge are the WWW-Authenticate headers of a 401.
	Challenge []string
	// Free reports whether a request needs no token. Needs returns the scopes that it
	// needs.
	Free  func(*Request) bool
	Needs func(*Request) []string
	// Trust reports whether the MCP server takes a token; nil takes all that are valid.
	Trust func(*Token) bool
	// Partner is the world whose authorization server issues tokens for this server, nil if
	// it is that of this world.
	Partner *World
	// Before is called once when a call of the named tool arrives, before its token is
	// looked at. It may change the resource metadata and Trust.
	Before map[string]func()
	// Handlers answer in the place of the ordinary handler, by host and path.
	Handlers map[string]http.HandlerFunc
	// Log is called with each request that is not for the MCP endpoint.
	Log func(*Request)
	// Nonce demands a DPoP nonce at the MCP endpoint.
	Nonce string

	// changing is held while a hook of Before changes the world during a run.
	changing sync.RWMutex

	mu       sync.Mutex
	requests []*Request
	secrets  map[string]string // what they are, by value
	tokens   map[string]*Token
	refresh  map[string]*Server // who issued a refresh token
	proofs   map[string]bool    // jti of proofs
	problems []string           // of proofs and assertions
	stops    []func()
	jobs     sync.WaitGroup
	touched  int // connections to the private address
	taken    atomic.Int64
}

// Token is an access token that was issued.
type Token struct {
	Value  string
	Scopes []string
	Issuer *Server
	// Resource is the one that the token request named.
	Resource string
	// Dead: it has expired or was revoked.
	Dead bool
	// Key is the thumbprint of the key that it is bound to.
	Key string
}

// New starts a world. Close stops it.
func New(p Places) (*World, error) {
	w := &World{
		Before: map[string]func(){}, Handlers: map[string]http.HandlerFunc{},
		secrets: map[string]string{}, tokens: map[string]*Token{}, refresh: map[string]*Server{}, proofs: map[string]bool{},
		MetadataPaths: []string{MetadataPath + Endpoint},
	}
	serve := func(h http.Handler, at *string) error {
		base, stop, err := p.Serve(h)
		if err == nil {
			*at = base
			w.stops = append(w.stops, stop)
		}
		return err
	}
	w.First, w.Second = newServer(w, First), newServer(w, Second)
	for _, one := range []struct {
		h  http.Handler
		at *string
	}{
		{http.HandlerFunc(w.serveResource), &w.Base},
		{w.First, &w.First.Base},
		{w.Second, &w.Second.Base},
		{http.HandlerFunc(w.serveElsewhere), &w.Elsewhere},
	} {
		if err := serve(one.h, one.at); err != nil {
			w.Close()
			return nil, err
		}
	}
	w.First.Settle(w.First.Base)
	w.Second.Settle(w.Second.Base)
	w.Metadata = map[string]any{
		"resource": w.Base + Endpoint, "authorization_servers": []string{w.First.Issuer}, "bearer_methods_supported": []string{"header"},
	}
	w.Challenge = []string{`Bearer resource_metadata="` + w.Base + MetadataPath + Endpoint + `", scope="mcp:use"`}
	if l, address := p.Private(); l != nil {
		w.Private = address
		w.stops = append(w.stops, func() { _ = l.Close() })
		w.jobs.Go(func() { w.count(l) })
	}
	return w, nil
}

// count counts connections, and closes them.
func (w *World) count(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_ = conn.Close() // only the connection counts
		w.mu.Lock()
		w.touched++
		w.mu.Unlock()
	}
}

// Touched is the number of connections to the private address.
func (w *World) Touched() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.touched
}

// Close stops the world.
func (w *World) Close() {
	for _, stop := range w.stops {
		stop()
	}
	w.jobs.Wait()
}

// serveElsewhere is a host without documents.
func (w *World) serveElsewhere(out http.ResponseWriter, in *http.Request) {
	r := w.received(Elsewhere, in)
	if h := w.Handlers[Elsewhere+r.Path]; h != nil {
		h(out, in)
		return
	}
	http.NotFound(out, in)
}

// Secret makes a value that only the client and the servers may know.
func (w *World) Secret(what string) string {
	value := strings.ReplaceAll(what, " ", "-") + "-" + rand.Text()
	w.Keep(what, value)
	return value
}

// Keep adds a secret that the client made.
func (w *World) Keep(what, value string) {
	if len(value) < 16 {
		return // too short to be found by its text
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secrets[value] = what
}

// Leaked names the secrets in a text.
func (w *World) Leaked(text string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for value, what := range w.secrets {
		if strings.Contains(text, value) {
			out = append(out, what)
		}
	}
	return out
}

// Expire invalidates every access token.
func (w *World) Expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.tokens {
		t.Dead = true
	}
}

// Issued returns a token that was issued, else nil.
func (w *World) Issued(value string) *Token {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.tokens[value]; t != nil {
		c := *t
		return &c
	}
	return nil
}

// issue makes an access token.
func (w *World) issue(s *Server, scopes []string, resource, key string) *Token {
	t := &Token{Value: w.Secret("access token"), Scopes: scopes, Issuer: s, Resource: resource, Key: key}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tokens[t.Value] = t
	return t
}

// From returns the server that issued a refresh token, nil if none did.
func (w *World) From(refresh string) *Server {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refresh[refresh]
}

func (w *World) renewable(refresh string, s *Server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refresh[refresh] = s
}

// Problems returns the errors in proofs and assertions.
func (w *World) Problems() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.problems...)
}

func (w *World) problem(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, text)
}

// Document answers with JSON.
func Document(out http.ResponseWriter, status int, doc any) {
	out.Header().Set("Content-Type", "application/json")
	out.Header().Set("Cache-Control", "no-store")
	out.WriteHeader(status)
	_ = json.NewEncoder(out).Encode(doc) // the client may be gone
}

// Redirect redirects to a URL.
func Redirect(to string, status int) http.HandlerFunc {
	return func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Location", to)
		out.WriteHeader(status)
	}
}

// Huge answers with a JSON document of that many bytes. Taken counts them.
func (w *World) Huge(size int) http.HandlerFunc {
	return func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		n, _ := out.Write([]byte(`{"padding":"`))
		piece := []byte(strings.Repeat("x", 64<<10))
		for n < size {
			m, err := out.Write(piece)
			if n += m; err != nil {
				break
			}
		}
		w.taken.Add(int64(n))
	}
}

// Taken is how many bytes of huge documents were sent.
func (w *World) Taken() int64 { return w.taken.Load() }

// Endless answers with a document without an end.
func Endless(out http.ResponseWriter, in *http.Request) {
	out.Header().Set("Content-Type", "application/json")
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		_, err := out.Write([]byte(" "))
		if err == nil {
			err = http.NewResponseController(out).Flush()
		}
		if err != nil {
			tick.Stop()
			return
		}
		select {
		case <-tick.C:
		case <-in.Context().Done():
			tick.Stop()
			return
		}
	}
}

// Silent never answers.
func Silent(_ http.ResponseWriter, in *http.Request) { <-in.Context().Done() }
