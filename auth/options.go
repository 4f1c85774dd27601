package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Option changes how an [Authorizer] obtains tokens.
type Option func(*config)

// config is what the options set.
type config struct {
	store     Store
	principal string
	// principals returns the principal of a context, nil for the one of principal.
	principals func(context.Context) (string, error)

	clientID, clientSecret, clientIssuer string
	metadataURL, clientName              string
	key                                  grant.Signer // of the client, nil for a secret or none
	redirect                             string

	scopes     []string
	onlyScopes bool                 // scopes are all to ask for
	exceptions map[string]exception // by issuer

	dpop     bool
	prompt   func(context.Context, Prompt) error
	noLogin  bool
	newLogin bool
	patience time.Duration
	base     http.RoundTripper // nil for the default
	private  bool
	strict   bool
	noLegacy bool
	anySlash bool
	onStep   func(Step)
	onEvent  []func(Event)
	ahead    bool
	bad      error // the first option that is wrong

	challenge *transport.Challenge // for [Inspect]
}

// WithStore keeps tokens in a store, for example in files ([OpenFiles]). The default
// keeps them in memory: the person logs in again after the program has ended.
func WithStore(s Store) Option {
	return func(c *config) {
		if s == nil {
			c.wrong("WithStore needs a store")
			return
		}
		c.store = s
	}
}

// WithPrincipal names the person or account that the tokens belong to. A store keeps
// the tokens of different principals apart. The default is "". For many of them, see
// [WithPrincipals].
func WithPrincipal(name string) Option { return func(c *config) { c.principal = name } }

// WithClient sets a client id, and a secret if there is one, that were registered in
// advance at the authorization server. issuer is the issuer identifier of that server:
// the client is never used at another one. "" allows any server, which is right only
// if the MCP server is trusted to name its authorization server.
func WithClient(id, secret, issuer string) Option {
	return func(c *config) {
		if id == "" {
			c.wrong("WithClient needs the client id")
			return
		}
		c.clientID, c.clientSecret, c.clientIssuer = id, secret, issuer
	}
}

// WithIssuer sets the issuer identifier of the one authorization server that this
// program uses. Without it, the MCP server names it.
func WithIssuer(issuer string) Option { return func(c *config) { c.clientIssuer = issuer } }

// WithClientMetadata sets the URL of a document that describes this program, which
// serves as its client id where the authorization server supports that. The URL is
// https and has a path; [ClientMetadata] makes the document.
func WithClientMetadata(at string) Option {
	return func(c *config) {
		if err := checkMetadataURL(at); err != nil {
			c.wrong(err.Error())
			return
		}
		c.metadataURL = at
	}
}

func checkMetadataURL(at string) error {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.Path == "" || u.Path == "/" || u.User != nil || u.Fragment != "" {
		return errors.New("the URL of the client metadata must be https and have a path, as https://example.com/client.json")
	}
	return nil
}

// WithClientName sets the name that people see when they are asked to grant access.
// The default is "Mainstay".
func WithClientName(name string) Option { return func(c *config) { c.clientName = name } }

// WithScopes asks for scopes in addition to those that the server asks for.
func WithScopes(scopes ...string) Option {
	return func(c *config) { c.scopes = append(c.scopes, scopes...) }
}

// WithOnlyScopes asks for these scopes and no others, whatever the server asks for or
// lists: for fewer than that, or for a provider that has other names for them. Without
// any, the login asks for no scope and the authorization server decides. A call that the
// server refuses with 403 and the scopes that it needs still leads to a login with those
// in addition. offline_access is not added. With [WithScopes], both count.
func WithOnlyScopes(scopes ...string) Option {
	return func(c *config) { c.scopes, c.onlyScopes = append(c.scopes, scopes...), true }
}

// WithDPoP binds tokens to a key of this program (RFC 9449): a stolen token is of no
// use without the key. Authorization servers that do not support it are refused.
func WithDPoP() Option { return func(c *config) { c.dpop = true } }

// WithPrompt sets how a person is asked to log in. By default the URL is opened in the
// browser and printed on stderr. f runs on a goroutine of its own; ctx ends when the
// login is over. If f fails, the login fails.
func WithPrompt(f func(ctx context.Context, p Prompt) error) Option {
	return func(c *config) { c.prompt = f }
}

// WithoutLogin makes an Authorizer use and renew stored tokens, and never ask a person:
// where a login would begin, it fails with [ErrNotLoggedIn]. It is for programs that
// must not wait, when another program logs in.
func WithoutLogin() Option { return func(c *config) { c.noLogin = true } }

// WithNewLogin is for programs whose purpose is the login. Stored tokens are ignored, so
// the person logs in when the server asks for it, and a token that cannot be stored is an
// error.
func WithNewLogin() Option { return func(c *config) { c.newLogin = true } }

// WithLoginTime sets how long a person has to log in. The default is five minutes.
func WithLoginTime(d time.Duration) Option {
	return func(c *config) {
		if d <= 0 {
			c.wrong("the time to log in must be more than 0")
			return
		}
		c.patience = d
	}
}

// WithTransport sets what sends requests to authorization servers, for example a transport
// with the certificates of a company, or one that writes spans. nil means the default,
// which uses the proxy of the environment (HTTPS_PROXY), if there is one.
//
// Of a [*http.Transport], a copy is used, and each address is checked when it is dialed.
// Behind a proxy, and with any other RoundTripper, this machine looks up the host before
// each request and checks the addresses it finds. It cannot see where the proxy or the
// RoundTripper connects to: they must keep requests away from private addresses. The
// RoundTripper runs on goroutines of its own, many at a time. It must follow no redirects.
// It may panic. A request that outlives its context is given up.
func WithTransport(t http.RoundTripper) Option {
	return func(c *config) {
		if own, ok := t.(*http.Transport); ok && own == nil {
			t = nil
		}
		c.base = t
	}
}

// WithPrivateNetwork allows authorization servers on private addresses, such as those
// of a company's network. By default only public addresses are reached, and this
// machine if the MCP server is on it.
func WithPrivateNetwork() Option { return func(c *config) { c.private = true } }

// WithStrictResource refuses resource metadata for a parent path of the server's URL.
func WithStrictResource() Option { return func(c *config) { c.strict = true } }

// WithoutLegacy refuses servers without resource metadata, which revision 2025-03-26
// allowed.
func WithoutLegacy() Option { return func(c *config) { c.noLegacy = true } }

// WithIssuerSlash accepts an authorization server whose issuer identifier differs from
// the expected one by nothing but a slash at the end, as that of some large providers
// does.
func WithIssuerSlash() Option { return func(c *config) { c.anySlash = true } }

// WithTrace calls f for each document that is fetched and each rule that is checked
// before a login.
func WithTrace(f func(Step)) Option { return func(c *config) { c.onStep = f } }

func (c *config) wrong(text string) {
	if c.bad == nil {
		c.bad = errors.New(text)
	}
}

func newConfig(opts []Option) config {
	c := config{clientName: "Mainstay", patience: 5 * time.Minute}
	for _, o := range opts {
		if o != nil {
			o(&c)
		}
	}
	if c.store == nil {
		c.store = NewMemory()
	}
	if c.principals != nil && c.principal != "" {
		c.wrong("WithPrincipal and WithPrincipals exclude each other")
	}
	if c.prompt == nil {
		c.prompt = openBrowser
	}
	slices.Sort(c.scopes)
	c.scopes = slices.Compact(c.scopes)
	return c
}
