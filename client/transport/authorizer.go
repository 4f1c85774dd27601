package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// Authorizer provides the credentials for requests of an [HTTP] or [SSE], and handles challenges
// of the server. Package auth has one for each flow of OAuth. An Authorizer may serve several
// servers at the same time, and is called from many goroutines.
type Authorizer interface {
	// Authorize returns the credentials of a caller, nil if there are none yet, and the
	// same pointer as long as they are the same. If it fails, the request is not sent.
	//
	// It is called once for each call, when the call starts, and the whole call uses the
	// result; see HeaderFunc of [HTTP], also for ctx. Each retry and each round of input
	// calls it once more. Requests that belong to no call, such as those of the handshake
	// and the opening of a stream, call it once each. It runs on the goroutine of the call or of the stream,
	// without a lock, and must return quickly: logging in is for Challenged.
	Authorize(ctx context.Context, request AuthorizedRequest) (*Credentials, error)
	// Challenged is called when the server answers a request with status 401 or 403.
	// It returns other credentials, with which the same request is sent again under the
	// same id; Authorize is not called for that. nil accepts the answer of the server.
	// It runs on a goroutine of its own, up to five times for one request. An error fails the
	// request, which the server has rejected. If the error, or one that it wraps, has the method
	// RetryAfter() time.Duration, the error of the call has its result. The idle timeout of the
	// call is paused while Challenged runs, for example because a person logs in.
	Challenged(ctx context.Context, c Challenge) (*Credentials, error)
}

// NonceKeeper is an [Authorizer] that uses the nonce in the header DPoP-Nonce of any answer of
// the server (RFC 9449 section 8.2). Challenges have it in their header.
type NonceKeeper interface {
	// KeepNonce is called once for each answer with a nonce, on a goroutine of its own. ctx is
	// the context of the request, with the values of its call.
	KeepNonce(ctx context.Context, request AuthorizedRequest, nonce string)
}

// AuthorizedRequest describes a request that needs credentials.
type AuthorizedRequest struct {
	Method string // HTTP method
	// Endpoint is the URL of the transport, and URL the URL of the request, which has the same
	// origin. Both have no user information and must not be changed.
	Endpoint, URL *url.URL
	// Background is set if no call waits for the request, as for a notification, a stream
	// of the server's own, or the end of a session. A person should not be asked to log in
	// for it.
	Background bool
}

// Credentials are headers for requests. They and the headers are immutable.
type Credentials struct {
	// Header is sent with the request: Authorization and related headers.
	Header http.Header
	// Scope identifies whose answers may be shared, without revealing the credentials: caches
	// keep the answers for different scopes apart. It stays the same when a token is renewed.
	Scope string
	// Once is set if the headers are valid for one request, for example a DPoP proof (RFC 9449
	// section 4.2). Authorize is then called for each request, each response to a request of the
	// server, and each cancellation.
	Once bool
}

// String hides the credentials.
func (c *Credentials) String() string { return "credentials" }

// Format writes String for every verb.
func (c *Credentials) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// add adds the credentials to the headers of a request.
func (c *Credentials) add(header http.Header) {
	for name, values := range c.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
}

// Challenge is an answer with status 401 or 403.
type Challenge struct {
	AuthorizedRequest
	// Sent are the credentials of the request, nil if it had none.
	Sent *Credentials
	// Status and Header are the server's answer.
	Status int
	Header http.Header
	// Tries is the number of earlier challenges of this request.
	Tries int
	// Call is the same for all challenges of one call: those of its request, its retries, and its
	// rounds of input.
	Call *ChallengedCall
}

// maxChallenges limits how often one request is sent again after a challenge: a renewed token, a
// new login, two more scopes, and a nonce.
const maxChallenges = 5

// AuthorizationError is the error of a request whose credentials could not be
// obtained.
type AuthorizationError struct{ Err error }

// Error returns the text of Err alone: text after "authorization:" would be redacted like that
// header.
func (e *AuthorizationError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *AuthorizationError) Unwrap() error { return e.Err }

// credentials asks the Authorizer for the credentials of a request, on this goroutine: usually
// the Authorizer only returns what it has. This is [callback.Run] without its allocations.
func (a *asker) credentials(ctx context.Context, r AuthorizedRequest) (own *Credentials, err error) {
	returned := false
	defer func() {
		if !returned {
			e := &callback.Error{Name: nameOfAuthorizer, Value: recover()}
			if e.Value != nil {
				e.Stack = debug.Stack()
			}
			own, err = nil, e
		}
	}()
	own, err = a.by.Authorize(ctx, r)
	returned = true
	return own, err
}

const nameOfAuthorizer = "HTTP.Authorizer"

// challenged passes a challenge to the Authorizer. It returns nil if the answer of the server is
// final.
func (a *asking) challenged(ctx context.Context, c Challenge) (own *Credentials, err error) {
	var broken *callback.Error
	callback.Aside(nameOfAuthorizer, func(e *callback.Error) { broken = e }, func() { own, err = a.by.Challenged(ctx, c) })
	if broken != nil {
		return nil, a.broke(broken)
	}
	return own, err
}

