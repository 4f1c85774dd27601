package auth

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/auth/internal/loopback"
	"github.com/mainstay-mcp/mainstay/auth/internal/store"
)

// HandOff is [Login] for programs that cannot wait for a person: a script, an agent, a
// machine without a browser. Where Login asks a person, HandOff begins the login, saves it in
// the store, and fails with a [*LoginPendingError]. [Authorizer.Finish] finishes the login, in
// this program or in another one with the same store.
//
// # Experimental
//
// The fields of LoginPendingError may still change.
func HandOff(opts ...Option) *Authorizer {
	return newAuthorizer(func(c *config) source { return &handOff{&person{cfg: c}} }, opts)
}

// handOffTime is how long a pending login can be finished: a person needs time to find a
// browser, and authorization servers forget their part after some minutes.
const handOffTime = 10 * time.Minute

// leastToOpen is how long the page of a pending login must still open to be shown again.
// Otherwise a new login begins, and the pending one cannot be finished.
const leastToOpen = 20 * time.Second

// LoginPendingError reports a login that waits for a person.
type LoginPendingError struct {
	// Server is the URL of the MCP server, and Issuer the authorization server that the
	// person sees.
	Server, Issuer string
	// URL is the page to open in a browser, on any machine. It is for this login only.
	URL string
	// Redirect is the redirect URL. The page need not load: pass its whole address, with the
	// query, to [Authorizer.Finish].
	Redirect string
	// Expires is when the login can no longer be finished. OpenBefore is when the page can no
	// longer be opened, zero if that is unknown. Pushed requests often expire after a minute.
	Expires, OpenBefore time.Time
}

func (h *LoginPendingError) Error() string {
	return "the login at " + h.Issuer + " waits for a person until " + h.Expires.Format(time.TimeOnly)
}

// handOff is the grant of [HandOff].
type handOff struct{ login *person }

func (*handOff) person() bool { return true }

// obtain implements source.
func (o *handOff) obtain(ctx context.Context, s *site, scopes []string) (*credentials, error) {
	if p, err := o.waiting(ctx, s, scopes); p != nil || err != nil {
		if err == nil {
			err = s.handedOff(p)
		}
		return nil, err
	}
	b, err := o.login.begin(ctx, s, scopes)
	if err != nil {
		return nil, err
	}
	b.close() // the browser is on another machine
	h := b.h
	h.complete(s, scopes)
	begun := &store.Pending{
		Page: grant.Hide(b.page), OpenBefore: b.expires, State: grant.Hide(b.state), Verifier: grant.Hide(b.pkce.Verifier),
		Redirect: b.redirect, IssuerSent: s.server.IssParameter,
		Asked: digest(s.asked(scopes).Encode()), Expires: time.Now().Add(handOffTime).Round(0),
		Client: h.record.Client, Server: h.record.Server, Scopes: h.record.Scopes, Proof: h.record.Proof,
	}
	err = s.cfg.store.Update(ctx, h.key, func(r store.Record) (store.Record, error) {
		if r.Client, r.Pending = begun.Client, begun; r.Token.Access.Empty() {
			r.Server, r.Proof = begun.Server, begun.Proof // otherwise the record of an earlier login stays
		}
		return r, nil
	})
	if err != nil {
		return nil, newError(ReasonStore, "", err)
	}
	s.begun()
	s.announce()
	return nil, s.handedOff(begun)
}

// waiting returns a pending login for the same scopes, nil for none. A new login would
// invalidate it while a person uses its page.
func (o *handOff) waiting(ctx context.Context, s *site, scopes []string) (*store.Pending, error) {
	keys, err := s.cfg.keys(ctx, s.principal, canonical(s.endpoint))
	if err != nil {
		return nil, newError(ReasonStore, "", err)
	}
	for _, key := range keys {
		r, err := s.cfg.store.Load(ctx, key)
		if err != nil || key.Issuer != s.server.Issuer || r.Pending == nil || !s.cfg.mayUse(key) {
			continue
		}
		p := r.Pending
		same := p.Asked == digest(s.asked(scopes).Encode()) && p.Proof.Empty() != s.cfg.dpop && (s.cfg.redirect == "" || s.cfg.redirect == p.Redirect)
		if same && time.Until(p.Expires) > handOffTime/5 && (p.OpenBefore.IsZero() || time.Until(p.OpenBefore) > leastToOpen) {
			return p, nil
		}
	}
	return nil, nil
}

// handedOff returns the error for a pending login.
func (s *site) handedOff(p *store.Pending) error {
	out := &LoginPendingError{Server: shown(s.endpoint), Issuer: s.server.Issuer, URL: p.Page.Text(), Redirect: p.Redirect, Expires: p.Expires, OpenBefore: p.OpenBefore}
	return &Error{Reason: ReasonLogin, LoginURL: p.Page.Text(), Help: "log in at the page of LoginURL, and finish the login with the address where the browser ends", Err: out}
}

// Finish finishes a login that [HandOff] began at a server. address is the address line of the
// browser after the login. Each login can be finished once: if the authorization server
// answers with an error, begin again.
func (a *Authorizer) Finish(ctx context.Context, server, address string) error {
	s, err := a.serverNamed(ctx, server)
	if err != nil {
		return err
	}
	_, err = inSeries(ctx, s, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.finish(ctx, address) })
	return s.explain(err)
}

