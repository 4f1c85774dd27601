package conformance

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Subject is what a run judges: a program, a URL or a function. Make one with
// [Command], [URL] or [InProcess].
type Subject interface {
	subject()
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
	return &CommandSubject{Argv: slices.Clone(argv), Env: slices.Clone(env)}
}

func (*CommandSubject) subject() {}

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
	// Credentials returns more headers for a request, such as a token for the resource that they go to.
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

func (*URLSubject) subject() {}

// FuncSubject is a server as a function. Make one with [InProcess].
type FuncSubject struct {
	// Serve is called for each conversation.
	Serve func(ctx context.Context, in io.Reader, out io.Writer) error
	// Grace is how long it may take to end after its input has ended. Zero means 5 s.
	Grace time.Duration
}

// InProcess returns the subject that calls serve, in a goroutine, for each
// conversation. Nothing is started and nothing listens.
func InProcess(serve func(ctx context.Context, in io.Reader, out io.Writer) error) Subject {
	return FuncSubject{Serve: serve}
}

func (FuncSubject) subject() {}
