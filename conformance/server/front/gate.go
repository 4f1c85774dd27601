package front

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// GateOptions configures a [Gate].
type GateOptions struct {
	// AllowedHosts are host names (without port) accepted in Host and Origin
	// besides the loopback ones.
	AllowedHosts []string
	// Token, when not empty, is asked of every request as a bearer token.
	Token string
	// Authenticate, when not nil, is asked in the place of Token: it returns the
	// handler that lets in to next who may come in.
	Authenticate func(next http.Handler) http.Handler
	// MaxBytes is the bound on a body of the next handler; 0 is [DefaultMaxBytes].
	MaxBytes int
}

// A Gate is the first handler of all that a server serves over HTTP: it refuses requests
// without permission, and knows what still runs when the server ends.
type Gate struct {
	opts  GateOptions
	token [sha256.Size]byte // of a fixed length, so that the time to compare tells nothing

	running Turnstile // requests being served
}

// NewGate returns a gate.
func NewGate(opts GateOptions) *Gate {
	if opts.MaxBytes == 0 {
		opts.MaxBytes = DefaultMaxBytes
	}
	return &Gate{opts: opts, token: sha256.Sum256([]byte(opts.Token))}
}

// uncountKey finds the function with which a handler tells the gate that
// nobody waits for its request.
type uncountKey struct{}

// Wrap returns next behind the gate.
func (g *Gate) Wrap(next http.Handler) http.Handler {
	next = g.count(next)
	if g.opts.Authenticate != nil {
		next = g.opts.Authenticate(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hasten(w, r)
		if text := g.foreign(r); text != "" {
			writeFault(w, http.StatusForbidden, &fault{err: rpcError(-32000, text, nil)})
			return
		}
		if challenge := g.unknown(r); challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
			writeFault(w, http.StatusUnauthorized, &fault{err: rpcError(-32000, "Unauthorized: a bearer token is required", nil)})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// count returns next with its requests counted, from when all of one has arrived.
func (g *Gate) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrive(w, r, g.opts.MaxBytes)
		if r.Method == http.MethodGet { // a stream, or soon over
			next.ServeHTTP(w, r)
			return
		}
		leave := g.running.Enter()
		if leave == nil {
			Draining(w)
			return
		}
		defer leave()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), uncountKey{}, leave)))
	})
}

// uncount tells the gate not to wait for r: it has no end of its own.
func uncount(r *http.Request) {
	if leave, ok := r.Context().Value(uncountKey{}).(func()); ok {
		leave()
	}
}

// Drain refuses new requests with 503 and waits until those being served are
// answered, or ctx ends.
func (g *Gate) Drain(ctx context.Context) { g.running.Drain(ctx) }

// Draining answers a request that comes too late.
func Draining(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	writeFault(w, http.StatusServiceUnavailable, &fault{err: rpcError(-32000, "server is shutting down", nil)})
}

// unknown returns the challenge for who does not have the token, or "".
func (g *Gate) unknown(r *http.Request) string {
	if g.opts.Token == "" {
		return ""
	}
	scheme, given, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return `Bearer realm="mainstay-refserver"`
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	if subtle.ConstantTimeCompare(sum[:], g.token[:]) != 1 {
		return `Bearer realm="mainstay-refserver", error="invalid_token"`
	}
	return ""
}

// foreign returns why r may not come in, or "". A browser on this machine
// sends the page's origin, and after DNS rebinding the attacker's name as the
// host (transport page, "Security Warning").
func (g *Gate) foreign(r *http.Request) string {
	if !g.allowed(hostname(r.Host)) {
		return "Forbidden: Host is not served here"
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !g.allowed(u.Hostname()) {
			return "Forbidden: Origin is not allowed"
		}
	}
	return ""
}

func (g *Gate) allowed(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || slices.Contains(g.opts.AllowedHosts, host) {
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
