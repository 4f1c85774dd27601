package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// proxyLogin is how "mcpctl proxy" asks a person to log in.
type proxyLogin struct {
	when  string
	flags login // those of "mcpctl auth login"
}

func (l *proxyLogin) register(set *pflag.FlagSet) {
	set.Var(flags.Choice(&l.when, "auto", "auto", "browser", "start", "never"), "login",
		"how a person logs in: auto (in the host if it opens pages, else browser), browser, start (as auto, and in the browser when the host starts), or never")
	l.flags.register(set)
	l.flags.registerSecret(set)
}

// prepare sets how the connections of the proxy log in.
func (l *proxyLogin) prepare(a *app, t target.Target) error {
	if t.Argv != nil {
		return nil
	}
	a.dial.Advise = func(err error) error { return l.advise(a, t, err) }
	if l.when == "never" || a.flags.NoInput {
		return nil
	}
	opts, err := l.flags.demands(a)
	if err != nil {
		return err
	}
	a.dial.Ask = append(opts,
		auth.WithLoginFor(func(ctx context.Context) bool {
			host := proxy.CallerOf(ctx)
			return (host != nil || l.when == "start") && (host != nil && l.inHost(host) || auth.HasBrowser())
		}),
		auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
			if host := proxy.CallerOf(ctx); host != nil && l.inHost(host) {
				return host.OpenURL(ctx, "Log in to "+visible.Line(p.Server)+" at "+visible.Line(p.Issuer), p.URL)
			}
			a.console.Note("a page opens in the browser to log in to " + visible.Line(p.Server))
			return auth.OpenBrowser(ctx, p.URL)
		}),
	)
	return nil
}

// inHost reports whether the host opens the page.
func (l *proxyLogin) inHost(host *proxy.Caller) bool { return l.when != "browser" && host.OpensURLs() }

// advise adds the command that helps to an error of a login.
func (l *proxyLogin) advise(a *app, t target.Target, err error) error {
	var why *auth.Error
	if !errors.As(err, &why) {
		return err
	}
	words := append([]string{"login"}, slices.Concat(l.flags.typed()...)...)
	var missing *auth.ScopeError
	switch {
	case errors.As(err, &missing):
		scopes := slices.Compact(slices.Sorted(slices.Values(slices.Concat(missing.Before, missing.Scopes))))
		words = append(words, "--scope", strings.Join(scopes, ","))
	case why.Reason == auth.ReasonRegistration && why.Issuer != "":
		words = append(words, "--client-id", "ID", "--issuer", why.Issuer)
	case why.Reason == auth.ReasonLogin, why.Reason == auth.ReasonScope:
	default:
		return err // a login does not help
	}
	advised := *why // it may be shared
	advised.Help = "log in with: " + a.explain.AuthCommand(t, words...)
	return &advised
}
