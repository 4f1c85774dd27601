package auth_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// play is a provider of authorization servers with its own host names and the rules of its
// documentation. It uses the authorization server of a World, whose MCP server names it.
type play struct {
	*authtest.World
	issuer         string
	documents      map[string]map[string]any // by host and path
	page, token    string                    // host and path of the endpoints
	register       string                    // "" for none; a refusal if it is not open
	open           bool                      // programs register themselves
	client, secret string                    // that somebody registered, "" for none

	// refuses returns the error code and description for an authorization request.
	refuses func(asked url.Values) (code, description string)
	// refusesForm does that for a request for a token.
	refusesForm func(form url.Values) (code, description string)
	// renewable reports whether a login gets a refresh token, nil for always.
	renewable func(asked url.Values) bool
	// elsewhere reports whether a login gets a token that is not for the MCP server.
	elsewhere func(asked url.Values) bool

	server *httptest.Server
	mu     sync.Mutex
	codes  map[string]url.Values
	pages  []url.Values // authorization requests
	forms  []url.Values // requests for tokens
}

// start starts a provider whose MCP server names its issuer.
func (p *play) start(t *testing.T) *play {
	t.Helper()
	p.World = authtest.New(t)
	p.AnyResource, p.codes = true, map[string]url.Values{}
	p.Resource["authorization_servers"] = []string{p.issuer}
	p.Callback = func(back url.Values) { back.Del("iss") }
	p.server = httptest.NewTLSServer(p)
	t.Cleanup(p.server.Close)
	return p
}

// transport leads to the provider by all names but those of this machine.
func (p *play) transport() *http.Transport {
	trusted := p.server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	return &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: trusted, ServerName: "example.com"}, // of its certificate
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if host, _, err := net.SplitHostPort(address); err == nil && net.ParseIP(host) == nil {
				address = p.server.Listener.Addr().String()
			}
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		},
	}
}

// reach are options for a program and a person who reach the provider.
func (p *play) reach() []auth.Option {
	return []auth.Option{
		auth.WithTransport(p.transport()),
		auth.WithPrompt(func(ctx context.Context, prompt auth.Prompt) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, prompt.URL, nil)
			if err != nil {
				return err
			}
			resp, err := (&http.Client{Transport: p.transport()}).Do(req)
			if err != nil {
				return err
			}
			return resp.Body.Close()
		}),
	}
}

// asked are the authorization requests and the requests for tokens.
func (p *play) asked() (pages, forms []url.Values) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pages, p.forms
}

func (p *play) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := r.Host + r.URL.Path
	document, ok := p.documents[at]
	switch {
	case ok:
		reply(rw, http.StatusOK, document)
	case at == p.page:
		p.authorize(rw, r)
	case at == p.token:
		p.issue(rw, r)
	case at == p.register && p.open:
		p.pass(rw, r, "/register")
	case at == p.register:
		reply(rw, http.StatusForbidden, map[string]any{"error": "access_denied"})
	default:
		rw.Header().Set("Content-Type", "text/html")
		rw.WriteHeader(http.StatusNotFound)
	}
}

func reply(rw http.ResponseWriter, status int, v any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(v)
}

// pass passes a request to the World.
func (p *play) pass(rw http.ResponseWriter, r *http.Request, path string) {
	r.URL.Path = path
	p.AS.Config.Handler.ServeHTTP(rw, r)
}

// authorize answers the browser of a person who agrees to everything.
func (p *play) authorize(rw http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	p.pages = append(p.pages, asked)
	if !p.open && asked.Get("client_id") != p.client {
		rw.WriteHeader(http.StatusBadRequest)
		return
	}
	if code, description := p.refuses(asked); code != "" {
		back := url.Values{"error": {code}, "error_description": {description}, "state": {asked.Get("state")}}
		http.Redirect(rw, r, asked.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
		return
	}
	out := httptest.NewRecorder()
	p.pass(out, r, "/authorize")
	to, err := url.Parse(out.Header().Get("Location"))
	if err != nil {
		rw.WriteHeader(http.StatusInternalServerError)
		return
	}
	p.codes[to.Query().Get("code")] = asked
	http.Redirect(rw, r, to.String(), http.StatusFound)
}

// issue answers a request for a token.
func (p *play) issue(rw http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	form := r.PostForm
	p.forms = append(p.forms, form)
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = form.Get("client_id"), form.Get("client_secret")
	}
	if !p.open && (id != p.client || secret != p.secret) {
		reply(rw, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	if p.refusesForm != nil {
		if code, description := p.refusesForm(form); code != "" {
			reply(rw, http.StatusBadRequest, map[string]any{"error": code, "error_description": description})
			return
		}
	}
	asked, first := p.codes[form.Get("code")]
	out := httptest.NewRecorder()
	p.pass(out, r, "/token")
	var token map[string]any
	_ = json.Unmarshal(out.Body.Bytes(), &token)
	if first && p.renewable != nil && !p.renewable(asked) {
		delete(token, "refresh_token")
	}
	if first && p.elsewhere != nil && p.elsewhere(asked) {
		token["access_token"], token["refresh_token"] = "opaque-planted-secret", nil
	}
	reply(rw, out.Code, token)
}

// wants reports whether a request asks for a scope.
func wants(asked url.Values, scope string) bool {
	return strings.Contains(" "+asked.Get("scope")+" ", " "+scope+" ")
}

// at makes the documents of a provider: host and path of each, and what it has besides
// the endpoints.
func (p *play) at(place string, more map[string]any) *play {
	document := map[string]any{
		"issuer": p.issuer, "authorization_endpoint": "https://" + p.page, "token_endpoint": "https://" + p.token,
		"response_types_supported": []string{"code"},
	}
	if p.register != "" {
		document["registration_endpoint"] = "https://" + p.register
	}
	maps.Copy(document, more)
	if p.documents == nil {
		p.documents = map[string]map[string]any{}
	}
	p.documents[place] = document
	return p
}
