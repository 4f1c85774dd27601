// Package loopback receives the answer of an authorization server from the browser of a
// person: a listener on 127.0.0.1 accepts one callback (RFC 8252 section 7.3).
package loopback

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Answer is the answer of the authorization server in its callback. Check State and Issuer
// before you trust its texts.
type Answer struct {
	Code, State, Issuer          string
	HasIssuer                    bool
	Error, Description, ErrorURI string
}

// String hides the code.
func (a Answer) String() string { return "an answer of the authorization server" }

// GoString hides the code.
func (a Answer) GoString() string { return a.String() }

// Read reads the answer in the URL of a callback, which a person copied from the address
// line of a browser.
func Read(callback string) (Answer, error) {
	u, err := url.Parse(strings.TrimSpace(callback))
	if err != nil {
		return Answer{}, errors.New("this is not a URL; copy the whole address line of the browser")
	}
	return answerOf(u.Query())
}

func answerOf(query url.Values) (Answer, error) {
	for _, name := range [...]string{"code", "state", "iss", "error"} {
		if len(query[name]) > 1 {
			return Answer{}, fmt.Errorf("the answer has the parameter %s more than once", name)
		}
	}
	a := Answer{
		Code: query.Get("code"), State: query.Get("state"), Issuer: query.Get("iss"), HasIssuer: query.Has("iss"),
		Error: query.Get("error"), Description: query.Get("error_description"), ErrorURI: query.Get("error_uri"),
	}
	if a.Code == "" && a.Error == "" {
		return Answer{}, errors.New("the answer has neither a code nor an error; was the login completed?")
	}
	return a, nil
}

// NewState returns a random value that cannot be guessed.
func NewState() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Listener waits for one callback. It answers and ignores callbacks with another state,
// because any program on this machine can send them.
type Listener struct {
	redirect string
	path     string
	state    string
	answers  chan Answer
	server   *http.Server
	done     sync.WaitGroup
	once     sync.Once

	mu     sync.Mutex
	silent map[net.Conn]bool // connections without a request: browsers open some in advance
}

// Listen opens a listener for the state. redirect is the URL of the callback, http on
// localhost or a loopback address; without a port or with port 0 it is a free one. ""
// is http://127.0.0.1/callback.
func Listen(ctx context.Context, redirect, state string) (*Listener, error) {
	if redirect == "" {
		redirect = "http://127.0.0.1/callback"
	}
	u, err := url.Parse(redirect)
	if err != nil {
		return nil, errors.New("the redirect URL cannot be read")
	}
	host := u.Hostname()
	if u.Scheme != "http" || !IsLoopback(host) || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("the redirect URL %s is not on this machine; write it as http://127.0.0.1:PORT/callback", redirect)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	port := u.Port()
	if port == "" {
		port = "0"
	}
	l, err := listen(ctx, host, port)
	if err != nil {
		return nil, fmt.Errorf("the callback of the login cannot be received: %w", err)
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	u.Host = net.JoinHostPort(u.Hostname(), port)
	if u.Path == "" {
		u.Path = "/"
	}
	w := &Listener{redirect: u.String(), path: u.Path, state: state, answers: make(chan Answer, 1), silent: map[net.Conn]bool{}}
	w.server = &http.Server{
		Handler: w, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10, ConnState: w.changed,
	}
	w.done.Go(func() { _ = w.server.Serve(l) }) // ends with Close
	return w, nil
}

// Ports that systems give to nobody who does not ask for them: Linux gives those from 32768 on,
// others those from 49152 on (RFC 6335 section 6). A registration names the port of its first
// login, which should be free for the next one, too.
const (
	firstPort = 16384
	lastPort  = 32767
	portTries = 16
)

// listen listens on a port, for "0" on a free one.
func listen(ctx context.Context, host, port string) (net.Listener, error) {
	var config net.ListenConfig
	for range portTries {
		if port != "0" {
			break
		}
		own := strconv.Itoa(firstPort + mathrand.IntN(lastPort-firstPort+1)) //nolint:gosec // it is no secret
		if l, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, own)); err == nil {
			return l, nil
		}
	}
	return config.Listen(ctx, "tcp", net.JoinHostPort(host, port))
}

// IsLoopback reports whether a host name is this machine's.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Redirect returns the URL of the callback, with its port.
func (l *Listener) Redirect() string { return l.redirect }

// Wait returns the answer.
func (l *Listener) Wait(ctx context.Context) (Answer, error) {
	select {
	case a := <-l.answers:
		return a, nil
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// changed keeps the set of silent connections.
func (l *Listener) changed(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if state == http.StateNew {
		l.silent[c] = true
	} else {
		delete(l.silent, c)
	}
}

// Close ends the listener. It delivers the page for the person first.
func (l *Listener) Close() {
	l.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) //nolint:forbidigo // after every caller
		defer cancel()
		l.mu.Lock()
		silent := slices.Collect(maps.Keys(l.silent)) // Shutdown would wait for them
		l.mu.Unlock()
		for _, c := range silent {
			_ = c.Close()
		}
		if l.server.Shutdown(ctx) != nil {
			_ = l.server.Close()
		}
		l.done.Wait()
	})
}

// ServeHTTP handles the callback.
func (l *Listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	h.Set("X-Content-Type-Options", "nosniff")
	// A foreign website whose name resolves to this address sends that name in Host.
	name := r.Host
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		name = host
	}
	switch {
	case !IsLoopback(strings.Trim(name, "[]")):
		http.Error(w, "unknown host", http.StatusForbidden)
		return
	case r.URL.Path != l.path:
		http.NotFound(w, r)
		return
	case r.Method != http.MethodGet:
		h.Set("Allow", http.MethodGet)
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	answer, err := answerOf(r.URL.Query())
	if err == nil && subtle.ConstantTimeCompare([]byte(answer.State), []byte(l.state)) != 1 {
		err = errors.New("this answer belongs to another login")
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		writePage(w, "This is not the expected answer", err.Error()+".")
		return
	}
	select {
	case l.answers <- answer:
	default: // there was one
	}
	// The program has yet to check the answer.
	if answer.Error != "" {
		writePage(w, "The login has failed", "The program that you started says why. You can close this window.")
		return
	}
	writePage(w, "The program has the answer", "You can close this window and go back to the program: it shows whether you are logged in.")
}

// writePage does not use html/template: because that calls methods by name, the linker
// would keep every exported method of a program that can log in.
func writePage(w io.Writer, title, text string) {
	fmt.Fprintf(w, `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>%[1]s</title>
<style>body{font:18px/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}</style>
<h1>%[1]s</h1><p>%[2]s</p></html>
`, html.EscapeString(title), html.EscapeString(text))
}
