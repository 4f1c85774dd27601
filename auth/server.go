package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/challenge"
	"github.com/mainstay-mcp/mainstay/auth/internal/discover"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// server is one MCP server: what is known of its authorization, and the credentials
// that requests carry now.
type server struct {
	a        *Authorizer
	endpoint *url.URL

	now atomic.Pointer[held]

	// Who holds the turn may change now, and what follows.
	turn    chan struct{}
	loaded  bool // the store was asked
	site    *site
	refused time.Time      // when the server refused a token that was new
	raised  map[string]int // logins for more scopes, by the scopes that were missing
}

// memory is how long a refusal is remembered: whoever asks again within it gets the
// same answer, not another login.
const memory = time.Minute

// maxRaises bounds logins for the same missing scopes.
const maxRaises = 2

// enter waits for the turn.
func (s *server) enter(ctx context.Context) (leave func(), err error) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// current returns credentials that have not expired, nil if only a challenge of the
// server can lead to some.
func (s *server) current(ctx context.Context) (*held, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if !s.loaded {
		h, err := s.load(ctx)
		if err != nil {
			return nil, because(ReasonStore, "", err)
		}
		s.loaded = true
		s.now.Store(h)
	}
	h := s.now.Load()
	switch {
	case h == nil, h.usable(time.Now()):
		return h, nil
	case h.record.Token.Refresh != "":
		return s.refreshed(ctx, h)
	case s.site != nil && !s.a.grant.person():
		return s.obtained(ctx, s.site, h.record.Scopes)
	default:
		return nil, nil // the server says what it wants now
	}
}

// challenged answers a challenge of the server.
func (s *server) challenged(ctx context.Context, c transport.Challenge) (again bool, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	asked, _ := challenge.Of(c.Header)
	h := s.now.Load()
	if h != nil && h.prover != nil {
		fresh := h.prover.SetNonce(shown(c.URL), c.Header.Get("DPoP-Nonce"))
		if asked.Get("error") == "use_dpop_nonce" {
			return fresh, nil
		}
	}
	switch {
	case h != nil && !h.sentAs(c.Sent):
		return true, nil // somebody else has renewed it meanwhile
	case wantsScope(c.Status, asked):
		return s.raise(ctx, h, asked)
	case c.Status != http.StatusUnauthorized:
		return false, nil
	case time.Since(s.refused) < memory:
		return false, s.refusedAgain(h)
	case h != nil && h.record.Token.Refresh != "" && !h.renewed:
		if h, err = s.refreshed(ctx, h); err != nil {
			return false, err
		}
		if h != nil {
			return true, nil
		}
	case h != nil && h.obtained && c.Tries > 0:
		s.refused = time.Now()
		return false, s.refusedAgain(h)
	}
	var before []string
	if h != nil {
		before = h.record.Scopes
	}
	return s.login(ctx, asked, before)
}

// unwrapped is the cause in an error of this package.
func unwrapped(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err
	}
	return err
}

func (s *server) refusedAgain(h *held) error {
	e := &Error{Reason: ReasonRefused, Err: errors.New("the server refuses the token that was issued for it"), Help: "the server and its authorization server do not agree; the log of the server says why"}
	if h != nil {
		e.Issuer = h.key.Issuer
	}
	return e
}

// login obtains a token for what a challenge asks for.
func (s *server) login(ctx context.Context, asked challenge.Challenge, before []string) (again bool, err error) {
	if s.a.cfg.noLogin {
		return false, because(ReasonLogin, "", ErrNotLoggedIn)
	}
	found, err := s.find(ctx, asked)
	if err != nil {
		return false, err
	}
	defer found.http.CloseIdle()
	_, err = s.obtained(ctx, found, found.scopesFor(asked, before, s.a.grant.person()))
	if err != nil && found.server.Assumed {
		err = because(ReasonDiscovery, "it may want a key that its operator gives out, as a header", fmt.Errorf("the server names no authorization server, and has none at %s: %w", found.server.Issuer, unwrapped(err)))
	}
	return err == nil, err
}

// raise obtains a token with more scopes, the old ones included. For the same missing
// scopes that happens a few times at most, however many requests need them.
func (s *server) raise(ctx context.Context, h *held, asked challenge.Challenge) (again bool, err error) {
	missing := strings.Fields(asked.Get("scope"))
	slices.Sort(missing)
	name := strings.Join(missing, " ")
	if s.raised[name] >= maxRaises || (len(s.raised) >= 64 && s.raised[name] == 0) {
		return false, &Error{
			Reason: ReasonScope, Err: errors.New("the server wants the scopes " + strconv.Quote(name) + ", and refuses tokens that were asked for with them"),
			Help: "ask for access at the authorization server",
		}
	}
	if s.raised == nil {
		s.raised = map[string]int{}
	}
	s.raised[name]++
	var before []string
	if h != nil {
		before = h.record.Scopes
	}
	return s.login(ctx, asked, before)
}

// obtained obtains a token and keeps it.
func (s *server) obtained(ctx context.Context, found *site, scopes []string) (*held, error) {
	h, err := s.a.grant.obtain(ctx, found, scopes)
	if err != nil {
		var e *Error
		if errors.As(err, &e) && e.Issuer == "" {
			e.Issuer = found.server.Issuer
		}
		return nil, err
	}
	h.key.Issuer, h.key.Resource, h.key.Principal = found.server.Issuer, found.id(), s.a.cfg.principal
	h.obtained = true
	h.complete(found, scopes)
	if err := s.keep(ctx, h); err != nil {
		return nil, because(ReasonStore, "", err)
	}
	s.site = found
	s.now.Store(h)
	return h, nil
}

// explain adds to an error which server it is about.
func (s *server) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	err = because(ReasonToken, "", err)
	var e *Error
	if errors.As(err, &e) && e.Server == "" {
		e.Server = shown(s.endpoint)
	}
	return err
}

// traced passes on the steps of discovery.
func (c *config) traced() func(discover.Step) {
	if c.onStep == nil {
		return nil
	}
	return func(s discover.Step) { c.onStep(Step(s)) }
}

// Step is one document that was fetched, or one rule that was checked, before a login.
type Step struct {
	What   string // the document
	URL    string // where it is, without query
	Status int    // of the answer, 0 for a rule
	Rule   string // the rule that was checked, "" for a document
	Err    error
}
