package engine

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// Opener is a subject that opens its connections itself.
type Opener interface {
	conformance.Subject
	// Open starts a conversation. extra is added to the environment of a program.
	Open(ctx context.Context, tr *wire.Trace, extra []string) (wire.Conn, error)
	// IsProcess reports whether Open starts a program.
	IsProcess() bool
}

// targetOf describes a subject that was not reached yet.
func targetOf(subject conformance.Subject) conformance.Target {
	t := conformance.Target{Role: conformance.RoleServer, Transport: conformance.TransportStdio, Tools: -1}
	switch s := subject.(type) {
	case *conformance.CommandSubject:
		t.Argv = s.Argv
	case *conformance.URLSubject:
		t.Transport = cmp.Or(s.Transport, conformance.TransportHTTP)
		if u, err := url.Parse(s.URL); err == nil {
			u.User, u.RawQuery, u.Fragment = nil, "", "" // places of secrets
			t.URL = u.String()
		}
	}
	return t
}

// isProcess reports whether a conversation with the subject starts a program.
func isProcess(subject conformance.Subject) bool {
	switch s := subject.(type) {
	case *conformance.CommandSubject:
		return true
	case Opener:
		return s.IsProcess()
	}
	return false
}

// openSubject starts a conversation: a new process, a new call of the function, or a new
// set of HTTP requests. extra is added to the environment of a program.
func (r *runner) openSubject(ctx context.Context, tr *wire.Trace, extra []string) (wire.Conn, error) {
	w, err := r.openAny(ctx, tr, extra)
	if err != nil {
		return nil, err
	}
	r.gentle.lines(w)
	return w, nil
}

func (r *runner) openAny(ctx context.Context, tr *wire.Trace, extra []string) (wire.Conn, error) {
	switch s := r.Subject.(type) {
	case *conformance.CommandSubject:
		p := wire.Program{Argv: s.Argv, Env: s.Env, Dir: s.Dir, Stderr: s.Stderr, Grace: cmp.Or(s.Grace, wire.EndGrace)}
		return p.Start(tr, extra)
	case *conformance.URLSubject:
		return openURL(ctx, s, r.endpointOf(s), tr)
	case conformance.FuncSubject:
		return wire.NewPipeConn(ctx, s.Serve, cmp.Or(s.Grace, wire.EndGrace), nil, tr), nil
	case Opener:
		return s.Open(ctx, tr, extra)
	}
	return nil, fmt.Errorf("a %T is no subject: use Command, URL or InProcess", r.Subject)
}

func (r *runner) endpointOf(s *conformance.URLSubject) wire.Endpoint {
	return wire.Endpoint{URL: s.URL, Header: s.Header, Credentials: s.Credentials, RoundTripper: r.gentle.RoundTripper(s.RoundTripper), Once: r.gentle != nil}
}

// openURL connects over the transport of the subject.
func openURL(ctx context.Context, s *conformance.URLSubject, at wire.Endpoint, tr *wire.Trace) (wire.Conn, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an http or https URL", s.URL)
	}
	switch s.Transport {
	case "", conformance.TransportHTTP:
		return wire.NewHTTPConn(ctx, at, tr), nil
	case conformance.TransportSSE:
		return wire.OpenSSE(ctx, at, tr)
	case conformance.TransportStdio:
	}
	return nil, fmt.Errorf("transport %q: a URL is reached over http or sse", s.Transport)
}

// older returns the subject over HTTP+SSE when a server that refused initialize
// over streamable HTTP turns out to be of that transport, as the pages since
// 2025-03-26 have it under "Backwards Compatibility"; else nil.
func (r *runner) older(ctx context.Context, s *conformance.URLSubject, refused wire.Answer) *conformance.URLSubject {
	if s.Transport != "" || refused.In.HTTP == nil ||
		!slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}, refused.In.HTTP.Status) {
		return nil
	}
	old := *s
	old.Transport = conformance.TransportSSE
	w, err := wire.OpenSSE(ctx, r.endpointOf(&old), wire.NewTrace())
	if err != nil {
		return nil
	}
	w.Close()
	return &old
}
