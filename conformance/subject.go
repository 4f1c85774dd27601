package conformance

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Subject is the server that a run judges. Create it with [Command], [URL] or [InProcess].
type Subject interface {
	subject()
}

// CommandSubject is a program that serves on standard input and output.
type CommandSubject struct {
	// Argv is the program and its arguments.
	Argv []string
	// Env is the whole environment as KEY=value; nil means that of this process.
	Env []string
	// Dir is the working directory; empty means that of this process.
	Dir string
	// Stderr, when set, gets a copy of the program's standard error.
	Stderr io.Writer

	// Grace is the time to exit after the end of its input. Zero means 5 s.
	Grace time.Duration
}

// Command returns the subject that starts argv for each session. env is the whole
// environment; nil means that of this process.
func Command(argv, env []string) *CommandSubject {
	return &CommandSubject{Argv: slices.Clone(argv), Env: slices.Clone(env)}
}

func (*CommandSubject) subject() {}

// URLSubject is a server at an HTTP endpoint.
type URLSubject struct {
	// URL is the endpoint: over HTTP+SSE that of the event stream.
	URL string
	// Transport is [TransportHTTP] or [TransportSSE]. Empty means streamable HTTP, or
	// HTTP+SSE if the server answers initialize with 400, 404 or 405 and GET with a stream.
	Transport TransportKind
	// Header is sent with each request, for example with credentials.
	Header http.Header
	// Credentials returns more headers for a request, such as a token for its resource.
	Credentials func(ctx context.Context, method string, to *url.URL) (http.Header, error)
	// RoundTripper sends the requests; nil means a new transport.
	RoundTripper http.RoundTripper
}

// URL returns the subject at endpoint, an http or https URL. header is sent
// with each request and may be nil.
func URL(endpoint string, header http.Header) *URLSubject {
	return &URLSubject{URL: endpoint, Header: header.Clone()}
}

func (*URLSubject) subject() {}

// FuncSubject is a server as a function. Make one with [InProcess].
type FuncSubject struct {
	// Serve is called for each session.
	Serve func(ctx context.Context, in io.Reader, out io.Writer) error
	// Grace is the time to exit after the end of its input. Zero means 5 s.
	Grace time.Duration
}

// InProcess returns the subject that calls serve, in a goroutine, for each session.
func InProcess(serve func(ctx context.Context, in io.Reader, out io.Writer) error) Subject {
	return FuncSubject{Serve: serve}
}

func (FuncSubject) subject() {}
