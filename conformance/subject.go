package conformance

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

// Subject is what a run judges: a program, a URL or a function. Make one with
// [Command], [URL] or [InProcess].
type Subject interface {
	// Open starts a conversation from nothing: a new process, a new call of
	// the function, a new set of HTTP requests. extra is added to the
	// environment of a program.
	Open(ctx context.Context, tr *wire.Trace, extra []string) (wire.Conn, error)
	// Target describes the subject before it is reached.
	Target() Target
	// IsProcess reports whether open starts a program.
	IsProcess() bool
}

// CommandSubject is a server the suite starts as a program and speaks to over
// standard input and output.
type CommandSubject struct {
	// Argv is the program and its arguments.
	Argv []string
	// Env is the whole environment as KEY=value; nil means that of this
	// process.
	Env []string
	// Dir is the working directory; empty means that of this process.
	Dir string
	// Stderr, when set, gets a copy of what the program writes to its
	// standard error.
	Stderr io.Writer

	// Grace is how long it may take to end after its input has ended. Zero means 5 s.
	Grace time.Duration
}

// Command returns the subject that starts argv for each conversation. env is
// the whole environment; nil means that of this process.
func Command(argv, env []string) *CommandSubject {
	return &CommandSubject{Argv: slices.Clone(argv), Env: slices.Clone(env), Grace: wire.EndGrace}
}

// Target implements Subject.
func (s *CommandSubject) Target() Target {
	return Target{Transport: wire.TransportStdio, Argv: s.Argv, Tools: -1}
}

func (s *CommandSubject) program() wire.Program {
	return wire.Program{Argv: s.Argv, Env: s.Env, Dir: s.Dir, Stderr: s.Stderr, Grace: s.Grace}
}

// IsProcess implements Subject.
func (s *CommandSubject) IsProcess() bool { return true }

// Open implements Subject.
func (s *CommandSubject) Open(_ context.Context, tr *wire.Trace, extra []string) (wire.Conn, error) {
	return s.program().Start(tr, extra)
}

// URLSubject is a server at an HTTP endpoint.
type URLSubject struct {
	// URL is the endpoint: over HTTP+SSE that of the event stream.
	URL string
	// Transport is [TransportHTTP] or [TransportSSE]. Empty is streamable HTTP,
	// or HTTP+SSE where the server answers initialize with 400, 404 or 405 and GET
	// with a stream of it.
	Transport wire.TransportKind
	// Header is sent with each request, for credentials above all.
	Header http.Header
	// Credentials returns more headers for a request, as [wire.Endpoint] has it.
	Credentials func(ctx context.Context, method string, to *url.URL) (http.Header, error)
	// RoundTripper carries the requests; nil means a transport of the
	// subject's own.
	RoundTripper http.RoundTripper
}

// URL returns the subject at endpoint, an http or https URL. header is sent
// with each request and may be nil.
func URL(endpoint string, header http.Header) *URLSubject {
	return &URLSubject{URL: endpoint, Header: header.Clone()}
}

// Target implements Subject.
func (s *URLSubject) Target() Target {
	t := Target{Transport: cmp.Or(s.Transport, wire.TransportHTTP), Tools: -1}
	if u, err := url.Parse(s.URL); err == nil {
		u.User, u.RawQuery, u.Fragment = nil, "", "" // places where secrets stand
		t.URL = u.String()
	}
	return t
}

func (s *URLSubject) endpoint() wire.Endpoint {
	return wire.Endpoint{URL: s.URL, Header: s.Header, Credentials: s.Credentials, RoundTripper: s.RoundTripper}
}

// IsProcess implements Subject.
func (s *URLSubject) IsProcess() bool { return false }

// Open implements Subject.
func (s *URLSubject) Open(ctx context.Context, tr *wire.Trace, _ []string) (wire.Conn, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an http or https URL", s.URL)
	}
	switch s.Transport {
	case "", wire.TransportHTTP:
		return wire.NewHTTPConn(ctx, s.endpoint(), tr), nil
	case wire.TransportSSE:
		return wire.OpenSSE(ctx, s.endpoint(), tr)
	case wire.TransportStdio:
	}
	return nil, fmt.Errorf("transport %q: a URL is reached over http or sse", s.Transport)
}

// older returns the subject over HTTP+SSE when a server that refused initialize
// over streamable HTTP turns out to be of that transport, as the pages since
// 2025-03-26 have it under "Backwards Compatibility"; else nil.
func (s *URLSubject) older(ctx context.Context, refused wire.Answer) *URLSubject {
	if s.Transport != "" || refused.In.HTTP == nil ||
		!slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}, refused.In.HTTP.Status) {
		return nil
	}
	old := *s
	old.Transport = wire.TransportSSE
	w, err := wire.OpenSSE(ctx, old.endpoint(), wire.NewTrace())
	if err != nil {
		return nil
	}
	w.Close()
	return &old
}

// FuncSubject is a server as a function. Make one with [InProcess].
type FuncSubject struct {
	// Serve is called for each conversation.
	Serve wire.Serve
	// Grace is how long it may take to end after its input has ended. Zero means 5 s.
	Grace time.Duration
}

// InProcess returns the subject that calls serve, in a goroutine, for each
// conversation. Nothing is started and nothing listens.
func InProcess(serve wire.Serve) Subject { return FuncSubject{Serve: serve, Grace: wire.EndGrace} }

// Target implements Subject.
func (s FuncSubject) Target() Target { return Target{Transport: wire.TransportStdio, Tools: -1} }

// IsProcess implements Subject.
func (s FuncSubject) IsProcess() bool { return false }

// Open implements Subject.
func (s FuncSubject) Open(ctx context.Context, tr *wire.Trace, _ []string) (wire.Conn, error) {
	return wire.NewPipeConn(ctx, s.Serve, cmp.Or(s.Grace, wire.EndGrace), nil, tr), nil
}
