package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

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

// login are the flags of `auth login`.
type login struct {
	noBrowser           bool
	profile             string
	clientID, secretEnv string
	issuer, metadata    string
	redirect            string
	scopes              []string
	dpop, private       bool
}

func newAuthCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Log in to servers, and see who is logged in",
		Long: `Log in to servers that want it (OAuth). Tokens are kept in a folder that only you
can read, are renewed by themselves, and are used by every other command.

The folder is mainstay/tokens in your configuration folder; MCPCTL_AUTH_DIR names
another one.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLoginCmd(a), newLogoutCmd(a), newAccountsCmd(a), newTokenCmd(a), newInspectCmd(a))
	return cmd
}

// remote returns the URL of a command that takes nothing else.
func (a *app) remote(cmd *cobra.Command, args []string) (target.Target, error) {
	t, rest, err := a.dial.Server(target.NewLine(cmd, args))
	switch {
	case err != nil:
		return t, err
	case t.Argv != nil:
		return t, failure.Usage("a program needs no login: give the URL of a server")
	case len(rest) > 0:
		return t, failure.Usage("%s takes only a server: unexpected operand %s", cmd.CommandPath(), rest[0])
	}
	return t, nil
}

func newLoginCmd(a *app) *cobra.Command {
	var l login
	cmd := &cobra.Command{
		Use:   "login [SERVER]",
		Short: "Log in to a server in the browser",
		Long: `Log in to a server. The browser opens at its authorization server; the token that
comes back is kept for the commands that follow.

On a machine without a browser use --no-browser: open the printed page anywhere, log
in, and paste the address that the browser ends at, even if that page does not load.`,
		Example: `  mcpctl auth login https://api.example.com/mcp
  mcpctl auth login --no-browser https://api.example.com/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.remote(cmd, args)
			if err != nil {
				return err
			}
			return a.login(cmd.Context(), t, &l)
		},
	}
	set := cmd.Flags()
	set.BoolVar(&l.noBrowser, "no-browser", false, "print the page instead of opening it, and read the address that it ends at")
	set.StringVar(&l.profile, "profile", "", "`name` for one of several logins at the same server; see --auth")
	set.StringVar(&l.clientID, "client-id", "", "client `id` that was registered for you")
	set.StringVar(&l.secretEnv, "client-secret-env", "", "`variable` with the secret of that client")
	set.StringVar(&l.issuer, "issuer", "", "`URL` of the authorization server that knows that client")
	set.StringVar(&l.metadata, "client-metadata", "", "`URL` of a document that describes the client")
	set.StringVar(&l.redirect, "redirect", "", "`URL` on this machine that was registered for that client")
	set.StringSliceVar(&l.scopes, "scope", nil, "ask for this `scope`, too")
	set.BoolVar(&l.dpop, "dpop", false, "bind the tokens to a key (DPoP)")
	set.BoolVar(&l.private, "private-network", false, "allow authorization servers on private addresses")
	return cmd
}

// options are those of the flags.
func (l *login) options(a *app) ([]auth.Option, error) {
	store, err := a.dial.Store()
	if err != nil {
		return nil, err
	}
	opts := []auth.Option{
		auth.WithStore(store), auth.WithPrincipal(l.profile), auth.WithClientName("mcpctl"), auth.WithScopes(l.scopes...),
		auth.WithTransport(a.dial.LoginTransport()), auth.WithTrace(a.traceLogin),
	}
	if l.clientID != "" {
		secret := ""
		if l.secretEnv != "" {
			var ok bool
			if secret, ok = a.console.Env(l.secretEnv); !ok || secret == "" {
				return nil, failure.Usage("--client-secret-env %s: the variable is not set", l.secretEnv)
			}
			a.dial.Secrets.Keep("client_secret", secret)
		}
		opts = append(opts, auth.WithClient(l.clientID, secret, l.issuer))
	} else if l.secretEnv != "" || l.issuer != "" {
		return nil, failure.Usage("--client-secret-env and --issuer belong to --client-id")
	}
	if l.metadata != "" {
		opts = append(opts, auth.WithClientMetadata(l.metadata))
	}
	if l.redirect != "" {
		opts = append(opts, auth.WithRedirect(l.redirect))
	}
	if l.dpop {
		opts = append(opts, auth.WithDPoP())
	}
	if l.private {
		opts = append(opts, auth.WithPrivateNetwork())
	}
	return opts, nil
}

// traceLogin shows the steps before a login, with -v.
func (a *app) traceLogin(s auth.Step) {
	switch {
	case s.Err != nil:
		a.console.Step("%s %s: %s", visible.Line(s.What), visible.Line(s.URL), a.dial.Secrets.Safe(s.Err.Error()))
	case s.Rule != "":
		a.console.Step("%s: holds", visible.Line(s.Rule))
	default:
		a.console.Step("%s %s: status %d", visible.Line(s.What), visible.Line(s.URL), s.Status)
	}
}

// login logs in by asking the server who it is: a server that wants a login says so.
func (a *app) login(ctx context.Context, t target.Target, l *login) error {
	opts, err := l.options(a)
	if err != nil {
		return err
	}
	asked := false
	prompt := a.showPage
	if l.noBrowser || !a.console.ErrTerminal {
		prompt = a.pastePage
	}
	opts = append(opts, auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
		asked = true
		return prompt(ctx, p)
	}), auth.WithLoginTime(a.flags.MaxTime), auth.WithNewLogin())
	err = a.dial.With(ctx, t, func(_ context.Context, c *connect.Connection) error {
		who := visible.Line(c.ServerName())
		switch {
		case asked:
			a.console.Note("logged in to " + who)
		default:
			a.console.Note("no login was needed for " + who)
		}
		return nil
	}, client.WithAuthorizer(auth.Login(opts...)))
	return err
}

