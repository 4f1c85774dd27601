package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/challenge"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// server is the state of one MCP server for one principal: its authorization server and the
// current credentials.
type server struct {
	a        *Authorizer
	id       serverKey
	endpoint *url.URL

	now    atomic.Pointer[credentials]
	nobody *transport.Credentials // for requests without a token, nil without [WithPrincipals]

	ahead alarm // renews the token without a request
	// asking is set during a login of [WithSharedLogins].
	asking atomic.Bool

	serial serial // guards now and the following fields

	loaded bool // the store was read
	site   *site
	ended  string  // the error code that ended the last login, "" for none
	failed failure // of the last login or renewal
	pace   pace    // of requests to the token endpoint
	tries  tries   // recent logins
	lost   bool    // the loss of the login was reported
}

type failure struct {
	at, until time.Time // callers get the same error until then
	err       error
}

const (
	// retryDelay is how long callers get the same error after a failed login or renewal, so
	// that browser windows do not open one after the other. [pace] has shorter pauses for
	// requests that the authorization server did not process.
	retryDelay = 10 * time.Second
	// freshFor is how long a token counts as new. A server that refuses a new token
	// disagrees with its authorization server.
	freshFor = time.Minute
)

// recent returns the error of a login or renewal that failed after began or shortly before.
func (s *server) recent(began time.Time) error {
	f := &s.failed
	if f.err == nil || !f.at.After(began) && !time.Now().Before(f.until) {
		return nil
	}
	if pauseAfter(f.err) > 0 {
		return &pausedError{f.err, max(time.Until(f.until), 0)}
	}
	return f.err
}

// fail records a failure, unless the login was cancelled.
func (s *server) fail(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		now := time.Now()
		s.failed = failure{at: now, until: now.Add(cmp.Or(pauseAfter(err), retryDelay)), err: err}
	}
	return err
}

// usable returns the current credentials, nil for none.
func (s *server) usable(ctx context.Context) (*credentials, error) {
	if h := s.now.Load(); h.usable(time.Now()) {
		return h, nil
	}
	if s.occupied(ctx) {
		return nil, nil
	}
	h, err := s.current(ctx)
	return h, s.explain(err)
}

// current returns credentials that have not expired. It returns nil if only a challenge of
// the server can lead to a login.
func (s *server) current(ctx context.Context) (*credentials, error) {
	began := time.Now()
	return inSeries(ctx, s, func(ctx context.Context) (*credentials, error) { return s.renewedAt(ctx, began) })
}

// renewedAt is [server.current] during the caller's turn; see [inSeries].
func (s *server) renewedAt(ctx context.Context, began time.Time) (*credentials, error) {
	if !s.loaded {
		h, err := s.load(ctx)
		if err != nil {
			return nil, newError(ReasonStore, "", err)
		}
		s.loaded = true
		s.now.Store(h)
	}
	h := s.now.Load()
	var renew func() (*credentials, error)
	switch {
	case h == nil, h.usable(time.Now()):
		return h, nil
	case !h.record.Token.Refresh.Empty():
		renew = func() (*credentials, error) { return s.refreshed(ctx, h) }
	case s.site != nil && !s.a.grant.person():
		renew = func() (*credentials, error) { return s.obtained(ctx, s.site, h.record.Scopes) }
	default:
		if s.a.grant.person() {
			s.tell(LoginLost, h.key.Issuer, newError(ReasonLogin, cmp.Or(notRenewed(h), "log in again"), errExpired))
		}
		return nil, nil // the next challenge leads to a login
	}
	err := s.recent(began)
	if err == nil {
		var next *credentials
		if next, err = renew(); err == nil {
			return next, nil
		}
		if err = s.fail(ctx, err); pauseAfter(err) == 0 || s.pace.lasts() && !busy(err) {
			s.site = nil // its token endpoint may have moved
		}
	}
	if time.Now().Before(h.record.Token.Expiry) {
		return h, nil // the early renewal failed, and the token is still valid
	}
	return nil, err
}

// challenged answers a challenge of the server.
func (s *server) challenged(ctx context.Context, c transport.Challenge) (again bool, err error) {
	began := time.Now()
	return inSeries(ctx, s, func(ctx context.Context) (bool, error) { return s.answer(ctx, c, began) })
}

