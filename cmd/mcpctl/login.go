package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// login are the flags of `auth login`.
type login struct {
	noBrowser, device   bool
	profile             string
	clientID, secretEnv string
	issuer, metadata    string
	redirect            string
	scopes, onlyScopes  []string
	dpop, private       bool
	slash               bool
	exceptions          exceptions
	// finish is where the address is that the browser ended at: @FILE, or @- for
	// stdin.
	finish string
	// next is the command that finishes the login.
	next string
}

func newLoginCmd(a *app) *cobra.Command {
	var l login
	cmd := &cobra.Command{
		Use:   "login [SERVER]",
		Short: "Log in to a server in the browser",
		Long: `Log in to a server. The browser opens at its authorization server; the token
that comes back is kept for the commands that follow.

On a machine without a browser use --no-browser: open the printed page anywhere,
log in, and paste the address that the browser ends at, even if that page does
not load. With --device there is nothing to paste: open the printed page on any
device, and type the printed code there. Not every authorization server has
that: see auth inspect.

Without a terminal, and with --no-input, nothing waits: the command prints the
page, and the command that finishes the login, and ends with exit code 4.
Somebody opens the page within ten minutes. The second command reads the address
that the browser ended at from stdin (--finish @-) or from a file.`,
		Example: `  mcpctl auth login https://api.example.com/mcp
  mcpctl auth login --no-browser https://api.example.com/mcp
  mcpctl auth login --device https://api.example.com/mcp
  mcpctl auth login -o json https://api.example.com/mcp < /dev/null
  mcpctl auth login --finish @- https://api.example.com/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.remote(cmd, args)
			if err != nil {
				return err
			}
			if l.device && (l.finish != "" || l.redirect != "" || l.noBrowser) {
				return failure.Usage("--device goes without --finish, --redirect and --no-browser: no browser comes back to this machine")
			}
			a.explain.LoginFlags = l.typed()
			if l.finish != "" {
				return a.finish(cmd.Context(), t, &l)
			}
			words := append([]string{cmd.CommandPath()}, flags.Typed(cmd, map[string]bool{"profile": true})...)
			l.next = cmd.CommandPath() + " " + example.Quote(append(append(words[1:], "--finish", "@-"), t.Words()...))
			return a.login(cmd.Context(), t, &l)
		},
	}
	set := cmd.Flags()
	set.BoolVar(&l.noBrowser, "no-browser", false, "print the page instead of opening it, and read the address that it ends at")
	set.BoolVar(&l.device, "device", false, "print a page and a code to type there, and wait until somebody has done it")
	set.StringVar(&l.finish, "finish", "", "finish a login with the address in this `@FILE`, or @- for stdin")
	set.StringVar(&l.profile, "profile", "", "`name` for one of several logins at the same server; see --auth")
	l.registerSecret(set)
	set.StringVar(&l.redirect, "redirect", "", "`URL` on this machine that was registered for that client")
	l.register(set)
	a.completes(cmd)
	return cmd
}

// register adds the flags that decide what a login demands, which inspect has, too.
func (l *login) register(set *pflag.FlagSet) {
	set.StringVar(&l.clientID, "client-id", "", "client `id` that was registered for you")
	set.StringVar(&l.issuer, "issuer", "", "`URL` of the only authorization server to use; the client is registered there")
	set.StringVar(&l.metadata, "client-metadata", "", "`URL` of a document that describes the client")
	flags.TextsOrList(set, &l.scopes, "scope", "ask for this `scope`, too")
	flags.TextsOrList(set, &l.onlyScopes, "only-scope", "ask for this `scope` only, not for those that the server lists")
	set.BoolVar(&l.dpop, "dpop", false, "bind the tokens to a key (DPoP)")
	set.BoolVar(&l.private, "private-network", false, "allow authorization servers on private addresses")
	set.BoolVar(&l.slash, "issuer-slash", false, "allow an issuer that differs by a slash at its end")
	l.exceptions.register(set)
}

func (l *login) registerSecret(set *pflag.FlagSet) {
	set.StringVar(&l.secretEnv, "client-secret-env", "", "`variable` with the secret of that client")
}

// typed are the flags that were typed, each with its value. It is never nil.
func (l *login) typed() [][]string {
	typed := [][]string{}
	for _, f := range [...]struct{ name, value string }{
		{"--client-id", l.clientID},
		{"--client-secret-env", l.secretEnv},
		{"--issuer", l.issuer},
		{"--client-metadata", l.metadata},
		{"--scope", strings.Join(l.scopes, ",")},
		{"--only-scope", strings.Join(l.onlyScopes, ",")},
		{"--profile", l.profile},
		{"--redirect", l.redirect},
	} {
		if f.value != "" {
			typed = append(typed, []string{f.name, f.value})
		}
	}
	for _, f := range [...]struct {
		name string
		set  bool
	}{{"--dpop", l.dpop}, {"--private-network", l.private}, {"--issuer-slash", l.slash}, {"--no-browser", l.noBrowser}, {"--device", l.device}} {
		if f.set {
			typed = append(typed, []string{f.name})
		}
	}
	return append(typed, l.exceptions.typed()...)
}

// options are those of the flags, with the store.
func (l *login) options(ctx context.Context, a *app) ([]auth.Option, error) {
	store, err := a.dial.Store(ctx)
	if err != nil {
		return nil, err
	}
	opts, err := l.demands(a)
	return append(opts, auth.WithStore(store), auth.WithPrincipal(l.profile)), err
}

// demands are the options of the flags, without the store.
func (l *login) demands(a *app) ([]auth.Option, error) {
	opts := []auth.Option{
		auth.WithClientName("mcpctl"), auth.WithScopes(l.scopes...), auth.WithTransport(a.dial.LoginTransport()), auth.WithTrace(a.traceLogin), auth.WithSharedLogins(),
	}
	if l.clientID != "" {
		secret := ""
		if l.secretEnv != "" {
			var ok bool
			if secret, ok = a.console.Env(l.secretEnv); !ok || secret == "" {
				return nil, failure.Usage("%s: the variable is not set; it takes the name of a variable, not the secret", flags.Variable("--client-secret-env ", l.secretEnv))
			}
			a.dial.Secrets.Keep("client_secret", secret)
		}
		opts = append(opts, auth.WithClient(l.clientID, secret, l.issuer))
	} else if l.secretEnv != "" {
		return nil, failure.Usage("--client-secret-env belongs to --client-id")
	} else if l.issuer != "" {
		opts = append(opts, auth.WithIssuer(l.issuer))
	}
	if l.metadata != "" {
		opts = append(opts, auth.WithClientMetadata(l.metadata))
	}
	if l.redirect != "" {
		if u, err := url.Parse(l.redirect); err == nil && u.Scheme == "https" {
			return nil, failure.Usage("--redirect: the redirect URL must be on this machine, as http://127.0.0.1:PORT/callback; an https URL is for a web application")
		}
		opts = append(opts, auth.WithRedirect(l.redirect))
	}
	if l.dpop {
		opts = append(opts, auth.WithDPoP())
	}
	if l.private {
		opts = append(opts, auth.WithPrivateNetwork())
	}
	if l.slash {
		opts = append(opts, auth.WithIssuerSlash())
	}
	if len(l.onlyScopes) > 0 {
		opts = append(opts, auth.WithOnlyScopes(l.onlyScopes...))
	}
	allowed, err := l.exceptions.options(l.issuer)
	return append(opts, allowed...), err
}

// traceLogin shows the steps before a login, with -v.
func (a *app) traceLogin(s auth.Step) {
	switch {
	case s.Err != nil && s.Rule != "":
		a.console.Step("%s: %s", visible.Line(s.Rule), a.dial.Secrets.Hide(s.Err.Error()))
	case s.Err != nil:
		a.console.Step("%s %s: %s", visible.Line(s.What), visible.Line(s.URL), a.dial.Secrets.Hide(s.Err.Error()))
	case s.Rule != "":
		a.console.Step("%s: holds", visible.Line(s.Rule))
	default:
		a.console.Step("%s %s: status %d", visible.Line(s.What), visible.Line(s.URL), s.Status)
	}
}

// login asks the server for its authorization server, and logs in there.
func (a *app) login(ctx context.Context, t target.Target, l *login) error {
	if err := a.dial.MakeFolder(); err != nil {
		return err
	}
	opts, err := l.options(ctx, a)
	if err != nil {
		return err
	}
	opts = append(opts, auth.WithNewLogin())
	if l.device {
		return a.loginElsewhere(ctx, t, opts)
	}
	if !a.console.InTerminal || a.flags.NoInput {
		err := a.greet(ctx, t, auth.HandOff(opts...), "no login was needed for ")
		var out *auth.LoginPendingError
		if !errors.As(err, &out) {
			return err
		}
		return a.handedOff(out, l.next)
	}
	said := "no login was needed for "
	prompt := a.showPage
	if l.noBrowser {
		prompt = a.pastePage
	}
	opts = append(opts, auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
		said = "logged in to "
		return prompt(ctx, p)
	}), auth.WithLoginTime(a.flags.MaxTime))
	return a.connected(ctx, t, auth.Login(opts...), func(who string) { a.console.Note(said + who) })
}

// greet connects to a server and prints its name.
func (a *app) greet(ctx context.Context, t target.Target, by transport.Authorizer, said string) error {
	return a.connected(ctx, t, by, func(who string) { a.console.Note(said + who) })
}

// connected runs f with the name of a server that was connected to.
func (a *app) connected(ctx context.Context, t target.Target, by transport.Authorizer, f func(who string)) error {
	return a.dial.With(ctx, t, func(_ context.Context, c *connect.Connection) error {
		f(visible.Line(c.ServerName()))
		return nil
	}, client.WithAuthorizer(by))
}

// handedOff prints what a person needs to log in elsewhere.
func (a *app) handedOff(out *auth.LoginPendingError, next string) error {
	f := failure.New(failure.KindAuth, mcperrors.NotSent, "a person must log in")
	f.Try, f.LoginURL = append(f.Try, next), out.URL
	if a.console.Format == console.Human {
		f.Silent = true
		soon := ""
		if !out.OpenBefore.IsZero() {
			soon = " before " + out.OpenBefore.Format(time.TimeOnly)
		}
		return errors.Join(a.console.Print(fmt.Sprintf(`A person must log in to %s. Open this page in any browser%s:

  %s

The browser ends at %s, which need not load. Give the whole address
of that page, by %s (in %s), to the standard input of this command:

  %s
`, visible.Line(out.Server), soon, visible.Line(out.URL), visible.Line(out.Redirect),
			out.Expires.Format(time.TimeOnly), console.Rounded(time.Until(out.Expires)), next)), f)
	}
	m := map[string]any{
		"server": out.Server, "issuer": out.Issuer, "url": out.URL, "redirect": out.Redirect,
		"expires": out.Expires.UTC().Format(time.RFC3339), "next": next,
	}
	if !out.OpenBefore.IsZero() {
		m["openBefore"] = out.OpenBefore.UTC().Format(time.RFC3339)
	}
	doc := console.Encode(m)
	if a.console.Format == console.NDJSON {
		return errors.Join(a.console.PrintEvent("login", doc), f)
	}
	return errors.Join(a.console.PrintJSON(doc), f)
}

// finish finishes a login that another run began.
func (a *app) finish(ctx context.Context, t target.Target, l *login) error {
	opts, err := l.options(ctx, a)
	if err != nil {
		return err
	}
	address, err := a.address(l.finish)
	if err != nil {
		return err
	}
	if err := auth.HandOff(opts...).Finish(ctx, t.URL, address); err != nil {
		return a.loginFailure(ctx, err, t)
	}
	return a.greet(ctx, t, auth.Login(append(opts, auth.WithoutLogin())...), "logged in to ")
}

// address reads the address where a browser ended. It has a code that is good for a
// token, so it is no value of a flag, which other users of the machine can see.
func (a *app) address(from string) (string, error) {
	file, ok := strings.CutPrefix(from, "@")
	if !ok {
		f := failure.Usage("--finish takes a file, because a command line is no place for a code")
		f.Try = append(f.Try, "--finish @-", "--finish @FILE")
		return "", f
	}
	in := a.console.In
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return "", failure.Usage("--finish: the file cannot be read: %s", failure.RootCause(err))
		}
		defer opened.Close() //nolint:errcheck // it was only read
		in = opened
	} else if a.console.InTerminal {
		a.console.Note("paste the address of the page where the browser ended, and press Enter:")
	}
	lines := bufio.NewScanner(io.LimitReader(in, 1<<20))
	lines.Buffer(nil, 64<<10)
	for lines.Scan() {
		if line := strings.TrimSpace(string(operand.WithoutMark(lines.Bytes()))); line != "" {
			return line, nil
		}
	}
	return "", failure.Usage("--finish %s: there is no address", from)
}

// showPage opens the page in the browser, and prints it for the case that none opens.
func (a *app) showPage(ctx context.Context, p auth.Prompt) error {
	a.console.Note("log in at " + visible.Line(p.URL))
	err := auth.OpenBrowser(ctx, p.URL)
	if errors.Is(err, auth.ErrNoBrowser) {
		return a.pastePage(ctx, p)
	}
	return err
}

// pastePage has the person open the page elsewhere and paste where it ended.
func (a *app) pastePage(ctx context.Context, p auth.Prompt) error {
	a.console.Note("open this page in any browser and log in:\n\n  " + visible.Line(p.URL) + "\n")
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
