package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/challenge"
	"github.com/mainstay-mcp/mainstay/auth/internal/store"
)

// WithSharedLogins makes all processes with the same store ask a person once. It is for
// programs of which many run at the same time and call for a model, such as the servers that a
// host starts.
//
// At one authorization server, one login of a principal runs at a time, in all these processes.
// The others wait for its token, for at most [WithLoginTime]; a program with [WithNewLogin]
// waits for a second and then logs in, too. A login also ends when another program, such as
// `mcpctl auth login`, has stored a token.
//
// The page stays valid when the call that opened it is canceled: other processes wait for it,
// and the next call uses its token. If the login fails, for example because the person refuses
// or does nothing, no other login for that server begins for ten minutes, except with
// WithNewLogin. A login does not count if the function of [WithPrompt] returns
// [context.Canceled].
func WithSharedLogins() Option { return func(c *config) { c.shared = true } }

// WithLoginFor allows logins only for calls for whose context f returns true, such as those
// that a person waits for. Other calls fail as with [WithoutLogin]. f must return at once. It
// is called from many goroutines.
func WithLoginFor(f func(ctx context.Context) bool) Option {
	return func(c *config) {
		if f == nil {
			c.wrong("WithLoginFor needs a function")
			return
		}
		c.loginFor = f
	}
}

// mayLogin reports whether a login may begin for a call.
func (c *config) mayLogin(ctx context.Context) bool {
	return !c.noLogin && (c.loginFor == nil || c.loginFor(ctx))
}

const (
	// lookAgain is how often a login looks for the token of another program.
	lookAgain = time.Second
	// refusalMemory is how long no login begins after one that failed.
	refusalMemory = triesMemory
)

var (
	errElsewhere = errors.New("another program has logged in")
	errBusy      = errors.New("another program asked a person to log in, and nobody did in time")
	errAsking    = errors.New("a person is logging in")
)

// occupied reports whether a person is logging in, and a call must not wait for that because it
// may not ask a person itself.
func (s *server) occupied(ctx context.Context) bool {
	return s.asking.Load() && !s.a.cfg.mayLogin(ctx)
}

// sharedLogin is a login of [WithSharedLogins].
type sharedLogin struct {
	*server
	site    *site
	asked   challenge.Challenge
	refused *credentials // that the server refuses, nil for none
	scopes  bool         // the server wants more scopes
	shown   bool         // a person was asked
	obtain  func(context.Context) error
}

// run logs in while no other process does, or adopts the token of another process.
func (l *sharedLogin) run(ctx context.Context) error {
	cfg := &l.a.cfg
	l.asking.Store(true)
	defer l.asking.Store(false)
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.patience, errNobody)
	defer cancel()
	last := time.Now().Add(cfg.patience - cfg.patience/5) // later there is no time for a page
	// The record of the key is the lock. It has the refusals at the authorization server.
	key := store.Key{Issuer: l.site.server.Issuer, Principal: l.id.principal}
	for waited := false; ; waited = true {
		held, outcome := false, error(nil)
		turn, end := context.WithTimeout(ctx, lookAgain)
		err := cfg.store.Update(turn, key, func(r store.Record) (store.Record, error) {
			held = true
			if waited && time.Now().After(last) {
				outcome = newError(ReasonLogin, "", errBusy)
				return r, nil
			}
			r.Refused, outcome = l.once(ctx, r.Refused)
			return r, nil
		})
		end()
		switch {
		case held: // if the record cannot be written, a refusal is forgotten
			return outcome
		case context.Cause(ctx) == errNobody: //nolint:errorlint // it is the cause itself
			return newError(ReasonLogin, "", errBusy)
		case ctx.Err() != nil:
			return newError(ReasonLogin, "", context.Cause(ctx))
		case !errors.Is(err, context.DeadlineExceeded):
			return newError(ReasonStore, "", err)
		case cfg.newLogin:
			return l.obtain(ctx)
		case l.adoptOther(ctx):
			return nil
		}
	}
}

// once logs in, unless that has become unnecessary or a person refused. It takes and returns
// when persons refused, by MCP server.
func (l *sharedLogin) once(ctx context.Context, refusals map[string]time.Time) (map[string]time.Time, error) {
	name, now := l.name(), time.Now()
	if !l.a.cfg.newLogin {
		if l.adoptOther(ctx) {
			return refusals, nil
		}
		if at, refused := refusals[name]; refused && now.Sub(at) < refusalMemory {
			return refusals, newError(ReasonLogin, "log in with another program", fmt.Errorf("a person was asked to log in at %s, and the login failed", at.Local().Format(time.TimeOnly)))
		}
		if !l.a.cfg.mayLogin(ctx) { // the caller may have left while this process waited
			return refusals, newError(ReasonLogin, "", &NotLoggedInError{})
		}
	}
	err := l.watched(ctx)
	refusals = maps.Clone(refusals)
	maps.DeleteFunc(refusals, func(of string, at time.Time) bool { return of == name || now.Sub(at) >= refusalMemory })
	canceled := errors.Is(err, context.Canceled) || errors.Is(context.Cause(ctx), context.Canceled)
	var pending *LoginPendingError // of [HandOff]: the person may still log in
	if err != nil && l.shown && !canceled && !errors.As(err, &pending) {
		if refusals == nil {
			refusals = map[string]time.Time{}
		}
		refusals[name] = time.Now().Round(0)
	}
	return refusals, err
}

// watched logs in, and stops when another program has stored a token.
func (l *sharedLogin) watched(ctx context.Context) error {
	if l.a.cfg.newLogin {
		return l.obtain(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for sleep(ctx, lookAgain) {
			if other, _, err := l.stored(ctx); err == nil && l.helps(other) {
				cancel(errElsewhere)
			}
		}
	}()
	err := l.obtain(ctx)
	cancel(nil)
	<-looked
	if errors.Is(err, errElsewhere) && l.adoptOther(ctx) {
		return nil
	}
	return err
}

// adoptOther uses the token that another program has stored, if there is one.
func (l *sharedLogin) adoptOther(ctx context.Context) bool {
	other, err := l.load(context.WithoutCancel(ctx))
	if err != nil || !l.helps(other) {
		return false
	}
	l.adopt(other)
	return true
}

// helps reports whether stored credentials are others than those that the server refuses.
func (l *sharedLogin) helps(h *credentials) bool {
	if h == nil || l.scopes && h.lacks(l.asked) {
		return false
	}
	other := l.refused == nil || h.record.Token.Access.Text() != l.refused.record.Token.Access.Text()
	return other && (h.usable(time.Now()) || !h.record.Token.Refresh.Empty())
}