// showPage opens the page in the browser, and prints it for the case that none opens.
func (a *app) showPage(ctx context.Context, p auth.Prompt) error {
	a.console.Note("log in at " + visible.Line(p.URL))
	if err := auth.OpenBrowser(ctx, p.URL); errors.Is(err, auth.ErrNoBrowser) && !a.flags.NoInput {
		return a.pastePage(ctx, p)
	} else if err != nil {
		return err
	}
	return nil
}

// pastePage has the person open the page elsewhere and paste where it ended.
func (a *app) pastePage(ctx context.Context, p auth.Prompt) error {
	a.console.Note("open this page in any browser and log in:\n\n  " + visible.Line(p.URL) + "\n")
	if a.flags.NoInput {
		return nil // the page at Redirect may be reached
	}
	a.console.Note("Then paste the address of the page where the browser ends, even if it does not load:")
	lines := make(chan string)
	go func() {
		defer close(lines)
		in := bufio.NewScanner(io.LimitReader(a.console.In, 1<<20))
		in.Buffer(nil, 64<<10)
		for in.Scan() {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-lines:
			if !ok {
				return nil // the page at Redirect may still be reached
			}
			if strings.TrimSpace(line) == "" {
				continue
			}
			if err := p.Paste(line); err != nil {
				a.console.Note(err.Error())
			}
		}
	}
}

func newLogoutCmd(a *app) *cobra.Command {
	var profile string
	cmd := &cobra.Command{
		Use:   "logout [SERVER]",
		Short: "Take the tokens for a server back, and delete them",
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.remote(cmd, args)
			if err != nil {
				return err
			}
			l := login{profile: profile}
			opts, err := l.options(a)
			if err != nil {
				return err
			}
			found, err := auth.Login(opts...).Logout(cmd.Context(), t.URL)
			if err != nil {
				return loginFailure(err)
			}
			if !found {
				a.console.Note("nobody was logged in to " + target.Shown(t.URL))
				return nil
			}
			a.console.Note("logged out of " + target.Shown(t.URL))
			return nil
		},
	}
	cmd.Flags().StringVar(&profile, "profile", "", "`name` of the login")
	return cmd
}

// loginFailure is an error of package auth outside a connection.
func loginFailure(err error) error {
	kind := failure.KindAuth
	var e *auth.Error
	if errors.As(err, &e) && e.Reason == auth.ReasonOption {
		kind = failure.KindUsage
	}
	return failure.New(kind, mcperrors.NotSent, "%s", err)
}

func newTokenCmd(a *app) *cobra.Command {
	var profile string
	cmd := &cobra.Command{
		Use:     "token [SERVER]",
		Short:   "Print the access token for a server, for another program",
		Example: `  curl -H "Authorization: Bearer $(mcpctl auth token $URL)" $URL`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.remote(cmd, args)
			if err != nil {
				return err
			}
			l := login{profile: profile}
			opts, err := l.options(a)
			if err != nil {
				return err
			}
			token, err := auth.Login(opts...).Token(cmd.Context(), t.URL)
			if err != nil {
				f := failure.New(failure.KindAuth, mcperrors.NotSent, "%s", err)
				if errors.Is(err, auth.ErrNotLoggedIn) {
					f.Try = append(f.Try, "mcpctl auth login "+target.Shown(t.URL))
				}
				return f
			}
			return a.console.Print(token + "\n")
		},
	}
	cmd.Flags().StringVar(&profile, "profile", "", "`name` of the login")
	return cmd
}

// account is one line of `auth ls`.
type account struct {
	Server  string   `json:"server"`
	Issuer  string   `json:"issuer"`
	Profile string   `json:"profile,omitempty"`
	Scopes  []string `json:"scopes,omitempty"`
	State   string   `json:"state"`
	Expires string   `json:"expires,omitempty"`
}

func newAccountsCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the servers that you are logged in to",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := a.dial.Store()
			if err != nil {
				return err
			}
			accounts, err := list(cmd.Context(), store, time.Now())
			if err != nil {
				return loginFailure(err)
			}
			if a.console.Format != console.Human {
				return a.console.PrintJSON(console.Encode(accounts))
			}
			if len(accounts) == 0 {
				a.console.Note("nobody is logged in anywhere")
				return nil
			}
			rows := [][]string{{"SERVER", "AUTHORIZATION SERVER", "PROFILE", "STATE"}}
			for _, c := range accounts {
				rows = append(rows, []string{visible.Line(c.Server), visible.Line(c.Issuer), visible.Line(c.Profile), c.State})
			}
			return a.console.PrintTable(rows)
		},
	}
}

// list returns the logins of a store.
func list(ctx context.Context, store auth.Store, now time.Time) ([]account, error) {
	keys, err := store.List(ctx)
	if err != nil && len(keys) == 0 {
		return nil, err
	}
	accounts := []account{}
	for _, key := range keys {
		r, err := store.Load(ctx, key)
		if err != nil || r.Token.Access == "" {
			continue
		}
		c := account{Server: key.Resource, Issuer: key.Issuer, Profile: key.Principal, Scopes: r.Scopes, State: "valid"}
		if end := r.Token.Expiry; !end.IsZero() {
			c.Expires = end.UTC().Format(time.RFC3339)
			switch {
			case now.Before(end):
				c.State = "valid for " + console.Rounded(end.Sub(now)).String()
			case r.Token.Refresh != "":
				c.State = "renewed with the next call"
			default:
				c.State = "expired"
			}
		}
		accounts = append(accounts, c)
	}
	return accounts, nil
}

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