// answer does what [decide] says until the request is sent again or fails.
func (s *server) answer(ctx context.Context, c transport.Challenge, began time.Time) (again bool, err error) {
	asked, _ := challenge.Of(c.Header)
	h := s.now.Load()
	f := facts{
		status: c.Status, retries: c.Tries, background: c.Background, person: s.a.grant.person(),
		noteNonce: h != nil && h.prover != nil && noteNonce(h.prover, c), wantsScope: wantsScope(c.Status, asked),
	}
	for {
		s.look(&f, h, c.Sent, asked)
		f.failed = s.recent(began) != nil
		switch decide(f) {
		case doAccept:
			return false, nil
		case doResend:
			return true, nil
		case doStepUp:
			return s.requestScopes(ctx, h, asked, c.Call, began)
		case doReadStore:
			f.storeRead = true
			stored, err := s.load(ctx)
			if err != nil {
				return false, newError(ReasonStore, "", err)
			}
			if stored != nil && !stored.sentAs(c.Sent) {
				h = stored
				s.adopt(h)
			}
		case doFail:
			return false, s.recent(began)
		case doRefresh:
			f.refreshTried = true
			next, err := s.refreshed(ctx, h)
			if err != nil || next != nil {
				return err == nil, s.fail(ctx, err)
			}
		case doReject:
			return false, s.fail(ctx, s.refusedAgain(h))
		case doReportLost:
			s.tell(LoginLost, h.key.Issuer, newError(ReasonLogin, "log in again", errRefused))
			return false, nil
		case doLogin:
			return s.firstLogin(ctx, h, asked, c.Call)
		}
	}
}

// look sets the facts about the current credentials.
func (s *server) look(f *facts, h *credentials, sent *transport.Credentials, asked challenge.Challenge) {
	if f.known = h != nil; !f.known {
		return
	}
	f.usable, f.sent, f.lacksScope = h.usable(time.Now()), h.sentAs(sent), h.lacks(asked)
	f.refreshable = !h.record.Token.Refresh.Empty()
	f.justRefreshed = h.renewed && h.fresh()
	f.justIssued = time.Since(h.loggedIn) < freshFor || h.fresh() && (s.a.cfg.noLogin || s.a.cfg.shared && !h.renewed)
}

// adopt makes the credentials of another program the current ones.
func (s *server) adopt(h *credentials) {
	s.now.Store(h)
	if !h.usable(time.Now()) {
		return
	}
	s.failed = failure{} // it is older than that login
	if s.lost {
		s.tell(LoginFinished, h.key.Issuer, nil)
	}
}

// firstLogin logs in for a refused request, unless enough logins have failed to help.
func (s *server) firstLogin(ctx context.Context, h *credentials, asked challenge.Challenge, call *transport.ChallengedCall) (again bool, err error) {
	var before []string
	if h != nil {
		before = h.record.Scopes
	}
	want := wanted{call: call}
	if h.usable(time.Now()) {
		want.what = anotherToken
	}
	if s.a.grant.person() { // other programs only send a request, at most one in ten seconds
		if vain := s.tries.allow(want); vain != nil {
			return false, s.fail(ctx, s.refusedLogin(h, vain))
		}
	}
	s.traceChallenge(asked)
	return s.login(ctx, h, asked, before, want)
}

var (
	errRefused = errors.New("the server refuses the token that was issued for it")
	errExpired = errors.New("the token has expired, and there is none to renew it with")
)

// refusedAgain is the error for a server that refuses a new token: a login would not help.
func (s *server) refusedAgain(h *credentials) error {
	err := &Error{
		Reason: ReasonRefused, Issuer: h.key.Issuer, Err: errRefused, Help: s.disagree(h),
	}
	s.tell(LoginFailed, h.key.Issuer, err)
	return err
}

// disagree returns the help for a server that refuses a token that was issued for it.
func (s *server) disagree(h *credentials) string {
	help := "the server and its authorization server do not agree; the log of the server says why"
	if s.a.grant.person() && !s.a.cfg.exceptions[h.key.Issuer].params.Has("audience") {
		help += "; some providers learn the audience from a scope (WithScopes) or a parameter: " + audienceFor(h.key.Issuer)
	}
	return help
}

// refusedLogin is the error of a call that may not begin a login, because recent logins did
// not help.
func (s *server) refusedLogin(h *credentials, vain *triesError) error {
	e := &Error{
		Reason: ReasonLogin, pause: vain.pause(), Err: fmt.Errorf("the server wants a login, and %w", vain),
		Help: "log in with another account, or ask the operator of the server why it refuses this one",
	}
	if h != nil {
		e.Issuer = h.key.Issuer
	}
	if h.usable(time.Now()) {
		e.Reason, e.Err = ReasonRefused, fmt.Errorf("the server refuses the token that was issued for it, and %w", vain)
		e.Help = s.disagree(h)
	}
	s.tell(LoginFailed, e.Issuer, e)
	return e
}

