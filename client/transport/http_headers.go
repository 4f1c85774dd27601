package transport

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
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

// Callers returns a function that names who makes a call, by the headers from
// HeaderFunc and the credentials of the Authorizer. It is nil without both.
func (h *HTTP) Callers() func(ctx context.Context) (caller string, err error) {
	return callers(h.HeaderFunc, h.Authorizer, h.URL)
}

// Callers is that of [HTTP].
func (s *SSE) Callers() func(ctx context.Context) (caller string, err error) {
	return callers(s.HeaderFunc, s.Authorizer, s.URL)
}

func callers(headers func(context.Context) (http.Header, error), by Authorizer, endpoint string) func(context.Context) (string, error) {
	if headers == nil && by == nil {
		return nil
	}
	var request AuthorizedRequest
	u, broken := url.Parse(endpoint)
	if broken == nil {
		u.User = nil
		request = AuthorizedRequest{Method: http.MethodPost, Endpoint: u, URL: u}
	}
	asked := authorized{by: by}
	return func(ctx context.Context) (caller string, err error) {
		if headers != nil {
			header, err := headersFor(ctx, headers, nil) // the request tells of its failure
			if err != nil {
				return "", err
			}
			caller = digestOf(header)
		}
		if by == nil || broken != nil {
			return caller, broken
		}
		own, err := asked.credentials(ctx, request)
		if err != nil || own == nil {
			return caller, err
		}
		return caller + own.Scope, nil
	}
}
