package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Caller identifies the caller of a call, and holds the headers and credentials of its first
// request. The client asks the transport for it once, when the call starts, and passes it on in
// [Request.Caller]. It is immutable.
//
// If you write a transport whose credentials depend on the context of a call, return a
// Caller with a Name. The connection may ignore [Request.Caller].
type Caller struct {
	// Name distinguishes callers without revealing their credentials.
	Name string
	// Err is the error of requests whose credentials are unknown, nil if they are known.
	Err error

	from    *Caller      // whose credentials the server refused; nil for none
	headers http.Header  // from HeaderFunc
	own     *Credentials // from the Authorizer
	// asked is when headers, or credentials for one request, were requested. taken is set once a
	// request has used the credentials, or has reported Err.
	asked time.Time
	taken atomic.Bool
}

// headersAge is the maximum age of headers that are sent again: tokens expire, and HeaderFunc
// does not learn of refusals.
const headersAge = 10 * time.Second

// proofAge is the maximum age of credentials for one request when it is sent: servers refuse old
// proofs (RFC 9449 section 11.1), and a call may wait for its turn.
const proofAge = 10 * time.Second

// asker asks the application for the headers and credentials of requests.
type asker struct {
	headers func(context.Context) (http.Header, error) // HeaderFunc; nil for none
	by      Authorizer                                 // nil for none
	at      *url.URL                                   // URL of the transport
	// last is the last result that several callers can share, to allocate it once.
	last atomic.Pointer[Caller]
}

// ask returns the headers and credentials of a request.
func (a *asker) ask(ctx context.Context, r AuthorizedRequest) *Caller {
	headers, err := a.headersNow(ctx)
	if err != nil {
		return &Caller{Err: headersFailure(ctx, err)}
	}
	var own *Credentials
	if a.by != nil {
		if own, err = a.credentials(ctx, r); err != nil {
			return &Caller{Err: authorizationFailure(ctx, err, &Failure{NotSent: true})}
		}
	}
	return a.answer(headers, own)
}

// renewed is ask after the Authorizer has answered a challenge for before with own.
func (a *asker) renewed(ctx context.Context, before *Caller, own *Credentials) *Caller {
	headers, err := a.headersNow(ctx)
	if err != nil {
		return &Caller{Err: headersFailure(ctx, err)}
	}
	who := a.newCaller(headers, own)
	who.from = cmp.Or(before.from, before)
	who.take()
	return who
}

// Renews reports whether c replaces before with other credentials, because the server refused the
// credentials of before.
func (c *Caller) Renews(before *Caller) bool {
	return c != nil && c.from != nil && (c.from == before || before != nil && c.from == before.from)
}

func (a *asker) headersNow(ctx context.Context) (http.Header, error) {
	if a.headers == nil {
		return nil, nil
	}
	return headersFor(ctx, a.headers)
}

// answer returns a Caller with the application's headers and credentials.
func (a *asker) answer(headers http.Header, own *Credentials) *Caller {
	shared := headers == nil && (own == nil || !own.Once)
	if last := a.last.Load(); shared && last != nil && last.own == own {
		return last
	}
	who := a.newCaller(headers, own)
	if shared {
		a.last.Store(who)
	}
	return who
}

func (a *asker) newCaller(headers http.Header, own *Credentials) *Caller {
	who := &Caller{headers: headers, own: own}
	if a.headers != nil {
		who.Name, who.asked = digestOf(headers), time.Now()
	}
	if own != nil {
		who.Name += own.Scope
		if own.Once {
			who.asked = time.Now()
		}
	}
	return who
}

// serves reports whether earlier headers and credentials are valid for a request. at is set if it
// goes to the URL of the transport.
func (c *Caller) serves(verb string, at bool) bool {
	if c.own == nil || !c.own.Once {
		return true
	}
	return verb == http.MethodPost && at && time.Since(c.asked) < proofAge && c.taken.CompareAndSwap(false, true)
}

// lasts reports whether other messages of the call can use the credentials of c.
func (c *Caller) lasts() bool {
	return c != nil && c.Err == nil && (c.own == nil || !c.own.Once) && (c.asked.IsZero() || time.Since(c.asked) < headersAge)
}

