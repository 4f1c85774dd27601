package explain

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// OrHeader is what to do in place of a login at a server that wants one.
const OrHeader = "or add -H 'Authorization: Bearer ${TOKEN}'"

// Login explains why a server gave no access, and names the command that helps, if there
// is one. Where package auth says why it obtained no token, that is the message.
func (x *Explainer) Login(ctx context.Context, f *failure.Failure, err error, t target.Target) {
	var why *auth.Error
	var missing *auth.ScopeError
	var none *auth.NotLoggedInError
	login := []string{"login"}
	if errors.As(err, &none) && none.Bound {
		login = append(login, "--dpop")
	}
	next := x.AuthCommand(t, login...)
	demand, demands := demandOf(err)
	if errors.As(err, &why) {
		f.LoginURL = why.LoginURL
	}
	nobody := errors.Is(err, auth.ErrNotLoggedIn)
	own := x.ownCredentials(t)
	switch {
	case nobody:
		f.Message = "the server wants a login"
		if why != nil && why.Help != "" {
			f.AddNote(visible.Line(AsFlags(why.Help)))
		}
	case errors.As(err, &missing):
		f.Message = visible.Line(missing.Error())
		scopes := slices.Compact(slices.Sorted(slices.Values(slices.Concat(missing.Before, missing.Scopes))))
		login = append(login, "--scope", strings.Join(scopes, ","))
		if missing.Bound {
			login = append(login, "--dpop")
		}
		next = x.AuthCommand(t, login...)
	case why != nil:
		next = x.noToken(f, why, t)
	case own == "none" && demands:
		f.Message = "the server wants a login, and --auth none sends no token"
		f.AddNote("log in, and leave out --auth none")
	case own == "none" || (own == "" && !demands && statusOf(err) == http.StatusForbidden):
		next = "" // nothing says that a login would help
	case own != "":
		next = x.refused(f, own, demand, demands, t)
	case target.NeedsTLS(t.URL):
		f.Message, next = "the server wants a login, and its URL is not https", ""
		f.AddNote("use the https URL of the server: the tokens of a login are not sent without TLS")
	}
	if demands {
		text := demand.Scheme + " token"
		if len(demand.Scopes) > 0 {
			text += " with the scopes " + strings.Join(demand.Scopes, " ")
		}
		f.Add("wants", "%s", visible.Line(text))
	}
	if next == "" {
		return
	}
	f.Try = append([]string{next}, f.Try...)
	if x.LoginFlags == nil && own == "" && (nobody || why == nil) {
		f.Try = append(f.Try, x.otherLogins(ctx, t)...)
	}
	if none != nil && none.Ended == "" && len(none.Damaged) == 0 && demands && x.LoginFlags == nil {
		f.Try = append(f.Try, OrHeader)
	}
}

// refused explains why a server refuses credentials that no login has obtained. A login
// does not help while they are there: the same command would send them again.
func (x *Explainer) refused(f *failure.Failure, own string, demand auth.Demand, demands bool, t target.Target) (next string) {
	of, renew := own, "renew that token, or leave out "+strings.Fields(own)[0]+" and use mcpctl auth login"
	if own == inFile {
		of = "the file of servers"
		renew = "renew or remove the Authorization header of " + visible.Line(t.Typed) + " in that file: it wins over mcpctl auth login"
	}
	switch {
	case demands && demand.Code == "insufficient_scope":
		f.Message = "the token of " + of + " has not the scopes that this request needs"
	case demands:
		f.Message = "the server refuses the token of " + of
	}
	f.AddNote(renew)
	return ""
}

// noToken explains why package auth obtained no token, and returns the command that
// helps.
func (x *Explainer) noToken(f *failure.Failure, why *auth.Error, t target.Target) (next string) {
	f.Message, f.Note = visible.Line(why.Err.Error()), visible.Line(AsFlags(why.Help))
	if why.Reason == auth.ReasonOption {
		f.Message = AsFlags(f.Message)
	}
	if strings.HasPrefix(why.Help, "`mcpctl auth inspect") {
		f.Note = "" // as the command says
	}
	inspect := x.AuthCommand(t, "inspect")
	if why.Reason == auth.ReasonLogin && listening(why) {
		f.AddNote("end the program that has this port, or choose another redirect URL that is registered")
		return ""
	}
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
	case auth.ReasonToken:
		if errors.Is(why, auth.ErrNoClientMethod) && !x.typed("--client-id") {
			return x.AuthCommand(t, "login", "--client-id", "ID", "--issuer", why.Issuer)
		}
	case auth.ReasonLogin, auth.ReasonScope:
	}
	if x.LoginFlags != nil && !again(why) {
		return ""
	}
	return x.AuthCommand(t, "login")
}

