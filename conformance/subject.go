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
)

// Subject is what a run judges: a program, a URL or a function. Make one with
// [Command], [URL] or [InProcess].
type Subject interface {
	// open starts a conversation from nothing: a new process, a new call of
	// the function, a new set of HTTP requests. extra is added to the
	// environment of a program.
	open(ctx context.Context, tr *trace, extra []string) (wire, error)
	// target describes the subject before it is reached.
	target() Target
	// isProcess reports whether open starts a program.
	isProcess() bool
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

	grace time.Duration // endGrace, but in tests
}

// Command returns the subject that starts argv for each conversation. env is
// the whole environment; nil means that of this process.
func Command(argv, env []string) *CommandSubject {
	return &CommandSubject{Argv: slices.Clone(argv), Env: slices.Clone(env), grace: endGrace}
}

func (s *CommandSubject) target() Target {
	return Target{Transport: TransportStdio, Argv: s.Argv, Tools: -1}
}

func (s *CommandSubject) isProcess() bool { return true }

func (s *CommandSubject) open(_ context.Context, tr *trace, extra []string) (wire, error) {
	return startProcess(s, tr, extra)
}

// URLSubject is a server at an HTTP endpoint.
type URLSubject struct {
	// URL is the endpoint: over HTTP+SSE that of the event stream.
	URL string
	// Transport is [TransportHTTP] or [TransportSSE]. Empty is streamable HTTP,
	// or HTTP+SSE where the server answers initialize with 400, 404 or 405 and GET
	// with a stream of it.
	Transport TransportKind
	// Header is sent with each request, for credentials above all.
	Header http.Header
	// RoundTripper carries the requests; nil means a transport of the
	// subject's own.
	RoundTripper http.RoundTripper
}

// URL returns the subject at endpoint, an http or https URL. header is sent
// with each request and may be nil.
func URL(endpoint string, header http.Header) *URLSubject {
	return &URLSubject{URL: endpoint, Header: header.Clone()}
}

func (s *URLSubject) target() Target {
	t := Target{Transport: cmp.Or(s.Transport, TransportHTTP), Tools: -1}
	if u, err := url.Parse(s.URL); err == nil {
		u.User, u.RawQuery, u.Fragment = nil, "", "" // places where secrets stand
		t.URL = u.String()
	}
	return t
}

func (s *URLSubject) isProcess() bool { return false }

func (s *URLSubject) open(ctx context.Context, tr *trace, _ []string) (wire, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an http or https URL", s.URL)
	}
	switch s.Transport {
	case "", TransportHTTP:
		return newHTTPWire(ctx, s, tr), nil
	case TransportSSE:
		return openSSE(ctx, s, tr)
	case TransportStdio:
	}
	return nil, fmt.Errorf("transport %q: a URL is reached over http or sse", s.Transport)
}

// older returns the subject over HTTP+SSE when a server that refused initialize
// over streamable HTTP turns out to be of that transport, as the pages since
// 2025-03-26 have it under "Backwards Compatibility"; else nil.
func (s *URLSubject) older(ctx context.Context, refused answer) *URLSubject {
	if s.Transport != "" || refused.in.http == nil ||
		!slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}, refused.in.http.Status) {
		return nil
	}
	old := *s
	old.Transport = TransportSSE
	w, err := openSSE(ctx, &old, newTrace())
	if err != nil {
		return nil
	}
	w.close()
	return &old
}

// Serve is a server as a function: it speaks newline-delimited JSON-RPC on in
// and out until in ends or ctx is done, and then returns.
type Serve func(ctx context.Context, in io.Reader, out io.Writer) error

type inProcess struct {
	serve Serve
	grace time.Duration // endGrace, but in tests
}

// InProcess returns the subject that calls serve, in a goroutine, for each
// conversation. Nothing is started and nothing listens.
func InProcess(serve Serve) Subject { return inProcess{serve, endGrace} }

func (s inProcess) target() Target { return Target{Transport: TransportStdio, Tools: -1} }

func (s inProcess) isProcess() bool { return false }

func (s inProcess) open(ctx context.Context, tr *trace, _ []string) (wire, error) {
	return newPipeWire(ctx, s, tr), nil
}

// environ returns the environment of a program with extra on top: the last
// value of a name wins, as exec.Cmd has it.
func environ(base, extra []string) []string {
	return append(slices.Clone(base), extra...)
}