// take records that a request uses the credentials.
func (c *Caller) take() {
	if c.own != nil && c.own.Once {
		c.taken.Store(true)
	}
}

// add adds the caller's headers and credentials to the headers of a request.
func (c *Caller) add(header http.Header) {
	if c.own != nil {
		c.own.add(header)
	}
	for name, values := range c.headers {
		header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
}

// carriesNothing reports whether add would add nothing.
func (c *Caller) carriesNothing() bool { return c == nil || c.own == nil && len(c.headers) == 0 }

// Callers returns a function that calls HeaderFunc and the Authorizer, once each, for a call. It
// is nil without both.
func (h *HTTP) Callers() func(ctx context.Context) *Caller {
	return callers(h.HeaderFunc, h.Authorizer, h.URL)
}

// Callers is the same as [HTTP.Callers].
func (s *SSE) Callers() func(ctx context.Context) *Caller {
	return callers(s.HeaderFunc, s.Authorizer, s.URL)
}

func callers(headers func(context.Context) (http.Header, error), by Authorizer, endpoint string) func(context.Context) *Caller {
	if headers == nil && by == nil {
		return nil
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		broken := &Caller{Err: optionError("the URL cannot be read")}
		return func(context.Context) *Caller { return broken }
	}
	u.User = nil
	a := &asker{headers: headers, by: by, at: u}
	request := AuthorizedRequest{Method: http.MethodPost, Endpoint: u, URL: u}
	return func(ctx context.Context) *Caller { return a.ask(ctx, request) }
}

// asking provides the headers and credentials of a connection's requests.
type asking struct {
	asker
	failed func(*callback.Error)
	sent   sentSecrets
	noted  atomic.Pointer[Credentials] // whose secrets were recorded last
}

// use prepares a request of a caller. It returns a failure if the request cannot be sent. It also
// reports panics of the application.
func (a *asking) use(ctx context.Context, who *Caller) error {
	if who.Err != nil {
		var broken *callback.Error
		if errors.As(who.Err, &broken) && who.taken.CompareAndSwap(false, true) {
			_ = a.broke(broken) // once, even if several requests fail
		}
		return failureOf(who.Err)
	}
	if own := who.own; own != nil && a.noted.Load() != own {
		if err := checkHeader(own.Header); err != nil {
			return authorizationFailure(ctx, err, &Failure{NotSent: true})
		}
		a.noted.Store(own)
		a.sent.note(own.Header)
	}
	if len(who.headers) > 0 {
		if err := checkHeader(who.headers); err != nil {
			return headersFailure(ctx, err)
		}
		a.sent.note(who.headers)
	}
	return nil
}

// failureOf returns a copy of the failure in the error of a Caller, which several requests share.
func failureOf(err error) *Failure {
	var f *Failure
	if !errors.As(err, &f) {
		return &Failure{Reason: ReasonAuthorization, NotSent: true, Err: &AuthorizationError{err}}
	}
	own := *f
	return &own
}

// headersFailure returns the failure of a request whose HeaderFunc failed.
func headersFailure(ctx context.Context, err error) *Failure {
	reason := ReasonOption
	if _, broken := err.(*callback.Error); broken { //nolint:errorlint // our own, never wrapped
		reason = ReasonCallback
	} else if ctx.Err() != nil {
		return askingEnded(ctx)
	}
	return &Failure{Reason: reason, NotSent: true, Err: fmt.Errorf("the headers of the request are not available: %w", err)}
}

// askingEnded returns the failure of a request that ended while the application was asked for
// credentials. The server did not cause the timeout, so it counts as a cancellation.
func askingEnded(ctx context.Context) *Failure {
	f := &Failure{Reason: ReasonCanceled, NotSent: true, Err: endOf(ctx)}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, jsonrpc.ErrClosed):
		f.Reason, f.Err = ReasonClosed, cause
	case errors.Is(cause, errStreamEnded):
		f.Reason, f.Err = ReasonLost, cause
	}
	return f
}