// Reasons why a login cannot be finished.
var (
	// ErrNoLogin means that no login is pending for a server.
	ErrNoLogin = errors.New("no login waits to be finished")
	// ErrLoginExpired means that the pending login has expired.
	ErrLoginExpired = errors.New("the login was begun too long ago")
	// ErrOtherLogin means that an address does not belong to the pending login.
	ErrOtherLogin = errors.New("this address belongs to another login")
)

// finish is [Authorizer.Finish] with the serial held.
func (s *server) finish(ctx context.Context, address string) error {
	answer, err := loopback.Read(address)
	if err != nil {
		return newError(ReasonLogin, "", err)
	}
	key, begun, err := s.takePending(ctx, answer.State)
	if errors.Is(err, ErrLoginExpired) {
		s.tell(LoginFailed, key.Issuer, err)
	}
	if err != nil {
		return err
	}
	h, err := s.finished(ctx, key, begun, answer)
	if err != nil {
		s.tell(LoginFailed, key.Issuer, err)
		return err
	}
	s.loaded, s.failed, s.ended = true, failure{}, ""
	s.now.Store(h)
	s.tell(LoginFinished, key.Issuer, nil)
	return nil
}

// finished exchanges the answer of a pending login for tokens, and stores them.
func (s *server) finished(ctx context.Context, key Key, begun *store.Pending, answer loopback.Answer) (*credentials, error) {
	code, err := codeOf(answer, key.Issuer, begun.IssuerSent)
	if err != nil {
		return nil, newError(ReasonLogin, s.a.cfg.exceptionFor(key.Issuer, err), err)
	}
	h := &credentials{key: key, loggedIn: time.Now()}
	h.record = store.Record{Client: begun.Client, Server: begun.Server, Scopes: begun.Scopes, Proof: begun.Proof}
	if err := s.redeem(ctx, h, begun, code); err != nil {
		return nil, newError(ReasonToken, cmp.Or(s.a.cfg.forgetIfUnknown(ctx, h, err), s.a.cfg.exceptionFor(key.Issuer, err), "begin the login again"), err)
	}
	h.record.Login = loopback.NewState()
	keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), keeping) // an issued token is stored even if the caller has left
	defer cancel()
	if err = s.a.cfg.store.Update(keep, key, func(store.Record) (store.Record, error) { return h.record, nil }); err == nil {
		h, err = h.ready()
	}
	return h, newError(ReasonStore, "", err)
}

// redeem exchanges the code of a pending login for a token.
func (s *server) redeem(ctx context.Context, h *credentials, begun *store.Pending, code string) error {
	e, err := s.endpointOf(h, h.record)
	if err != nil {
		return err
	}
	defer e.HTTP.CloseIdle()
	params := url.Values{"code": {code}, "redirect_uri": {begun.Redirect}, "code_verifier": {begun.Verifier.Text()}}
	if resource := begun.Server.Resource; resource != "" {
		params.Set("resource", resource)
	}
	who := s.a.cfg.client(h.record)
	token, err := s.pace.ask(ctx, func() (*grant.Token, error) { return e.Exchange(ctx, who, "authorization_code", params) })
	if err != nil {
		return err
	}
	h.prover = e.Proof
	h.obtained(token, who)
	h.granted()
	return nil
}

// takePending removes the pending login with a state from the store, so that it is finished once. A
// wrong address leaves it there.
func (s *server) takePending(ctx context.Context, state string) (key Key, begun *store.Pending, err error) {
	cfg := &s.a.cfg
	keys, err := s.keys(ctx)
	if err != nil {
		return key, nil, newError(ReasonStore, "", err)
	}
	why, help := ErrNoLogin, "begin one first"
	for _, key := range keys {
		if !cfg.mayUse(key) {
			continue
		}
		r, err := cfg.store.Load(ctx, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case err != nil:
			return key, nil, newError(ReasonStore, "", err)
		case r.Pending == nil:
			continue
		case !hasState(r.Pending, state):
			why, help = ErrOtherLogin, "use the page of the login that was begun last"
			continue
		}
		err = cfg.store.Update(ctx, key, func(r store.Record) (store.Record, error) {
			if hasState(r.Pending, state) {
				begun, r.Pending = r.Pending, nil
			}
			return r, nil
		})
		switch {
		case err != nil:
			return key, nil, newError(ReasonStore, "", err)
		case begun == nil: // another process has finished it
			return key, nil, newError(ReasonLogin, help, ErrNoLogin)
		case time.Now().After(begun.Expires):
			return key, nil, newError(ReasonLogin, "begin it again", ErrLoginExpired)
		}
		return key, begun, nil
	}
	return key, nil, newError(ReasonLogin, help, why)
}

// hasState reports whether an answer with a state belongs to a login. A login without a state,
// as in a damaged record, accepts no answer.
func hasState(p *store.Pending, state string) bool {
	return p != nil && !p.State.Empty() && subtle.ConstantTimeCompare([]byte(p.State.Text()), []byte(state)) == 1
}
