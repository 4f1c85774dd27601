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

// Authorizer gives the requests of an [HTTP] or [SSE] their credentials and answers
// the server when it wants others. Package auth has one for each flow of OAuth. An
// Authorizer may serve several servers at the same time, and is called from many
// goroutines.
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
	// It runs on a goroutine of its own, up to five times for one request.
	// An error fails the request, which the server has rejected. If the error, or one below
	// it, has the method RetryAfter() time.Duration, the error of the call has its result. The idle timeout of the
	// call is paused while Challenged runs, for example because a person logs in.
	Challenged(ctx context.Context, c Challenge) (*Credentials, error)
}

// NonceKeeper is an [Authorizer] that wants the nonce in the header DPoP-Nonce of any
// answer of the server (RFC 9449 section 8.2). Answers that are challenges have it in
// their header.
type NonceKeeper interface {
	// KeepNonce is called once for each answer with a nonce, on a goroutine of its own.
	// ctx is that of the request, with the values of its call.
	KeepNonce(ctx context.Context, request AuthorizedRequest, nonce string)
}

// AuthorizedRequest is what an [Authorizer] learns of a request.
type AuthorizedRequest struct {
	Method string // of HTTP
	// Endpoint is the URL of the transport, and URL that of the request, which has the
	// same origin. Both are without user and not to be changed.
	Endpoint, URL *url.URL
	// Background is set if no call waits for the request, as for a notification, a stream
	// of the server's own, or the end of a session. A person should not be asked to log in
	// for it.
	Background bool
}

// Credentials are headers for requests. Neither they nor the headers change.
type Credentials struct {
	// Header is sent with the request: Authorization, and what belongs to it.
	Header http.Header
	// Scope tells, without revealing the credentials, whose answers may be shared:
	// caches keep the answers for different scopes apart. It stays the same when a
	// token is renewed.
	Scope string
	// Once is set if the headers are valid for one request, for example a DPoP proof
	// (RFC 9449 section 4.2). Authorize is then called for each request, for each answer
	// to a question of the server and for each cancellation.
	Once bool
}

// String hides the credentials.
func (c *Credentials) String() string { return "credentials" }

// Format writes String for every verb.
func (c *Credentials) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// add puts the credentials into the headers of a request.
func (c *Credentials) add(header http.Header) {
	for name, values := range c.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
}

// Challenge is an answer of status 401 or 403.
type Challenge struct {
	AuthorizedRequest
	// Sent are the credentials that the request carried, nil if it had none.
	Sent *Credentials
	// Status and Header are the server's answer.
	Status int
	Header http.Header
	// Tries is how often this request was sent again for a challenge.
	Tries int
	// Call is the same for all challenges of one call: those of its request, of its
	// retries, and of what follows a question of the server.
	Call *ChallengedCall
}

// maxChallenges bounds how often one request is sent again for a challenge, whatever
// the Authorizer says: a renewed token, a new login, two more scopes, and a nonce.
const maxChallenges = 5

// AuthorizationError is the error of a request whose credentials could not be
// obtained.
type AuthorizationError struct{ Err error }

// Error returns the text of Err alone: "authorization: …" would be hidden as the header
// of that name.
func (e *AuthorizationError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *AuthorizationError) Unwrap() error { return e.Err }

// credentials asks the Authorizer for the credentials of a request. It runs on this
// goroutine, as a RoundTripper does: mostly it only says what it has. It may panic; this
// is [callback.Run] without its allocations.
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

// challenged tells the Authorizer of a challenge. It returns nil if the answer of the
// server stands.
func (a *asking) challenged(ctx context.Context, c Challenge) (own *Credentials, err error) {
	var broken *callback.Error
	callback.Aside(nameOfAuthorizer, func(e *callback.Error) { broken = e }, func() { own, err = a.by.Challenged(ctx, c) })
	if broken != nil {
		return nil, a.broke(broken)
	}
	return own, err
}

// keepNonce tells an Authorizer that wants it the nonce of an answer.
func (a *asking) keepNonce(ctx context.Context, r AuthorizedRequest, h http.Header) {
	if a.by == nil {
		return
	}
	nonce := h.Get("DPoP-Nonce")
	if nonce == "" {
		return // as nearly every answer
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

// authorize sends a request with what its caller's requests carry, and again with other
// credentials as long as the Authorizer has an answer to the server's challenge. The
// error is that of the HTTP layer, or a [*Failure].
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
			return resp, nil // it has run
		}
		if x.challenged == nil {
			x.challenged = &ChallengedCall{}
		}
		x.stand()
		own, err := a.challenged(x.ctx, Challenge{
			AuthorizedRequest: request, Sent: who.own, Status: resp.StatusCode, Header: resp.Header, Tries: tries, Call: x.challenged,
		})
		x.goOn()
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

// ask asks for what a request carries. It takes time of the call, but no time of the
// server: the idle timeout is paused.
func (x *exchange) ask(r AuthorizedRequest) *Caller {
	if x.wait.Max == 0 { // of a stream, or of a caller who waits
		x.stand()
		defer x.goOn()
		return x.c.asking.ask(x.ctx, r)
	}
	x.paused.Store(true)
	x.c.paused.Add(1)
	defer func() {
		x.touch() // the server was not silent: it was not asked yet
		x.paused.Store(false)
		x.c.paused.Add(-1)
	}()
	return x.c.asking.ask(x.ctx, r)
}

// stand stops the clocks of the exchange until goOn: the time in which a person logs
// in is not the server's.
func (x *exchange) stand() {
	x.standing.Store(int64(time.Since(x.began)) + 1) // 0 is no stand
	x.c.paused.Add(1)
}

func (x *exchange) goOn() {
	now := int64(time.Since(x.began))
	// In this order: in between, less time seems to have passed, and never more.
	stood := x.stood.Add(now + 1 - x.standing.Load())
	x.standing.Store(0)
	x.seen.Store(now - stood) // the wait starts again; nothing came
	x.c.paused.Add(-1)
}

// passed is how long the exchange has run, without what it stood still for.
func (x *exchange) passed() time.Duration {
	passed := time.Since(x.began)
	if since := x.standing.Load(); since > 0 {
		passed = time.Duration(since) - 1
	}
	return passed - time.Duration(x.stood.Load())
}
