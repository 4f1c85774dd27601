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

// Caller identifies who makes a call, and holds the headers and credentials of its first
// request. The client asks the transport for it once, when the call starts, and passes it
// on in [Request.Caller]. It is immutable.
//
// If you write a transport whose credentials depend on the context of a call, return a
// Caller with a Name. The connection may ignore [Request.Caller].
type Caller struct {
	// Name tells callers apart without revealing their credentials.
	Name string
	// Err is the error of requests whose credentials are unknown, nil if they are known.
	Err error

	from    *Caller      // whose credentials the server refused; nil for none
	headers http.Header  // of HeaderFunc
	own     *Credentials // of the Authorizer
	// asked is when headers, or credentials for one request, were asked for. taken says
	// that a request has the credentials, or that a request has reported Err.
	asked time.Time
	taken atomic.Bool
}

// headersAge is how old headers may be when they are sent again: tokens expire, and
// HeaderFunc does not learn of refusals.
const headersAge = 10 * time.Second

// proofAge is how old credentials for one request may be when it is sent: servers
// refuse old proofs (RFC 9449 section 11.1), and a call may wait for its turn.
const proofAge = 10 * time.Second

// asker asks the functions of an application what requests carry.
type asker struct {
	headers func(context.Context) (http.Header, error) // HeaderFunc, nil for none
	by      Authorizer                                 // nil for none
	at      *url.URL                                   // of the transport
	// last is the last answer that can serve several callers, so that it is made once.
	last atomic.Pointer[Caller]
}

// ask asks for what a request carries.
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

// renewed is ask after the Authorizer has answered a challenge of a request of before
// with own.
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

// Renews reports whether c is before with other credentials, since the server refused
// those of before.
func (c *Caller) Renews(before *Caller) bool {
	return c != nil && c.from != nil && (c.from == before || before != nil && c.from == before.from)
}

func (a *asker) headersNow(ctx context.Context) (http.Header, error) {
	if a.headers == nil {
		return nil, nil
	}
	return headersFor(ctx, a.headers)
}

// answer makes a Caller of what the application said.
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

// serves reports whether a request can be sent with what was asked for before. at is
// whether it goes to the URL of the transport.
func (c *Caller) serves(verb string, at bool) bool {
	if c.own == nil || !c.own.Once {
		return true
	}
	return verb == http.MethodPost && at && time.Since(c.asked) < proofAge && c.taken.CompareAndSwap(false, true)
}

// lasts reports whether messages that belong to the call of c can be sent with what was
// asked for the call.
func (c *Caller) lasts() bool {
	return c != nil && c.Err == nil && (c.own == nil || !c.own.Once) && (c.asked.IsZero() || time.Since(c.asked) < headersAge)
}

// take notes that a request has what was asked for.
func (c *Caller) take() {
	if c.own != nil && c.own.Once {
		c.taken.Store(true)
	}
}

// add puts what the caller's requests carry into the headers of one.
func (c *Caller) add(header http.Header) {
	if c.own != nil {
		c.own.add(header)
	}
	for name, values := range c.headers {
		header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
}

// carriesNothing reports that the headers of a request stay as they are.
func (c *Caller) carriesNothing() bool { return c == nil || c.own == nil && len(c.headers) == 0 }

// Callers returns a function that asks HeaderFunc and the Authorizer, once each, for a
// call. It is nil without both.
func (h *HTTP) Callers() func(ctx context.Context) *Caller {
	return callers(h.HeaderFunc, h.Authorizer, h.URL)
}

// Callers is that of [HTTP].
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

// asking is how a connection gets what its requests carry.
type asking struct {
	asker
	failed func(*callback.Error)
	sent   sentSecrets
	noted  atomic.Pointer[Credentials] // whose secrets were noted last
}

// use prepares a request of a caller: it returns the failure of one that cannot be sent.
// What the application did wrong is reported here, wherever it was asked.
func (a *asking) use(ctx context.Context, who *Caller) error {
	if who.Err != nil {
		var broken *callback.Error
		if errors.As(who.Err, &broken) && who.taken.CompareAndSwap(false, true) {
			_ = a.broke(broken) // once, however many requests it fails
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

// failureOf returns a copy of the failure in the error of a Caller, which several
// requests share.
func failureOf(err error) *Failure {
	var f *Failure
	if !errors.As(err, &f) {
		return &Failure{Reason: ReasonAuthorization, NotSent: true, Err: &AuthorizationError{err}}
	}
	own := *f
	return &own
}

// headersFailure is the failure of a request whose headers the application could not give.
func headersFailure(ctx context.Context, err error) *Failure {
	reason := ReasonOption
	if _, broken := err.(*callback.Error); broken { //nolint:errorlint // ours, never wrapped
		reason = ReasonCallback
	} else if ctx.Err() != nil {
		return askingEnded(ctx)
	}
	return &Failure{Reason: reason, NotSent: true, Err: fmt.Errorf("the headers of the request are not available: %w", err)}
}

// askingEnded is the failure of a request that ended while the application was asked what
// it carries. A timeout is none of the server, so it counts as the caller's.
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
