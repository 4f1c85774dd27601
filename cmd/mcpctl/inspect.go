package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

func newInspectCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect [SERVER]",
		Short: "Show what a server demands for a login, step by step",
		Long: `Show what a server demands for a login: each document that is fetched, each rule that
is checked, and what a login would ask for. It logs nobody in.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.remote(cmd, args)
			if err != nil {
				return err
			}
			return a.inspect(cmd.Context(), t)
		},
	}
}

// step is one line of `auth inspect`.
type step struct {
	What   string `json:"what,omitempty"`
	URL    string `json:"url,omitempty"`
	Status int    `json:"status,omitempty"`
	Rule   string `json:"rule,omitempty"`
	OK     bool   `json:"ok"`
	Error  string `json:"error,omitempty"`
}

func (a *app) inspect(ctx context.Context, t target.Target) error {
	var steps []step
	opts := []auth.Option{auth.WithTransport(a.dial.LoginTransport()), auth.WithTrace(func(s auth.Step) {
		one := step{What: s.What, URL: s.URL, Status: s.Status, Rule: s.Rule, OK: s.Err == nil}
		if s.Err != nil {
			one.Error = a.dial.Secrets.Safe(s.Err.Error())
		}
		steps = append(steps, one)
	})}
	var by transport.Authorizer = auth.Inspect(opts...)
	err := a.dial.With(ctx, t, func(context.Context, *connect.Connection) error { return nil }, client.WithAuthorizer(by))
	var found *auth.Inspected
	if !errors.As(err, &found) && len(steps) == 0 {
		if err != nil {
			return err
		}
		a.console.Note(target.Shown(t.URL) + " demands no login")
		return nil
	}
	if a.console.Format != console.Human {
		return errors.Join(a.console.PrintJSON(console.Encode(map[string]any{"steps": steps, "login": shownLogin(found)})), unless(found != nil, err))
	}
	var b strings.Builder
	for _, s := range steps {
		mark, what := "ok  ", strings.TrimSpace(visible.Line(s.What)+" "+visible.Line(s.URL))
		if s.Rule != "" {
			what = visible.Line(s.Rule)
		}
		if !s.OK {
			mark = "FAIL"
		}
		fmt.Fprintf(&b, "%s  %s", mark, what)
		if s.Status != 0 {
			fmt.Fprintf(&b, " (status %d)", s.Status)
		}
		if s.Error != "" {
			fmt.Fprintf(&b, "\n      %s", visible.Line(s.Error))
		}
		b.WriteByte('\n')
	}
	if found == nil {
		if printed := a.console.Print(b.String()); printed != nil {
			return printed
		}
		return err
	}
	fmt.Fprintf(&b, "\nA login would ask %s for %s\n", visible.Line(found.Issuer), visible.Line(found.Resource))
	if len(found.Scopes) > 0 {
		fmt.Fprintf(&b, "  scopes            %s\n", visible.Line(strings.Join(found.Scopes, " ")))
	}
	fmt.Fprintf(&b, "  login page        %s\n  tokens            %s\n", visible.Line(found.AuthorizationURL), visible.Line(found.TokenURL))
	fmt.Fprintf(&b, "  registers itself  %s\n  metadata client   %t\n  DPoP              %t\n", yesOr(found.RegistrationURL), found.ClientMetadata, found.DPoP)
	if err := a.console.Print(b.String()); err != nil {
		return err
	}
	if found.Problem != nil {
		return failure.New(failure.KindNegative, mcperrors.NotSent, "a login would fail: %s", found.Problem)
	}
	return nil
}

func yesOr(url string) string {
	if url == "" {
		return "no: a client must be registered in advance (--client-id)"
	}
	return "yes"
}

func shownLogin(i *auth.Inspected) map[string]any {
	if i == nil {
		return nil
	}
	m := map[string]any{
		"issuer": i.Issuer, "resource": i.Resource, "scopes": i.Scopes, "authorizationUrl": i.AuthorizationURL, "tokenUrl": i.TokenURL,
		"registrationUrl": i.RegistrationURL, "clientMetadata": i.ClientMetadata, "dpop": i.DPoP,
	}
	if i.Problem != nil {
		m["problem"] = i.Problem.Error()
	}
	return m
}

func unless(done bool, err error) error {
	if done {
		return nil
	}
	return err
}
