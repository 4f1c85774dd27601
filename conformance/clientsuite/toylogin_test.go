// The toy login is a small OAuth client for MCP servers, written from the RFCs for one
// purpose: it obeys them, and it can be told to have one of many defects, so that a suite
// for clients can be shown to find them. It shares no code with the logins of this
// project.
package clientsuite_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// toyLoginWay says how to log in.
type toyLoginWay struct {
	Flow, ClientID, ClientSecret, PrivateKey, Issuer, ClientMetadata string
	DPoP                                                             bool
}

// toyLogin logs in to one server.
type toyLogin struct {
	// HTTP makes requests, without following redirects.
	HTTP *http.Client
	// Server is the URL of the MCP endpoint.
	Server string
	Way    toyLoginWay
	// Revision is the one that is spoken, Local reports whether a host may be reached
	// without TLS.
	Revision string
	Local    func(host string) bool
	// Print writes a line of output, Greet greets the server again.
	Print func(text string)
	Greet func(ctx context.Context)
	// Defect is the one it has; empty for none.
	Defect string

	turn      chan struct{} // a lock that virtual time can pass
	token     token
	asked     []string // the scopes of the last login
	clients   map[string]registration
	known     *server
	key       *ecdsa.PrivateKey
	nonces    map[string]string
	lastProof string
	state     string
	greeting  bool
	// resource and byIssuer are what defects keep of a login at another server.
	resource string
	byIssuer *toyLogin
}

type token struct {
	access, refresh, kind string
	client                registration
	server                *server
	resource              string
}

// newToyLogin completes a toyLogin.
func newToyLogin(c toyLogin) *toyLogin {
	c.turn, c.clients, c.nonces = make(chan struct{}, 1), map[string]registration{}, map[string]string{}
	return &c
}

// after gives the login what a defect keeps of the one before, which is for another server.
func (c *toyLogin) after(before *toyLogin) {
	switch {
	case c.is("login-shares-token"):
		c.token = before.token
	case c.is("login-first-resource"):
		c.resource = before.Server
	case c.is("login-token-by-issuer"):
		c.byIssuer = before
	}
}

func (c *toyLogin) is(defect string) bool { return c.Defect == defect }

const (
	most    = 2 // logins for one request
	forever = 40
)

// Do sends a request, and logs in where the server demands it.
func (c *toyLogin) Do(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
	}
	limit := most
	if c.is("login-forever") {
		limit = forever
	}
	logins, nonces, denied := 0, 0, 0
	renewed := false
	for first := true; ; first = false {
		if !first && c.is("login-new-id") {
			body = bytes.Replace(body, []byte(`"id":`), []byte(`"id":9`), 1)
		}
		sent := c.current()
		resp, err := c.once(req, body, sent, !first)
		if err != nil {
			return nil, err
		}
		if to := resp.Header.Get("Location"); resp.StatusCode == http.StatusTemporaryRedirect && c.is("login-token-everywhere") {
			again := req.Clone(ctx)
			if again.URL, err = again.URL.Parse(to); err != nil {
				return nil, err
			}
			again.Host = again.URL.Host
			_ = resp.Body.Close()
			return c.once(again, body, sent, false)
		}
		asked := challengeOf(c, resp.Header)
		scope := resp.StatusCode == http.StatusForbidden && (asked["error"] == "insufficient_scope" && !c.is("login-no-step-up") || c.is("login-on-403"))
		if resp.StatusCode != http.StatusUnauthorized && !scope {
			if !first && c.is("login-sends-twice") && bytes.Contains(body, []byte(`"id"`)) {
				if twice, err := c.once(req, body, sent, true); err == nil {
					_ = twice.Body.Close()
				}
			}
			return resp, nil
		}
		c.nonce(resp)
		if asked["error"] == "use_dpop_nonce" && nonces == 0 && !c.is("login-no-nonce") {
			nonces++
			_ = resp.Body.Close()
			continue
		}
		if logins >= limit {
			return resp, nil
		}
		c.turn <- struct{}{}
		err = nil
		switch {
		case c.token.access != sent.access && !c.is("login-renews-each"): // another request has logged in meanwhile
		case !scope && !renewed && c.token.refresh != "" && !c.is("login-never-refreshes"):
			renewed = true
			if c.refresh(ctx) != nil {
				if c.is("login-gives-up") {
					err = errors.New("the token could not be renewed")
					break
				}
				logins++
				err = c.login(ctx, asked, scope)
			}
		default:
			logins++
			err = c.login(ctx, asked, scope)
		}
		<-c.turn
		if err != nil && errors.Is(err, errDenied) && c.is("login-asks-again") && denied < 5 {
			denied++
			_ = resp.Body.Close()
			continue
		}
		if err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
		_ = resp.Body.Close()
		if c.is("login-greets-again") && c.Greet != nil && !c.greeting {
			c.greeting = true
			c.Greet(ctx)
		}
	}
}

