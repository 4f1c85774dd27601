// Package guard makes an HTTP server an OAuth 2.0 protected resource: it tells
// clients which authorization server to ask (RFC 9728), and lets in only requests
// with an access token of that server for this resource (RFC 6750, RFC 9068), if
// need be with a proof of its key (RFC 9449).
package guard

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Options configures a [Guard].
type Options struct {
	// Issuer is the authorization server, as it names itself. It must be https, or
	// http on this machine.
	Issuer string
	// Resource returns the identifier of the resource: the URL that clients
	// connect to, and the audience of their tokens.
	Resource func() string
	// Scopes are needed for every request.
	Scopes []string
	// ToolScopes are the scopes that single tools need besides, by name.
	ToolScopes map[string][]string
	// Own is a token that the server gives to its own programs. It has every
	// scope. Empty is none.
	Own string
	// MaxBytes bounds the body of a request that [Guard.Tools] reads.
	MaxBytes int
	// Logger gets a line for each refused request, without its token; nil drops it.
	Logger *slog.Logger
}

// A Guard checks the access tokens of requests. It is safe for concurrent use.
type Guard struct {
	opts   Options
	own    [sha256.Size]byte // of a fixed length, so that the time to compare tells nothing
	keys   *keys
	proofs proofs
}

// New returns a guard. It asks the authorization server for nothing before the
// first request with a token. An issuer that is not a URL, or is without TLS and
// not on this machine, is an error.
func New(opts Options) (*Guard, error) {
	u, err := url.Parse(opts.Issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || !protected(u) { // RFC 8414 §2
		return nil, fmt.Errorf("the issuer %q must be an https URL without query and fragment, or http on this machine", opts.Issuer)
	}
	for _, scope := range append(slices.Clone(opts.Scopes), flat(opts.ToolScopes)...) {
		if !isScope(scope) {
			return nil, fmt.Errorf("%q is not a scope", scope)
		}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Guard{opts: opts, own: sha256.Sum256([]byte(opts.Own)), keys: newKeys(opts.Issuer, opts.Logger)}, nil
}

func flat(m map[string][]string) (all []string) {
	for _, each := range m {
		all = append(all, each...)
	}
	return all
}

// isScope reports whether s is a scope-token of RFC 6749 §3.3.
func isScope(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// protected reports whether what is sent to u can be read by its server alone.
func protected(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && Loopback(u.Hostname())
}

// Loopback reports whether a host is this machine by its name or address.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// caller is who sends a request.
type caller struct {
	user    string
	client  string
	scopes  []string
	expires time.Time
	key     string // the thumbprint that the token is bound to, or ""
	own     bool   // a program of this server: it may do everything
}

func (c *caller) has(scopes []string) bool {
	return c.own || !slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(c.scopes, s) })
}

type callerKey struct{}

// Authenticate returns next behind the guard. It serves the metadata of the
// resource itself. The token does not reach next: [auth.TokenInfoFromContext] has
// what it says. go-sdk ties a session to the user that opened it.
func (g *Guard) Authenticate(next http.Handler) http.Handler {
	// The one place that go-sdk takes the identity of a request from. Its own
	// checks and challenges know no error codes and no DPoP.
	known := auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		c, ok := ctx.Value(callerKey{}).(*caller)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Scopes: c.scopes, Expiration: c.expires, UserID: c.user}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resource, err := url.Parse(g.opts.Resource())
		if err != nil || resource.Host == "" {
			g.refuse(w, r, resource, unavailable("the server does not know its own URL"))
			return
		}
		if g.describes(resource, r.URL.Path) {
			auth.ProtectedResourceMetadataHandler(g.metadata(resource)).ServeHTTP(w, r)
			return
		}
		c, no := g.identify(r, resource)
		if no == nil && !c.has(g.opts.Scopes) {
			no = insufficient(g.opts.Scopes)
		}
		if no != nil {
			g.refuse(w, r, resource, no)
			return
		}
		r.Header.Set("Authorization", "Bearer checked") // the token goes no further
		r.Header.Del("DPoP")
		known.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

// wellKnown is where the metadata are, before the path of the resource (RFC 9728 §3).
const wellKnown = "/.well-known/oauth-protected-resource"

// describes reports whether the metadata are served at path: at the root, for the
// resource, and for each URL below it.
func (g *Guard) describes(resource *url.URL, path string) bool {
	rest, ok := strings.CutPrefix(path, wellKnown)
	root := strings.TrimSuffix(resource.Path, "/")
	return ok && (rest == "" || strings.HasPrefix(rest+"/", root+"/"))
}

// metadata is the document of the resource (RFC 9728 §2). Scopes that only single
// tools need are not in it: clients ask for them when a tool needs them.
func (g *Guard) metadata(resource *url.URL) *oauthex.ProtectedResourceMetadata {
	return &oauthex.ProtectedResourceMetadata{
		Resource: resource.String(), AuthorizationServers: []string{g.opts.Issuer},
		ScopesSupported: g.opts.Scopes, BearerMethodsSupported: []string{"header"},
		ResourceName: "Mainstay reference server", DPOPSigningAlgValuesSupported: algorithmNames(),
	}
}

// metadataURL is where the metadata of the resource are, for a challenge.
func metadataURL(resource *url.URL) string {
	return resource.Scheme + "://" + resource.Host + wellKnown + strings.TrimSuffix(resource.EscapedPath(), "/")
}

// maxToken bounds an access token, in bytes.
const maxToken = 16 << 10

// identify returns who sends r, or why it is refused.
func (g *Guard) identify(r *http.Request, resource *url.URL) (*caller, *refusal) {
	given := r.Header.Values("Authorization")
	if len(given) == 0 {
		return nil, &refusal{status: http.StatusUnauthorized, reason: "an access token is required"}
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.TrimSpace(token)
	dpop := strings.EqualFold(scheme, "DPoP")
	switch {
	case len(given) > 1:
		return nil, malformed("there are several Authorization headers")
	case !dpop && !strings.EqualFold(scheme, "Bearer"):
		return nil, &refusal{status: http.StatusUnauthorized, reason: "an access token is required"}
	case !isToken68(token):
		return nil, malformed("the Authorization header holds no access token")
	case len(token) > maxToken:
		return nil, invalid(dpop, "the access token is too long")
	}
	sum := sha256.Sum256([]byte(token))
	if g.opts.Own != "" && !dpop && subtle.ConstantTimeCompare(sum[:], g.own[:]) == 1 {
		return &caller{own: true}, nil
	}
	c, err := g.check(r.Context(), token, resource.String())
	var down *unavailableError
	switch {
	case errors.As(err, &down):
		return nil, unavailable("the authorization server cannot be asked for its keys; try again")
	case err != nil:
		return nil, invalid(dpop, err.Error())
	case !dpop && c.key != "": // RFC 9449 §7.2
		return nil, invalid(dpop, "the access token is bound to a key; send it with the DPoP scheme and a proof")
	case dpop && c.key == "": // RFC 9449 §7.1
		return nil, invalid(dpop, "the access token is not bound to a key; send it with the Bearer scheme")
	case dpop:
		if no := g.proofs.check(r, resource, sum, c.key); no != nil {
			return nil, no
		}
	}
	return c, nil
}

// isToken68 reports whether s is a token in the syntax of RFC 6750 §2.1.
func isToken68(s string) bool {
	s = strings.TrimRight(s, "=")
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._~+/", r)
	})
}
