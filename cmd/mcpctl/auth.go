package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

func newAuthCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Log in to servers, and see who is logged in",
		Long: `Log in to servers that want it (OAuth). Tokens are kept in a folder that only
you can read, are renewed by themselves, and are used by every other command.

The folder is mainstay/tokens in your configuration folder; MCPCTL_AUTH_DIR
names another one. With --token-store keychain they are encrypted with a key in
the keychain of your system.`,
		Example: `  mcpctl auth inspect https://api.example.com/mcp
  mcpctl auth login https://api.example.com/mcp
  mcpctl auth ls
  mcpctl auth logout https://api.example.com/mcp`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLoginCmd(a), newLogoutCmd(a), newAccountsCmd(a), newTokenCmd(a), newInspectCmd(a))
	return cmd
}

// remote returns the URL of a command that takes nothing else.
func (a *app) remote(cmd *cobra.Command, args []string) (target.Target, error) {
	t, rest, err := a.dial.Server(target.NewLine(cmd, args))
	var f *failure.Failure
	switch {
	case errors.As(err, &f):
		f.Try = slices.DeleteFunc(f.Try, func(line string) bool { return strings.Contains(line, " -- ") }) // no program
		return t, f
	case err != nil:
		return t, err
	case t.Argv != nil:
		return t, failure.Usage("a program needs no login: give the URL of a server")
	case len(rest) > 0:
		return t, failure.Usage("%s takes only a server: unexpected operand %s", cmd.CommandPath(), rest[0])
	}
	return t, a.dial.Trusted(cmd.Context(), t)
}

// loginFailure is an error of package auth outside a connection.
func (a *app) loginFailure(ctx context.Context, err error, t target.Target) *failure.Failure {
	var own *failure.Failure
	if errors.As(err, &own) {
		return own
	}
	f := failure.New(failure.KindAuth, mcperrors.NotSent, "%s", err)
	a.explain.Login(ctx, f, err, t)
	missingLogin(f, err)
	return f
}

// missingLogin adds what is known about a login that is missing: why it has ended, and
// which files it may be in.
func missingLogin(f *failure.Failure, err error) {
	var why *auth.NotLoggedInError
	if !errors.As(err, &why) || f.Kind != failure.KindAuth {
		return
	}
	if why.Ended != "" {
		f.Message = "your login has ended: the authorization server says " + visible.Line(why.Ended)
	}
	damagedFiles(f, why.Damaged)
}

// damagedFiles adds files of tokens that cannot be read, and what to do about them.
func damagedFiles(f *failure.Failure, files []*auth.DamagedError) {
	if len(files) == 0 {
		return
	}
	remove := []string{"rm"}
	for _, file := range files {
		f.Add("damaged", "%s: %s", visible.Line(file.Path), visible.Line(file.Reason))
		remove = append(remove, file.Path)
	}
	f.AddNote("a login may be in a damaged file: delete the file and log in again")
	f.Try = append(f.Try, visible.Line(example.Quote(remove)))
}

// unreadable is the failure of a logout that may have left tokens in damaged files.
func unreadable(files []*auth.DamagedError) *failure.Failure {
	f := failure.New(failure.KindAuth, mcperrors.NotSent, "%d damaged files could not be read: tokens in them may be valid", len(files))
	if len(files) == 1 {
		f.Message = "1 damaged file could not be read: tokens in it may be valid"
	}
	damagedFiles(f, files)
	f.Note = "take the tokens back at the authorization server, and delete the files"
	return f
}

