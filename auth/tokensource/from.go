package tokensource

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
	"github.com/mainstay-mcp/mainstay/auth/internal/loopback"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// patience bounds the wait for a TokenSource, which has no context.
const patience = 30 * time.Second

// From returns an Authorizer that sends the tokens of a TokenSource. A token is used until
// shortly before it expires. Then ts is called again, and also once for a request that the
// server refuses with 401. Concurrent calls share one call of ts.
//
// ts runs on a goroutine of its own. A call waits up to 30 seconds for it, and not after its
// context ends. If ts never returns, its goroutine stays, and later calls wait for the same
// answer.
//
// All requests share one cache scope, whatever the token: use one Authorizer for each user.
// Tokens must be of type Bearer. Without TLS they are only sent to this machine.
func From(ts oauth2.TokenSource) *Authorizer {
	return &Authorizer{source: ts, scope: "oauth2 " + rand.Text()}
}

// Authorizer is what [From] returns. Pass it to client.WithAuthorizer. Its errors are an
// [*auth.Error].
type Authorizer struct {
	source oauth2.TokenSource
	scope  string // for caches, see [transport.Credentials]
	now    atomic.Pointer[given]

	mu     sync.Mutex
	asking *question // nil while no call of the source runs
}

// given is a token of the source and the credentials of its requests.
type given struct {
	token *oauth2.Token
	sent  *transport.Credentials
}

// question is a call of the source. Several requests may wait for it.
type question struct {
	done  chan struct{} // closed when the other fields are set
	given *given
	err   error
}

// String hides the tokens.
func (a *Authorizer) String() string { return "an Authorizer" }

// Format writes String for every verb.
func (a *Authorizer) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(a.String())) }

// Authorize implements [transport.Authorizer].
func (a *Authorizer) Authorize(ctx context.Context, r transport.AuthorizedRequest) (*transport.Credentials, error) {
	if r.Endpoint.Scheme != "https" && !loopback.IsLoopback(r.Endpoint.Hostname()) {
		return nil, &auth.Error{Reason: auth.ReasonOption, Server: shown(r.Endpoint), Err: errors.New("tokens are not sent without TLS"), Help: "use https"}
	}
	if g := a.now.Load(); g != nil && g.token.Valid() {
		return g.sent, nil
	}
	g, err := a.ask(ctx)
	if err != nil {
		return nil, explained(ctx, err, r.Endpoint)
	}
	return g.sent, nil
}

// Challenged implements [transport.Authorizer].
func (a *Authorizer) Challenged(ctx context.Context, c transport.Challenge) (*transport.Credentials, error) {
	if c.Status != http.StatusUnauthorized || c.Tries > 0 {
		return nil, nil
	}
	if g := a.now.Load(); g != nil && g.sent != c.Sent && g.token.Valid() {
		return g.sent, nil // another request has renewed it
	}
	g, err := a.ask(ctx)
	if err != nil {
		return nil, explained(ctx, err, c.Endpoint)
	}
	if g.sent == c.Sent {
		return nil, nil
	}
	return g.sent, nil
}

// ask returns a token of the source. Concurrent calls share one call of the source.
func (a *Authorizer) ask(ctx context.Context) (*given, error) {
	if a.source == nil {
		return nil, errors.New("the token source is missing")
	}
	a.mu.Lock()
	q := a.asking
	if q == nil {
		q = &question{done: make(chan struct{})}
		a.asking = q
		go a.answer(q)
	}
	a.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-q.done:
		return q.given, q.err
	case <-timer.C:
		return nil, fmt.Errorf("the token source did not return within %v", patience)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// answer calls the source, which may panic or end the goroutine.
func (a *Authorizer) answer(q *question) {
	defer func() {
		a.mu.Lock()
		a.asking = nil
		a.mu.Unlock()
		close(q.done)
	}()
	callback.Run("TokenSource", func(e *callback.Error) { q.err = e }, func() {
		token, err := a.source.Token()
		if err == nil {
			err = check(token)
		}
		if q.err = err; err == nil {
			q.given = a.keep(token)
		}
	})
}

// keep sets the token of later requests.
func (a *Authorizer) keep(token *oauth2.Token) *given {
	sent := &transport.Credentials{Header: http.Header{"Authorization": {"Bearer " + token.AccessToken}}, Scope: a.scope}
	if last := a.now.Load(); last != nil && last.token.AccessToken == token.AccessToken {
		sent = last.sent
	}
	g := &given{token, sent}
	a.now.Store(g)
	return g
}

// check refuses a token that no server would accept.
func check(t *oauth2.Token) error {
	switch {
	case t == nil || t.AccessToken == "":
		return errors.New("the token source returned no token")
	case t.Type() != "Bearer":
		return fmt.Errorf("the token source returned a token of the type %q, and only Bearer tokens can be sent", fetch.Printable(t.Type()))
	case !t.Expiry.IsZero() && !time.Now().Before(t.Expiry):
		return errors.New("the token source returned a token that has expired")
	}
	return nil
}

func shown(u *url.URL) string { return fetch.Show(u.String()) }
