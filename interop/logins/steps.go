package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The steps, as the rows of the table name them.
const (
	login      = "login"
	call       = "call"
	expiry     = "expiry"
	rotation   = "rotation"
	revocation = "revocation"
	stepUp     = "step-up"
	logout     = "logout"
)

func steps() []string {
	return []string{login, call, expiry, rotation, revocation, stepUp, logout}
}

// outcome is what became of a step.
type outcome struct {
	state  state
	remark string // why it is no ok, or what it does not prove
}

type state string

const (
	works      state = "ok"
	fails      state = "no"
	impossible state = "–" // the server or the client cannot do it
	unreached  state = "·" // a step before it failed
)

// lifetime is that of the tokens that are to expire; lasting is that of all others.
const (
	lifetime = 2 * time.Second
	lasting  = time.Hour
)

// act is a column at a server, with what the steps share.
type act struct {
	*place

	column   *column
	user     user
	outcomes map[string]outcome
}

// playColumn plays all steps with one client: those for which tokens last with one
// user, those for which they expire with another.
func (p *place) playColumn(ctx context.Context, c column) map[string]outcome {
	a := &act{place: p, column: &c, outcomes: map[string]outcome{}}
	a.scene(ctx, lasting, map[string]func(context.Context) error{login: a.login, call: a.calls, stepUp: a.stepUp, logout: a.logout}, login, call, stepUp, logout)
	a.scene(ctx, lifetime, map[string]func(context.Context) error{expiry: a.expiry, rotation: a.rotation, revocation: a.revocation}, expiry, rotation, revocation)
	return a.outcomes
}

// scene plays steps in their order, as long as each that is possible works.
func (a *act) scene(ctx context.Context, lives time.Duration, play map[string]func(context.Context) error, order ...string) {
	defer func() {
		if a.user != nil {
			a.user.close()
			a.user = nil
		}
	}()
	stopped := a.outcomes[login].state == fails
	for _, step := range order {
		if why, is := a.impossible(step); is {
			a.outcomes[step] = outcome{impossible, why}
			continue
		}
		if stopped {
			a.outcomes[step] = outcome{state: unreached}
			continue
		}
		err := a.begin(ctx, lives)
		if err == nil {
			err = play[step](ctx)
		}
		switch {
		case err != nil:
			a.outcomes[step] = outcome{fails, err.Error()}
			stopped = step != stepUp && step != rotation
		case step == logout && a.noRevocation:
			a.outcomes[step] = outcome{works, "the server has no endpoint to revoke tokens: the client only deletes them"}
		default:
			a.outcomes[step] = outcome{state: works}
		}
	}
}

func (a *act) impossible(step string) (why string, is bool) {
	if why, is = a.cannot[step]; !is {
		why, is = a.column.cannot[step]
	}
	return why, is
}

// begin opens the client with the first step, which logs in.
func (a *act) begin(ctx context.Context, lives time.Duration) error {
	if a.user != nil {
		return nil
	}
	a.tap.reset()
	if err := a.control(ctx, fmt.Sprintf("lifetime?seconds=%d", int(lives.Seconds()))); err != nil {
		return err
	}
	u, err := a.column.open(ctx, a.place)
	a.user = u
	return err
}

// login: one page, one code, with PKCE.
func (a *act) login(ctx context.Context) error {
	read, _ := a.tools()
	if err := a.user.call(ctx, read); err != nil {
		return err
	}
	if a.user.pages() != 1 {
		return fmt.Errorf("%d pages were opened", a.user.pages())
	}
	if a.tap == nil {
		return nil
	}
	n := a.tap.notes()
	if codes := n.codes(); codes != 1 {
		return fmt.Errorf("%d codes were exchanged, refusals %q", codes, n.refusals)
	}
	if !n.challenged {
		return errors.New("no challenge of S256 (PKCE)")
	}
	return nil
}

// calls: two more, and nobody is asked.
func (a *act) calls(ctx context.Context) error {
	read, _ := a.tools()
	pages := a.user.pages()
	for range 2 {
		if err := a.user.call(ctx, read); err != nil {
			return err
		}
	}
	return a.opened(pages)
}

// opened fails if the person opened another page than those.
func (a *act) opened(pages int) error {
	if more := a.user.pages() - pages; more != 0 {
		return fmt.Errorf("%d more pages were opened", more)
	}
	return nil
}