// again reports whether a login that failed may succeed if it is begun again.
func again(why *auth.Error) bool {
	for _, reason := range [...]error{auth.ErrNoLogin, auth.ErrLoginExpired, auth.ErrOtherLogin} {
		if errors.Is(why, reason) {
			return true
		}
	}
	return why.LoginURL != "" || why.Help == "" || strings.Contains(why.Help, "log in again") || strings.Contains(why.Help, "begin the login again")
}

// statusOf is the HTTP status that refused a request, 0 for none.
func statusOf(err error) int {
	var e *mcperrors.Error
	if !errors.As(err, &e) || e.HTTP == nil {
		return 0
	}
	return e.HTTP.Status
}

// typed reports whether a flag of the login that runs was typed.
func (x *Explainer) typed(name string) bool {
	return slices.ContainsFunc(x.LoginFlags, func(flag []string) bool { return flag[0] == name })
}

// demandOf is what the server wants that refused a request.
func demandOf(err error) (auth.Demand, bool) {
	var e *mcperrors.Error
	if !errors.As(err, &e) || e.HTTP == nil {
		return auth.Demand{}, false
	}
	return auth.DemandOf(e.HTTP.Header)
}

// inFile is where credentials come from that a file of servers has.
const inFile = "a file of servers"

// ownCredentials says where the credentials of a request come from that no login has
// obtained, "" for none.
func (x *Explainer) ownCredentials(t target.Target) string {
	kind, _, _ := strings.Cut(x.Flags.Auth, ":")
	if kind == "bearer" || kind == "env" || kind == "program" {
		return "--auth " + x.Flags.Auth
	}
	for _, h := range x.Flags.Headers {
		if name, _, _ := strings.Cut(h, ":"); strings.EqualFold(strings.TrimSpace(name), "authorization") || strings.HasPrefix(h, "@") {
			return "-H"
		}
	}
	if t.Entry != nil && t.Entry.Authorized() {
		return inFile
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
	return errors.As(err, &network) && !listening(err)
}

// listening reports whether an address of this machine could not be listened at.
func listening(err error) bool {
	var own *net.OpError
	return errors.As(err, &own) && own.Op == "listen"
}

// AuthCommand is a line of `mcpctl auth` for the server and the profile of this run. In a
// login it repeats the flags of that login, but for those in words.
func (x *Explainer) AuthCommand(t target.Target, words ...string) string {
	words = append([]string{"mcpctl", "auth"}, words...)
	if kind, profile, _ := strings.Cut(x.Flags.Auth, ":"); kind == "profile" && words[2] == "login" {
		words = append(words, "--profile", profile)
	}
	given := slices.Clone(words)
	for _, flag := range x.LoginFlags {
		if !slices.Contains(given, flag[0]) && (words[2] == "login" || !onlyLogin[flag[0]]) {
			words = append(words, flag...)
		}
	}
	if x.Flags.TokenStore != "" {
		words = append(words, "--token-store", x.Flags.TokenStore)
	}
	server := []string{target.Shown(t.URL)}
	if t.Entry != nil && t.Entry.Place != "" {
		server = []string{t.Typed} // whose headers the server may want, too
	}
	return visible.Line(example.Quote(append(words, server...)))
}

// onlyLogin are the flags of `mcpctl auth login` that `mcpctl auth inspect` has not.
var onlyLogin = map[string]bool{"--profile": true, "--redirect": true, "--client-secret-env": true, "--no-browser": true, "--device": true}

// AsFlags writes what package auth says to do with the flags of mcpctl in place of its
// options.
func AsFlags(help string) string {
	return optionNames.Replace(exception.ReplaceAllStringFunc(help, exceptionFlags))
}

// exception is an option of package auth for one authorization server, with its issuer.
var exception = lazyregexp.New(`(WithoutResource|WithAssumedPKCE|WithAuthorizeParams)\(("[^"]*"(, "[^"]*")*)\)`)

// exceptionFlags writes the flags for such an option.
func exceptionFlags(option string) string {
	parts := exception.FindStringSubmatch(option)
	values := strings.Split(strings.Trim(parts[2], `"`), `", "`)
	flags := []string{"--issuer", values[0]}
	for _, param := range values[1:] {
		flags = append(flags, "--authorize-param", param)
	}
	if len(values) == 1 {
		flags = append(flags, optionNames.Replace(parts[1]))
	}
	return example.Quote(flags)
}

var optionNames = strings.NewReplacer(
	"WithoutResource", "--without-resource", "WithAssumedPKCE", "--assume-pkce", "WithAuthorizeParams", "--authorize-param",
	"WithOnlyScopes", "--only-scope",
	"WithClientMetadata", "--client-metadata", "WithClient", "--client-id", "WithDPoP", "--dpop", "WithIssuerSlash", "--issuer-slash",
	"the page of LoginURL", "that page", "WithIssuer", "--issuer", "WithPrivateNetwork", "--private-network", "WithScopes", "--scope",
	"with Device", "with --device", "with Login or HandOff", "without --device",
)
