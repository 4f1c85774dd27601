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
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// Login explains why a server gave no access, and names the command that helps. Where
// package auth says why it obtained no token, that is the message.
func (x *Explainer) Login(f *failure.Failure, err error, t target.Target) {
	var why *auth.Error
	var missing *auth.MissingScopes
	next := x.AuthCommand(t, "login")
	demand, demands := demandOf(err)
	errors.As(err, &why)
	switch own := x.ownCredentials(t); {
	case errors.Is(err, auth.ErrNotLoggedIn):
		f.Message = "the server wants a login"
	case errors.As(err, &missing):
		f.Message = visible.Line(missing.Error())
		scopes := slices.Compact(slices.Sorted(slices.Values(slices.Concat(missing.Before, missing.Scopes))))
		next = x.AuthCommand(t, "login", "--scope", strings.Join(scopes, ","))
	case why != nil:
		next = x.noToken(f, why, t)
	case demands && own == "none":
		f.Message = "the server wants a login, and --auth none sends no token"
	case demands && demand.Code == "insufficient_scope":
		f.Message = "the token of " + own + " has not the scopes that this request needs"
	case demands && own != "":
		f.Message = "the server refuses the token of " + own
	}
	if demands {
		text := demand.Scheme + " token"
		if len(demand.Scopes) > 0 {
			text += " with the scopes " + strings.Join(demand.Scopes, " ")
		}
		f.Add("wants", "%s", visible.Line(text))
	}
	if next != "" {
		f.Try = append([]string{next}, f.Try...)
	}
}

// noToken explains why package auth obtained no token, and returns the command that
// helps.
func (x *Explainer) noToken(f *failure.Failure, why *auth.Error, t target.Target) (next string) {
	f.Message, f.Note = visible.Line(why.Err.Error()), visible.Line(AsFlags(why.Help))
	if strings.Contains(why.Help, "mcpctl auth inspect") {
		f.Note = "" // as the command says
	}
	inspect := x.AuthCommand(t, "inspect")
	if Unanswered(why) {
		f.Add("reason", "%s", f.Message)
		f.Message = "the authorization server does not answer"
		if why.Issuer != "" {
			f.Add("authorization server", "%s", visible.Line(why.Issuer))
		}
		return inspect
	}
	if why.Issuer != "" {
		f.Add("authorization server", "%s", visible.Line(why.Issuer))
	}
	switch why.Reason {
	case auth.ReasonOption:
		f.Kind = failure.KindUsage
		return ""
	case auth.ReasonStore:
		return ""
	case auth.ReasonDiscovery, auth.ReasonRefused:
		return inspect
	case auth.ReasonRegistration:
		if why.Issuer != "" {
			return x.AuthCommand(t, "login", "--client-id", "ID", "--issuer", why.Issuer)
		}
		return inspect
	case auth.ReasonLogin, auth.ReasonToken, auth.ReasonScope:
	}
	return x.AuthCommand(t, "login")
}

// demandOf is what the server wants that refused a request.
func demandOf(err error) (auth.Demand, bool) {
	var e *mcperrors.Error
	if !errors.As(err, &e) || e.HTTP == nil {
		return auth.Demand{}, false
	}
	return auth.DemandOf(e.HTTP.Header)
}

// ownCredentials says where the credentials of a request come from that no login has
// obtained, "" for none.
func (x *Explainer) ownCredentials(t target.Target) string {
	kind, _, _ := strings.Cut(x.Flags.Auth, ":")
	if kind == "bearer" || kind == "env" {
		return "--auth " + x.Flags.Auth
	}
	for _, h := range x.Flags.Headers {
		if name, _, _ := strings.Cut(h, ":"); strings.EqualFold(strings.TrimSpace(name), "authorization") || strings.HasPrefix(h, "@") {
			return "-H"
		}
	}
	if t.Entry != nil && t.Entry.Authorized() {
		return "the file of servers"
	}
	if kind == "none" {
		return kind
	}
	return ""
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