// stepUp: the second tool needs one more scope. A login asks for both, and both tools
// work then.
func (a *act) stepUp(ctx context.Context) error {
	read, write := a.tools()
	pages := a.user.pages()
	if err := a.user.call(ctx, write); err != nil {
		return err
	}
	if err := a.opened(pages + 1); err != nil {
		return err
	}
	asked := a.tap.notes().authorized
	for _, scope := range []string{"mcp:read", "mcp:write"} {
		if last := strings.Fields(asked[len(asked)-1]); !slices.Contains(last, scope) {
			return fmt.Errorf("the login asks for %q without %s", last, scope)
		}
	}
	if err := a.user.call(ctx, read); err != nil {
		return err
	}
	return a.opened(pages + 1)
}

// logout: the authorization server takes the refresh token back, and the next call needs
// a login.
func (a *act) logout(ctx context.Context) error {
	read, _ := a.tools()
	pages, before := a.user.pages(), a.tap.notes()
	if err := a.user.logout(ctx); err != nil {
		return err
	}
	if refresh := before.lastRefresh(); refresh != "" && !a.noRevocation {
		if a.tap.notes().revoked == before.revoked {
			return errors.New("nothing was revoked at the authorization server")
		}
		if a.client.document == "" { // a request without a proof of the key would be refused anyway
			if err := a.dead(ctx, refresh, &before); err != nil {
				return err
			}
		}
	}
	if err := a.user.call(ctx, read); err != nil {
		return err
	}
	return a.opened(pages + 1)
}

// dead asks the authorization server for a token with a refresh token that it took back,
// as the client that had it.
func (a *act) dead(ctx context.Context, refresh string, n *notes) error {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}}
	for name := range n.form {
		form.Set(name, n.form.Get(name))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header = n.auth.Clone()
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusUnauthorized {
		return fmt.Errorf("the refresh token is not refused after the logout: %s", resp.Status)
	}
	return nil
}

// expire waits until the last token has expired.
func expire(ctx context.Context) error { return pause(ctx, lifetime+200*time.Millisecond) }

// expiry: the call after it works, by a refresh.
func (a *act) expiry(ctx context.Context) error {
	read, _ := a.tools()
	if err := a.user.call(ctx, read); err != nil {
		return err
	}
	pages := a.user.pages()
	return a.renewed(ctx, read, pages)
}

// renewed calls a tool after the token has expired, and looks for a refresh.
func (a *act) renewed(ctx context.Context, tool string, pages int) error {
	before := a.tap.notes()
	if err := expire(ctx); err != nil {
		return err
	}
	if err := a.user.call(ctx, tool); err != nil {
		return err
	}
	after := a.tap.notes()
	if len(after.refreshes()) == len(before.refreshes()) {
		return errors.New("no refresh was asked for")
	}
	return a.opened(pages)
}

// rotation: each refresh token is used once, and what it is replaced with is used next.
func (a *act) rotation(ctx context.Context) error {
	read, _ := a.tools()
	if err := a.renewed(ctx, read, a.user.pages()); err != nil {
		return err
	}
	n := a.tap.notes()
	return rotated(n.grants)
}

// rotated judges the token requests of one login.
func rotated(grants []grant) error {
	current, used := "", map[string]bool{}
	for _, g := range grants {
		if g.kind == "refresh_token" {
			if used[g.used] {
				return errors.New("a refresh token was used twice")
			}
			if g.used != current {
				return errors.New("a refresh token was used that is not the last one")
			}
			used[g.used] = true
			if g.refresh == "" || g.refresh == g.used {
				return errors.New("the server did not replace the refresh token")
			}
		}
		if g.refresh != "" {
			current = g.refresh
		}
	}
	if len(used) < 2 {
		return fmt.Errorf("%d refresh tokens were used", len(used))
	}
	return nil
}

// revocation: the server has ended the login. The client asks for a token once, and then
// for a login, which works.
func (a *act) revocation(ctx context.Context) error {
	read, _ := a.tools()
	if err := a.control(ctx, "end"); err != nil {
		return err
	}
	if err := expire(ctx); err != nil {
		return err
	}
	before, pages := a.tap.notes(), a.user.pages()
	err := a.user.call(ctx, read)
	after := a.tap.notes()
	if err != nil {
		return err
	}
	if tried := after.refused() - before.refused(); tried > 1 {
		return fmt.Errorf("the refresh token was refused %d times", tried)
	}
	if m, is := a.user.(*mcpctl); is && !strings.Contains(m.advice, "your login has ended") {
		return fmt.Errorf("it does not say that the login has ended: %s", m.advice)
	}
	return a.opened(pages + 1)
}
