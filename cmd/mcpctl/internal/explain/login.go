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
	login := x.AuthCommand(t, "login")
	inspect := x.AuthCommand(t, "inspect")
	errors.As(err, &why)
	switch {
	case errors.Is(err, auth.ErrNotLoggedIn):
		f.Message = "the server wants a login"
	case errors.As(err, &missing):
		f.Message = visible.Line(missing.Error())
		scopes := slices.Compact(slices.Sorted(slices.Values(slices.Concat(missing.Before, missing.Scopes))))
		login = x.AuthCommand(t, "login", "--scope", strings.Join(scopes, ","))
	case why != nil:
		f.Message, f.Note = visible.Line(why.Err.Error()), visible.Line(AsFlags(why.Help))
		if why.Issuer != "" {
			f.Add("authorization server", "%s", visible.Line(why.Issuer))
		}
		switch {
		case Unanswered(why):
			f.Message = "the authorization server does not answer: " + f.Message
			login = inspect
		case why.Reason == auth.ReasonOption:
			f.Kind, login = failure.KindUsage, ""
		case why.Reason == auth.ReasonStore:
			login = ""
		case why.Reason == auth.ReasonDiscovery, why.Reason == auth.ReasonRefused:
			login = inspect
		case why.Reason == auth.ReasonRegistration && why.Issuer != "":
			login = x.AuthCommand(t, "login", "--client-id", "ID", "--issuer", why.Issuer)
		}
	}
	if login != "" {
		f.Try = append([]string{login}, f.Try...)
	}
}

// Unanswered reports whether a login failed because nobody answered at the
// authorization server.
func Unanswered(err error) bool {
	var network net.Error
	return errors.As(err, &network)
}

// AuthCommand is a line of `mcpctl auth` for the server and the profile of this run.
func (x *Explainer) AuthCommand(t target.Target, words ...string) string {
	words = append([]string{"mcpctl", "auth"}, words...)
	if kind, profile, _ := strings.Cut(x.Flags.Auth, ":"); kind == "profile" && words[2] == "login" {
		words = append(words, "--profile", profile)
	}
	if x.Flags.TokenStore != "" {
		words = append(words, "--token-store", x.Flags.TokenStore)
	}
	server := []string{target.Shown(t.URL)}
	if t.Entry != nil {
		server = []string{t.Typed} // whose headers the server may want, too
	}
	return visible.Line(example.Quote(append(words, server...)))
}

// AsFlags writes what package auth says to do with the flags of mcpctl in place of its
// options.
func AsFlags(help string) string { return optionNames.Replace(help) }

var optionNames = strings.NewReplacer(
	"WithClientMetadata", "--client-metadata", "WithClient", "--client-id", "WithDPoP", "--dpop", "WithIssuerSlash", "--issuer-slash",
	"WithIssuer", "--issuer", "WithPrivateNetwork", "--private-network", "WithScopes", "--scope",
)