// keepNonce passes the nonce of an answer to a NonceKeeper.
func (a *asking) keepNonce(ctx context.Context, r AuthorizedRequest, h http.Header) {
	if a.by == nil {
		return
	}
	nonce := h.Get("DPoP-Nonce")
	if nonce == "" {
		return // the usual case
	}
	if keeper, wants := a.by.(NonceKeeper); wants {
		callback.Aside(nameOfAuthorizer, func(e *callback.Error) { _ = a.broke(e) }, func() { keeper.KeepNonce(ctx, r, nonce) })
	}
}

func (a *asking) broke(broken *callback.Error) error {
	if a.failed != nil {
		a.failed(broken)
	}
	return broken
}

// authorizationFailure completes the failure of a request without credentials.
func authorizationFailure(ctx context.Context, err error, f *Failure) *Failure {
	var broken *callback.Error
	switch {
	case errors.As(err, &broken):
		f.Reason, f.Err = ReasonCallback, err
	case ctx.Err() != nil:
		ended := askingEnded(ctx)
		f.Reason, f.Err = ended.Reason, ended.Err
	default:
		f.Reason, f.Err = ReasonAuthorization, &AuthorizationError{err}
	}
	return f
}

// authorize sends a request with its caller's credentials, and sends it again with other
// credentials as long as the Authorizer handles challenges. The error is that of the HTTP layer,
// or a [*Failure].
func (x *exchange) authorize(ctx context.Context, verb string, target *url.URL) (*http.Response, error) {
	a := x.c.asking
	if a == nil {
		return x.roundTrip(ctx, verb, target, nil)
	}
	request := AuthorizedRequest{Method: verb, Endpoint: a.at, URL: target, Background: x.background}
	for tries := 0; ; tries++ {
		if x.who == nil || tries == 0 && !x.who.serves(verb, target == a.at) {
			x.who = x.ask(request)
			x.who.take()
		}
		who := x.who
		if err := a.use(x.ctx, who); err != nil {
			return nil, err
		}
		resp, err := x.roundTrip(ctx, verb, target, who)
		if err != nil {
			return nil, err
		}
		if a.by == nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden || tries == maxChallenges {
			a.keepNonce(x.ctx, request, resp.Header)
			return resp, nil
		}
		x.resp = resp
		if _, result := x.holdsAnswer(resp, verb); result {
			return resp, nil // the request has run
		}
		if x.challenged == nil {
			x.challenged = &ChallengedCall{}
		}
		x.pauseTimers()
		own, err := a.challenged(x.ctx, Challenge{
			AuthorizedRequest: request, Sent: who.own, Status: resp.StatusCode, Header: resp.Header, Tries: tries, Call: x.challenged,
		})
		x.resumeTimers()
		if err != nil {
			return nil, authorizationFailure(x.ctx, err, &Failure{Rejected: true, HTTP: x.evidence(nil)})
		}
		if own == nil {
			return resp, nil
		}
		x.who = a.renewed(x.ctx, who, own)
		_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
		_ = resp.Body.Close()
		x.resp = nil
		if verb == http.MethodPost {
			x.body.rejected()
		}
	}
}

// ask asks the application for the credentials of a request. That counts as time of the call, but
// not of the server: the idle timeout is paused.
func (x *exchange) ask(r AuthorizedRequest) *Caller {
	if x.wait.Max == 0 { // a stream, or a call without a maximum
		x.pauseTimers()
		defer x.resumeTimers()
		return x.c.asking.ask(x.ctx, r)
	}
	x.paused.Store(true)
	x.c.paused.Add(1)
	defer func() {
		x.touch() // the server was not silent: it had no request
		x.paused.Store(false)
		x.c.paused.Add(-1)
	}()
	return x.c.asking.ask(x.ctx, r)
}

// pauseTimers pauses the timers of the exchange until resumeTimers: the time of a person's login
// does not count as the server's.
func (x *exchange) pauseTimers() {
	x.pausedSince.Store(int64(time.Since(x.began)) + 1) // 0 means not paused
	x.c.paused.Add(1)
}

func (x *exchange) resumeTimers() {
	now := int64(time.Since(x.began))
	// In this order: in between, the elapsed time is too short, never too long.
	stood := x.pausedFor.Add(now + 1 - x.pausedSince.Load())
	x.pausedSince.Store(0)
	x.seen.Store(now - stood) // the idle timeout restarts
	x.c.paused.Add(-1)
}

// passed returns how long the exchange has run, without pauses.
func (x *exchange) passed() time.Duration {
	passed := time.Since(x.began)
	if since := x.pausedSince.Load(); since > 0 {
		passed = time.Duration(since) - 1
	}
	return passed - time.Duration(x.pausedFor.Load())
}
