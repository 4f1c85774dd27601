package transport

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// headerTripper adds to every request what a function of its context says. What
// is below it, the shared pool too, knows nothing of that.
type headerTripper struct {
	next    http.RoundTripper
	headers func(context.Context) (http.Header, error)
	failed  func(*callback.Error)
	sent    sentSecrets
}

// RoundTrip implements [http.RoundTripper].
func (t *headerTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	own, err := headersFor(req.Context(), t.headers, t.failed)
	if err == nil {
		err = checkHeader(own)
	}
	if err != nil {
		reason := ReasonOption
		if _, broken := err.(*callback.Error); broken { //nolint:errorlint // ours, as it came
			reason = ReasonCallback
		}
		return nil, &Failure{Reason: reason, NotSent: true, Err: fmt.Errorf("the headers of the request are not available: %w", err)}
	}
	if len(own) > 0 {
		t.sent.note(own)
		req = req.WithContext(req.Context()) // a copy
		req.Header = maps.Clone(req.Header)
		for name, values := range own {
			req.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
	}
	return t.next.RoundTrip(req)
}

// headersFor calls a function of the application, on a goroutine of its own: others
// may wait for this one.
func headersFor(ctx context.Context, f func(context.Context) (http.Header, error), failed func(*callback.Error)) (header http.Header, err error) {
	callback.Aside("HTTP.HeaderFunc", func(e *callback.Error) {
		if err = e; failed != nil {
			failed(e)
		}
	}, func() { header, err = f(ctx) })
	return header, err
}

// checkHeader refuses headers that belong to the protocol or cannot be sent.
func checkHeader(header http.Header) error {
	for name, values := range header {
		if reserved(name) {
			return optionError("the header %s belongs to the protocol and cannot be set", name)
		}
		if name == "" || strings.ContainsAny(name, " :\t\r\n\x00") || slices.ContainsFunc(values, breaksHeader) {
			return optionError("the header %q has a name or value that cannot be sent", name)
		}
	}
	return nil
}

// CallerIn returns a digest of the headers from
// HeaderFunc.
func (h *HTTP) CallerIn(ctx context.Context) (caller string, differs bool, err error) {
	return callerIn(ctx, h.HeaderFunc)
}

// CallerIn returns a digest of the headers from HeaderFunc; see [HTTP.CallerIn].
func (s *SSE) CallerIn(ctx context.Context) (caller string, differs bool, err error) {
	return callerIn(ctx, s.HeaderFunc)
}

func callerIn(ctx context.Context, headers func(context.Context) (http.Header, error)) (caller string, differs bool, err error) {
	if headers == nil {
		return "", false, nil
	}
	header, err := headersFor(ctx, headers, nil) // the request tells of its failure
	if err != nil {
		return "", true, err
	}
	return digestOf(header), true, nil
}