func newLogoutCmd(a *app) *cobra.Command {
	var profile string
	var all bool
	cmd := &cobra.Command{
		Use:   "logout [SERVER]",
		Short: "Take the tokens for a server back, and delete them",
		Long: `Take the tokens for a server back, at its authorization server if that allows
it, and delete them. If they cannot be taken back, they are deleted all the
same. A login that waits for a person is ended.`,
		Example: `  mcpctl auth logout https://api.example.com/mcp
  mcpctl auth logout --profile work https://api.example.com/mcp
  mcpctl auth logout --all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all {
				if len(args) > 0 {
					return failure.Usage("--all is every server: unexpected operand %s", args[0])
				}
				return a.logoutAll(cmd.Context(), profile, cmd.Flags().Changed("profile"))
			}
			t, err := a.remote(cmd, args)
			if err != nil {
				return err
			}
			found, err := a.logout(cmd.Context(), t.URL, profile)
			var missing *auth.NotLoggedInError
			if errors.As(err, &missing) {
				return unreadable(missing.Damaged)
			}
			if err != nil {
				f := a.loginFailure(cmd.Context(), err, t)
				var why *auth.Error
				if errors.As(err, &why) {
					f.Try = nil // nothing is left here to take back
				}
				return f
			}
			if !found {
				a.console.Note("nobody was logged in to " + target.Shown(t.URL))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&profile, "profile", "", "`name` of the login")
	cmd.Flags().BoolVar(&all, "all", false, "log out of every server, with every profile or with that of --profile")
	a.completes(cmd)
	return cmd
}

// logout logs out of one server, also if the login waits for a person.
func (a *app) logout(ctx context.Context, server, profile string) (found bool, err error) {
	l := login{profile: profile}
	opts, err := l.options(ctx, a)
	if err != nil {
		return false, err
	}
	begun := a.begun(ctx, server, profile)
	as := ""
	if profile != "" {
		as = " as " + visible.Line(profile)
	}
	found, err = auth.Login(opts...).Logout(ctx, server)
	switch {
	case found:
		a.console.Note("logged out of " + target.Shown(server) + as)
	case begun && err == nil:
		a.console.Note("the login to " + target.Shown(server) + as + " that waited for a person is ended")
	}
	return found || begun, err
}

// begun reports whether a login waits for a person.
func (a *app) begun(ctx context.Context, server, profile string) bool {
	store, err := a.dial.Store(ctx)
	if err != nil {
		return false // as the logout reports
	}
	accounts, _ := list(ctx, store, time.Now()) // those that cannot be read are reported by the logout, too
	return slices.ContainsFunc(accounts, func(c account) bool {
		return c.State == "pending" && c.Profile == profile && target.SameServer(c.endpoint, server)
	})
}

// logoutAll logs out everywhere. What fails at one server keeps nobody logged in at the
// next.
func (a *app) logoutAll(ctx context.Context, profile string, chosen bool) error {
	store, err := a.dial.Store(ctx)
	if err != nil {
		return err
	}
	accounts, err := list(ctx, store, time.Now())
	damaged := auth.DamagedFiles(err)
	if err != nil && len(damaged) == 0 {
		return failure.New(failure.KindAuth, mcperrors.NotSent, "%s", visible.Line(err.Error()))
	}
	var f *failure.Failure
	found := false
	for _, c := range accounts {
		if chosen && c.Profile != profile {
			continue
		}
		one, err := a.logout(ctx, c.endpoint, c.Profile)
		found = found || one
		if err != nil {
			f = cmp.Or(f, failure.New(failure.KindAuth, mcperrors.NotSent, "not every server took its tokens back"))
			f.Add("server", "%s", a.dial.Secrets.Hide(err.Error()))
		}
	}
	switch {
	case f != nil:
		damagedFiles(f, damaged)
		return f
	case len(damaged) > 0:
		return unreadable(damaged)
	case !found:
		a.console.Note("nobody was logged in anywhere")
	}
	return nil
}

func newTokenCmd(a *app) *cobra.Command {
	var profile string
	cmd := &cobra.Command{
		Use:   "token [SERVER]",
		Short: "Print the access token for a server, for another program",
		Long: `Print the access token for a server, for another program. A token that has
expired is renewed first. Anyone who has the token has your access: keep it out
of files and logs.`,
		Example: `  curl -H "Authorization: Bearer $(mcpctl auth token $URL)" $URL
  mcpctl auth token https://api.example.com/mcp
  mcpctl auth token --profile work https://api.example.com/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.remote(cmd, args)
			if err != nil {
				return err
			}
			l := login{profile: profile}
			opts, err := l.options(cmd.Context(), a)
			if err != nil {
				return err
			}
			token, err := auth.Login(opts...).Token(cmd.Context(), t.URL)
			if err != nil {
				a.explain.ProfileFlag = "--profile"
				if profile != "" {
					a.flags.Auth = "profile:" + profile
				}
				f := a.loginFailure(cmd.Context(), err, t)
				var missing *auth.NotLoggedInError
				if errors.As(err, &missing) && missing.Ended == "" {
					f.Message = "no token is stored for this server" // which was not asked
				}
				return f
			}
			if a.console.Format == console.Human || a.console.Format == console.Raw {
				return a.console.Print(token + "\n")
			}
			return a.console.PrintJSON(console.Encode(map[string]string{"token": token}))
		},
	}
	cmd.Flags().StringVar(&profile, "profile", "", "`name` of the login")
	a.completes(cmd)
	return cmd
}

// account is one line of `auth ls`.
type account struct {
	Server  string   `json:"server"`
	Issuer  string   `json:"issuer"`
	Client  string   `json:"client"`
	Profile string   `json:"profile,omitempty"`
	Scopes  []string `json:"scopes,omitempty"`
	// State is valid, renewable (with the next call), expired, or pending: a login that
	// was begun and not finished.
	State   string `json:"state"`
	Expires string `json:"expires,omitempty"`
	DPoP    bool   `json:"dpop,omitempty"`
	Store   string `json:"store"`

	endpoint string
	end      time.Time
}

func newAccountsCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the servers that you are logged in to",
		Long: `List the servers that you are logged in to, with the time that is left of each
token. -o json has the scopes, the client, and where the tokens are kept, too.`,
		Example: `  mcpctl auth ls
  mcpctl auth ls -o json
  mcpctl auth ls --token-store keychain`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			accounts, store, err := a.accounts(cmd.Context())
			if err != nil {
				return err
			}
			a.console.Step("tokens are in %s", store)
			switch {
			case a.console.Format == console.NDJSON:
				for _, c := range accounts {
					if err := a.console.PrintEvent("login", console.Encode(c)); err != nil {
						return err
					}
				}
				return nil
			case a.console.Format != console.Human:
				return a.console.PrintJSON(console.Encode(accounts))
			case len(accounts) == 0:
				a.console.Note("nobody is logged in anywhere")
				return nil
			}
			rows := [][]string{{"SERVER", "PROFILE", "STATE", "AUTHORIZATION SERVER", "SCOPES"}}
			alike := map[[3]string]int{}
			for _, c := range accounts {
				alike[[3]string{c.Server, c.Profile, c.Issuer}]++
			}
			for _, c := range accounts {
				at := c.Issuer
				if alike[[3]string{c.Server, c.Profile, c.Issuer}] > 1 {
					at += " (client " + c.Client + ")"
				}
				rows = append(rows, []string{c.Server, cmp.Or(c.Profile, "-"), c.words(time.Now()), at, cmp.Or(strings.Join(c.Scopes, " "), "-")})
			}
			return a.console.PrintTable(rows)
		},
	}
}

// accounts returns the logins of the store, and what the store is.
func (a *app) accounts(ctx context.Context) ([]account, string, error) {
	store, err := a.dial.Store(ctx)
	if err != nil {
		return nil, "", err
	}
	name := fmt.Sprint(store)
	accounts, err := list(ctx, store, time.Now())
	if err != nil && accounts == nil {
		return nil, name, failure.New(failure.KindAuth, mcperrors.NotSent, "%s", err)
	}
	if err != nil {
		a.console.Warn("%s", err)
	}
	for i := range accounts {
		accounts[i].Store = name
	}
	return accounts, name, nil
}

// list returns the logins of a store. An error beside some is about the others.
func list(ctx context.Context, store auth.Store, now time.Time) ([]account, error) {
	keys, err := store.List(ctx)
	if err != nil && len(keys) == 0 {
		return nil, err
	}
	accounts := []account{}
	for _, key := range keys {
		r, failed := store.Load(ctx, key)
		if failed != nil && !errors.Is(failed, auth.ErrNotFound) { // else it was deleted meanwhile
			err = errors.Join(err, failed)
		}
		state, end := stateOf(r, now)
		if failed != nil || state == "" {
			continue
		}
		endpoint := cmp.Or(key.Server, key.Resource)
		c := account{
			Server: target.Shown(endpoint), Issuer: key.Issuer, Client: key.ClientID, Profile: key.Principal,
			Scopes: r.Scopes, State: state, DPoP: !r.Proof.Empty(), endpoint: endpoint, end: end,
		}
		if !end.IsZero() {
			c.Expires = end.UTC().Format(time.RFC3339)
		}
		accounts = append(accounts, c)
	}
	return accounts, err
}

// stateOf describes what a record is good for and until when, "" for one that has only the
// registration of a client.
func stateOf(r auth.Record, now time.Time) (state string, end time.Time) {
	end = r.Token.Expiry
	switch {
	case r.Token.Access.Empty() && r.Pending != nil && now.Before(r.Pending.Expires):
		return "pending", r.Pending.Expires
	case r.Token.Access.Empty():
		return "", end
	case end.IsZero() || now.Before(end):
		return "valid", end
	case !r.Token.Refresh.Empty():
		return "renewable", end
	}
	return "expired", end
}

// words is the state for people.
func (c account) words(now time.Time) string {
	switch left := console.Left(c.end.Sub(now)); {
	case c.State == "valid" && !c.end.IsZero():
		return "valid for " + left
	case c.State == "pending":
		return "waits for a login, for " + left
	case c.State == "renewable":
		return "renewed with the next call"
	}
	return c.State
}

// completes lets a shell complete the server and the profile of a command with those
// that somebody is logged in to.
func (a *app) completes(cmd *cobra.Command) {
	cmd.ValidArgsFunction = a.completion(func(c account) string { return c.Server })
	_ = cmd.RegisterFlagCompletionFunc("profile", a.completion(func(c account) string { return c.Profile })) // fails without the flag
}

// completion completes with the names that logins have.
func (a *app) completion(name func(account) string, more ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		accounts, _, err := a.accounts(cmd.Context())
		names := slices.Clone(more)
		for _, c := range accounts {
			if n := name(c); err == nil && n != "" {
				names = append(names, n)
			}
		}
		slices.Sort(names)
		return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeAuth completes --auth.
func (a *app) completeAuth() cobra.CompletionFunc {
	return a.completion(func(c account) string {
		if c.Profile == "" {
			return ""
		}
		return "profile:" + c.Profile
	}, "auto", "none", "bearer:@", "env:")
}