// login obtains a token for what a challenge asks for. The server refuses h, nil for none.
func (s *server) login(ctx context.Context, h *credentials, asked challenge.Challenge, before []string, want wanted) (again bool, err error) {
	if s.a.closed.Load() {
		return false, newError(ReasonLogin, "use a new Authorizer", errClosed)
	}
	if !s.a.cfg.mayLogin(ctx) {
		err := newError(ReasonLogin, notRenewed(s.now.Load()), s.notLoggedIn(ctx))
		s.tell(LoginLost, "", err)
		return false, err
	}
	found, err := s.find(ctx, asked)
	if err != nil {
		s.tell(LoginFailed, "", err)
		return false, s.fail(ctx, err)
	}
	defer found.http.CloseIdle()
	found.begun = func() { s.tries.add(want) }
	obtain := func(ctx context.Context) error {
		_, err := s.obtained(ctx, found, found.scopesFor(asked, before, want.scopes(), s.a.grant.person()))
		return err
	}
	if s.a.cfg.shared && s.a.grant.person() {
		l := &sharedLogin{server: s, site: found, asked: asked, refused: h, scopes: want.scopes(), obtain: obtain}
		found.begun = func() {
			s.tries.add(want)
			s.serial.keep()
			l.shown = true
		}
		err = l.run(ctx)
	} else {
		err = obtain(ctx)
	}
	found.begun = func() {} // later renewals do not count as logins
	if err != nil && found.server.Assumed {
		err = newError(ReasonDiscovery, "the server may want an API key in a header; ask its operator", fmt.Errorf("the server names no authorization server, and has none at %s: %w", found.server.Issuer, unwrapped(err)))
	}
	return err == nil, s.fail(ctx, err)
}

// notLoggedIn describes the missing login.
func (s *server) notLoggedIn(ctx context.Context) *NotLoggedInError {
	_, err := s.a.cfg.store.List(ctx)
	return &NotLoggedInError{Ended: s.ended, Bound: s.ended != "" && s.endedBound(ctx), Damaged: DamagedFiles(err)}
}

// endedBound reports whether a login that ended used DPoP. Unreadable records do not count.
func (s *server) endedBound(ctx context.Context) bool {
	keys, err := s.keys(ctx)
	return err == nil && slices.ContainsFunc(keys, func(key Key) bool {
		record, err := s.a.cfg.store.Load(ctx, key)
		return err == nil && record.Ended != "" && !record.Proof.Empty()
	})
}

// unwrapped returns the cause of an error of this package.
func unwrapped(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err
	}
	return err
}

// requestScopes obtains a token with more scopes, the old ones included. That happens a few times
// at most, see [tries], however many requests need them.
func (s *server) requestScopes(ctx context.Context, h *credentials, asked challenge.Challenge, call *transport.ChallengedCall, began time.Time) (again bool, err error) {
	missing := strings.Fields(asked.Get("scope"))
	slices.Sort(missing)
	var before []string
	bound := false
	if h != nil {
		before, bound = h.record.Scopes, !h.record.Proof.Empty()
	}
	if !s.a.cfg.mayLogin(ctx) {
		return false, &ScopeError{Scopes: missing, Before: before, Bound: bound}
	}
	if err := s.recent(began); err != nil {
		return false, err
	}
	if len(missing) == 0 {
		return false, &Error{
			Reason: ReasonScope, Err: errors.New("the server wants more scopes, and does not say which"),
			Help: "ask the operator of the server which scopes it needs, and log in with them",
		}
	}
	want := wanted{strings.Join(missing, " "), call}
	if vain := s.tries.allow(want); vain != nil {
		return false, &Error{
			Reason: ReasonScope, pause: vain.pause(), Err: fmt.Errorf("the server wants the scopes %q, and %w", want.what, vain),
			Help: "ask for access at the authorization server, or ask the operator of the server which scopes it needs",
		}
	}
	return s.login(ctx, h, asked, before, want)
}

// obtained obtains a token and stores it.
func (s *server) obtained(ctx context.Context, found *site, scopes []string) (*credentials, error) {
	again := s.now.Load() != nil && !s.a.grant.person() // how programs renew a token
	found.announce = func() {
		if !again {
			s.tell(LoginBegun, found.server.Issuer, nil)
		}
	}
	h, err := s.a.grant.obtain(ctx, found, scopes)
	if err != nil {
		var e *Error
		if errors.As(err, &e) && e.Issuer == "" {
			e.Issuer = found.server.Issuer
		}
		s.notObtained(again, found.server.Issuer, err)
		return nil, err
	}
	h.loggedIn = time.Now()
	h.complete(found, scopes)
	if err := s.keep(ctx, h); err != nil {
		err = newError(ReasonStore, "", err)
		s.notObtained(again, found.server.Issuer, err)
		return nil, err
	}
	s.site, s.failed, s.ended = found, failure{}, ""
	s.now.Store(h)
	state := LoginFinished
	if again {
		state = LoginRenewed
	}
	s.tell(state, found.server.Issuer, nil)
	return h, nil
}

// explain adds the server to an error.
func (s *server) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var e *Error
	if !errors.As(newError(ReasonToken, "", err), &e) || e.Server != "" {
		return err
	}
	own := *e // the error may be shared
	own.Server, own.pause = shown(s.endpoint), cmp.Or(pauseAfter(err), e.pause)
	return &own
}
