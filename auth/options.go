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
	onlyScopes bool                 // request no other scopes
	exceptions map[string]exception // by issuer

	dpop       bool
	prompt     func(context.Context, Prompt) error
	noLogin    bool
	newLogin   bool
	shared     bool
	loginFor   func(context.Context) bool // nil for all calls
	patience   time.Duration
	base       http.RoundTripper // nil for the default
	private    bool
	strict     bool
	noFallback bool
	anySlash   bool
	onStep     func(Step)
	onEvent    []func(Event)
	ahead      bool
	bad        error // the first option that is wrong

	challenge *transport.Challenge // for [Inspect]
}

// WithStore sets the store of tokens, for example files ([OpenFiles]). The default is
// memory: the person logs in again when the program starts again.
func WithStore(s Store) Option {
	return func(c *config) {
		if s == nil {
			c.wrong("WithStore needs a store")
			return
		}
		c.store = s
	}
}

// WithPrincipal names the person or account that the tokens belong to. A store keeps the
// tokens of different principals apart. The default is "". For many principals, use
// [WithPrincipals].
func WithPrincipal(name string) Option { return func(c *config) { c.principal = name } }

// WithClient sets the client id, and the secret if there is one, of a client that was
// registered at the authorization server. issuer is the issuer identifier of that server:
// the client is never used at another one. "" allows any server. Use that only if you trust
// the MCP server to name its authorization server.
func WithClient(id, secret, issuer string) Option {
	return func(c *config) {
		if id == "" {
			c.wrong("WithClient needs the client id")
			return
		}
		c.clientID, c.clientSecret, c.clientIssuer = id, secret, issuer
	}
}

// WithIssuer allows only the authorization server with this issuer identifier. By default the
// MCP server names its authorization server.
func WithIssuer(issuer string) Option { return func(c *config) { c.clientIssuer = issuer } }

// WithClientMetadata sets the URL of a document that describes this program. The URL is the
// client id at authorization servers that support such documents. It is https and has a
// path; [ClientMetadata] makes the document.
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

// WithClientName sets the name of the program on the page that asks for access.
// The default is "Mainstay".
func WithClientName(name string) Option { return func(c *config) { c.clientName = name } }

// WithScopes requests scopes in addition to those that the server requires.
func WithScopes(scopes ...string) Option {
	return func(c *config) { c.scopes = append(c.scopes, scopes...) }
}

// WithOnlyScopes requests these scopes and ignores those that the server requires or lists.
// Use it for fewer scopes, or for a provider with other names for them. Without arguments
// the login requests no scope, and the authorization server decides. offline_access is not
// added. If the server refuses a call with 403 and names scopes, a login also requests
// those. The scopes of [WithScopes] are added, too.
func WithOnlyScopes(scopes ...string) Option {
	return func(c *config) { c.scopes, c.onlyScopes = append(c.scopes, scopes...), true }
}

// WithDPoP binds tokens to a key of this program (RFC 9449): a stolen token is useless
// without the key. Authorization servers that do not support it are refused.
//
// # Experimental
//
// The key and its algorithm may still change.
func WithDPoP() Option { return func(c *config) { c.dpop = true } }

// WithPrompt sets the function that asks a person to log in. By default the URL is opened in
// the browser and printed on stderr. f runs on a goroutine of its own; ctx ends with the
// login. If f fails, the login fails.
func WithPrompt(f func(ctx context.Context, p Prompt) error) Option {
	return func(c *config) { c.prompt = f }
}

// WithoutLogin disables logins: stored tokens are used and renewed, and where a login would
// begin, the call fails with [ErrNotLoggedIn]. It is for programs that must not wait for a
// person, while another program logs in.
func WithoutLogin() Option { return func(c *config) { c.noLogin = true } }

// WithNewLogin ignores stored tokens, so that the person logs in when the server asks for
// it. A token that cannot be stored is then an error. It is for programs that log in for
// others.
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

// WithTransport sets the transport of requests to authorization servers, for example one with
// the certificates of a company, or one that writes spans. nil is the default, which uses
// the proxy of the environment (HTTPS_PROXY), if there is one.
//
// A [*http.Transport] is copied, and each address is checked when it is dialed. Behind a
// proxy, and with any other RoundTripper, the host is looked up on this machine before each
// request, and its addresses are checked. The proxy or the RoundTripper may connect
// elsewhere, so it must block private addresses itself. The RoundTripper is called from
// many goroutines. It must not follow redirects. It may panic. A request that continues
// after its context ended is abandoned.
func WithTransport(t http.RoundTripper) Option {
	return func(c *config) {
		if own, ok := t.(*http.Transport); ok && own == nil {
			t = nil
		}
		c.base = t
	}
}

// WithPrivateNetwork allows authorization servers on private addresses, such as those of a
// company's network. By default requests go only to public addresses, and to this machine if
// the MCP server is on it.
func WithPrivateNetwork() Option { return func(c *config) { c.private = true } }

// WithStrictResource refuses resource metadata for a parent path of the server's URL.
func WithStrictResource() Option { return func(c *config) { c.strict = true } }

// WithoutFallback refuses servers without resource metadata, which revision 2025-03-26
// allowed.
func WithoutFallback() Option { return func(c *config) { c.noFallback = true } }

// WithIssuerSlash accepts an authorization server whose issuer identifier differs from the
// expected one only by a slash at the end. Some large providers need it.
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
