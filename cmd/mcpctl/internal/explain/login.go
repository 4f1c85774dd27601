package explain

import (
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
)

// Login explains why a server gave no access, and names the command that helps. Where
// package auth says why it obtained no token, that is the message.
func (x *Explainer) Login(f *failure.Failure, err error, t target.Target) {
	var why *auth.Error
	var missing *auth.MissingScopes
	login := x.authCommand(t, "login")
	inspect := x.authCommand(t, "inspect")
	errors.As(err, &why)
	switch {
	case errors.Is(err, auth.ErrNotLoggedIn):
		f.Message = "the server wants a login"
	case errors.As(err, &missing):
		f.Message = visible.Line(missing.Error())
		scopes := slices.Compact(slices.Sorted(slices.Values(slices.Concat(missing.Before, missing.Scopes))))
		login = x.authCommand(t, "login", "--scope", strings.Join(scopes, ","))
	case why != nil:
		f.Message, f.Note = visible.Line(why.Err.Error()), visible.Line(asFlags(why))
		if why.Issuer != "" {
			f.Add("authorization server", "%s", visible.Line(why.Issuer))
		}
		switch {
		case unanswered(why):
			f.Message = "the authorization server does not answer: " + f.Message
			login = inspect
		case why.Reason == auth.ReasonOption:
			f.Kind, login = failure.KindUsage, ""
		case why.Reason == auth.ReasonStore:
			login = ""
		case why.Reason == auth.ReasonDiscovery, why.Reason == auth.ReasonRefused:
			login = inspect
		case why.Reason == auth.ReasonRegistration && why.Issuer != "":
			login = x.authCommand(t, "login", "--client-id", "ID", "--issuer", why.Issuer)
		}
	}
	if login != "" {
		f.Try = append([]string{login}, f.Try...)
	}
}

// unanswered reports whether a login failed because nobody answered at the
// authorization server.
func unanswered(e *auth.Error) bool {
	var network net.Error
	return errors.As(e, &network)
}

// authCommand is a line of `mcpctl auth` for the server and the profile of this run.
func (x *Explainer) authCommand(t target.Target, words ...string) string {
	words = append([]string{"mcpctl", "auth"}, words...)
	if kind, profile, _ := strings.Cut(x.Flags.Auth, ":"); kind == "profile" && words[2] == "login" {
		words = append(words, "--profile", profile)
	}
	server := []string{target.Shown(t.URL)}
	if t.Entry != nil {
		server = []string{t.Typed} // whose headers the server may want, too
	}
	return visible.Line(example.Quote(append(words, server...)))
}

// asFlags is what an error of package auth says to do, with the flags of mcpctl in
// place of its options.
func asFlags(e *auth.Error) string {
	return strings.NewReplacer(
		"set it with WithClient", "name it with --client-id",
		"leave out WithDPoP", "leave out --dpop",
		"say so with WithIssuer", "say so with --issuer",
	).Replace(e.Help)
}
