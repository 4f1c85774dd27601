package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
)

// loginElsewhere logs in with a code that a person types on another device. It needs no terminal:
// nothing is read.
func (a *app) loginElsewhere(ctx context.Context, t target.Target, opts []auth.Option) error {
	said := "no login was needed for "
	opts = append(opts, auth.WithLoginTime(a.flags.MaxTime), auth.WithPrompt(func(_ context.Context, p auth.Prompt) error {
		said = "logged in to "
		return a.showCode(p)
	}))
	return a.connected(ctx, t, auth.Device(opts...), func(who string) { a.console.Note(said + who) })
}

// showCode prints the page and the code. Programs read them from stdout while the command waits.
func (a *app) showCode(p auth.Prompt) error {
	if a.console.Format == console.Human {
		until := ""
		if !p.Expires.IsZero() {
			until = fmt.Sprintf("\nThe code is good until %s (for %s).", p.Expires.Format(time.TimeOnly), console.Rounded(time.Until(p.Expires)))
		}
		a.console.Note(fmt.Sprintf("open this page on any device, and type the code there:\n\n  %s\n  code  %s\n%s", visible.Line(p.URL), visible.Line(p.UserCode), until))
		return nil
	}
	m := map[string]any{"server": p.Server, "issuer": p.Issuer, "url": p.URL, "userCode": p.UserCode}
	if p.URLWithCode != "" {
		m["urlWithCode"] = p.URLWithCode
	}
	if !p.Expires.IsZero() {
		m["expires"] = p.Expires.UTC().Format(time.RFC3339)
	}
	if a.console.Format == console.NDJSON {
		return a.console.PrintEvent("login", console.Encode(m))
	}
	return a.console.PrintJSON(console.Encode(m))
}