func (c *toyLogin) current() token {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	return c.token
}

// once sends the request with a token.
func (c *toyLogin) once(req *http.Request, body []byte, t token, again bool) (*http.Response, error) {
	r := req.Clone(req.Context())
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	r.GetBody = nil
	if t.access != "" && (!c.is("login-forgets-token") || again) {
		switch {
		case c.is("login-token-in-query"):
			q := r.URL.Query()
			q.Set("access_token", t.access)
			r.URL.RawQuery = q.Encode()
			r.Header.Set("Authorization", "Bearer "+t.access)
		case strings.EqualFold(t.kind, "DPoP") && !c.is("login-bearer-dpop"):
			r.Header.Set("Authorization", "DPoP "+t.access)
			r.Header.Set("DPoP", c.proof(r.Method, c.Server, t.access))
		default:
			r.Header.Set("Authorization", "Bearer "+t.access)
		}
	}
	return c.HTTP.Do(r)
}

var errDenied = errors.New("the person said no")

// login gets a token for what a challenge asks for.
func (c *toyLogin) login(ctx context.Context, asked map[string]string, more bool) error {
	at, err := c.find(ctx, asked)
	if err != nil {
		return err
	}
	if c.is("login-never") {
		return errors.New("no login")
	}
	if b := c.byIssuer; b != nil && b.known != nil && b.known.Issuer == at.server.Issuer {
		c.token, c.byIssuer = b.token, nil
		return nil
	}
	if c.resource != "" {
		at.resource = c.resource
	}
	scopes := c.scopes(asked, at, more)
	n := 1
	if c.is("login-twice") {
		n = 2
	}
	for range n {
		if c.Way.Flow != "" {
			err = c.machine(ctx, at, scopes)
		} else {
			err = c.person(ctx, at, scopes)
		}
	}
	if err == nil {
		c.asked = scopes
	}
	if err == nil && c.is("login-prints") {
		c.Print("logged in with " + c.token.access)
	}
	return err
}

// scopes chooses what to ask for.
func (c *toyLogin) scopes(asked map[string]string, at *place, more bool) []string {
	scopes := strings.Fields(asked["scope"])
	switch {
	case c.is("login-all-scopes") && len(at.scopes) > 0, len(scopes) == 0 && !c.is("login-no-scopes"):
		scopes = slices.Clone(at.scopes)
	}
	if len(scopes) == 0 && c.is("login-default-scope") {
		scopes = []string{"openid"}
	}
	switch {
	case more && c.is("login-old-scopes"):
		scopes = c.asked
	case more && !c.is("login-only-new"):
		for _, s := range c.asked {
			if !slices.Contains(scopes, s) {
				scopes = append(scopes, s)
			}
		}
	}
	if c.is("login-offline") {
		scopes = append(scopes, "offline_access")
	}
	return scopes
}

// patience bounds one exchange.
const patience = 10 * time.Second

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// get fetches a document.
func (c *toyLogin) get(ctx context.Context, at string) (*answer, error) {
	redirects := 5
	if c.is("login-redirected-forever") {
		redirects = 100
	}
	return c.exchange(ctx, http.MethodGet, at, nil, nil, redirects)
}

// largest is the largest document that is read.
const largest = 1 << 20

func (c *toyLogin) exchange(ctx context.Context, method, at string, body []byte, header http.Header, redirects int) (*answer, error) {
	if err := c.allowed(at); err != nil {
		return nil, err
	}
	if !c.is("login-waits") {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 && (method == http.MethodGet || c.is("login-follows-posts")) {
		if redirects == 0 {
			return nil, errors.New("too many redirects")
		}
		return c.exchange(ctx, method, to.String(), body, header, redirects-1)
	}
	limit := int64(largest + 1)
	if c.is("login-reads-all") {
		limit = math.MaxInt64
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err != nil {
		return nil, err
	}
	if len(data) > largest {
		return nil, errors.New("the document is too large")
	}
	return &answer{resp.StatusCode, resp.Header, data}, nil
}
