package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// counted has a HeaderFunc and an Authorizer that count their calls.
type counted struct {
	mu                             sync.Mutex
	headers, authorize, challenged int
	token                          string // of now
	byUser                         bool   // the token is that of the user in the context
	once                           bool   // credentials are for one request
}

func (c *counted) HeaderFunc(context.Context) (http.Header, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers++
	return http.Header{"X-Tenant": {"acme"}}, nil
}

func (c *counted) Authorize(ctx context.Context, _ transport.AuthorizedRequest) (*transport.Credentials, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.authorize++
	token := c.token
	if user, _ := ctx.Value(userKey{}).(string); c.byUser && user != "" {
		token = user
	}
	return c.credentials(token), nil
}

func (c *counted) Challenged(context.Context, transport.Challenge) (*transport.Credentials, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.challenged++
	c.token = "renewed"
	return c.credentials(c.token), nil
}

func (c *counted) credentials(token string) *transport.Credentials {
	scope := token
	if token == "renewed" {
		scope = "first" // the same caller's
	}
	return &transport.Credentials{Header: http.Header{"Authorization": {token}}, Scope: scope, Once: c.once}
}

// take returns the counts and begins them again.
func (c *counted) take() (headers, authorize, challenged int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	headers, authorize, challenged = c.headers, c.authorize, c.challenged
	c.headers, c.authorize, c.challenged = 0, 0, 0
	return headers, authorize, challenged
}

// keyedPeer is a listPeer behind a door that scripts can shut.
type keyedPeer struct {
	*listPeer
	mem *memhttp.Server

	mu     sync.Mutex
	next   map[string][]func(http.ResponseWriter, *http.Request) bool // by method; true if it has answered
	tokens map[string][]string                                        // those that came, by method
}

func newKeyedPeer(t *testing.T, version string) *keyedPeer {
	t.Helper()
	p := &keyedPeer{
		listPeer: &listPeer{t: t, version: version, http: true, ttl: 60_000, tools: peerTool, result: peerReturn, asked: map[string]int{}, answers: map[string]func(json.RawMessage) string{}},
		next:     map[string][]func(http.ResponseWriter, *http.Request) bool{}, tokens: map[string][]string{},
	}
	p.mem = memhttp.New(p)
	return p
}

func (p *keyedPeer) script(method string, steps ...func(http.ResponseWriter, *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next[method] = steps
}

// counts returns how many requests came, by method.
func (p *keyedPeer) counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := map[string]int{}
	for method, tokens := range p.tokens {
		n[method] = len(tokens)
	}
	return n
}

// since returns how many more came since then.
func (p *keyedPeer) since(then map[string]int) map[string]int {
	n := p.counts()
	for method, before := range then {
		if n[method] -= before; n[method] == 0 {
			delete(n, method)
		}
	}
	return n
}

func (p *keyedPeer) came(method string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tokens[method]
}

func (p *keyedPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(body, &m) == nil && m.Method != "" {
		method = m.Method
	}
	p.mu.Lock()
	p.tokens[method] = append(p.tokens[method], r.Header.Get("Authorization"))
	var step func(http.ResponseWriter, *http.Request) bool
	if steps := p.next[method]; len(steps) > 0 {
		step, p.next[method] = steps[0], steps[1:]
	}
	p.mu.Unlock()
	if p.version < "2026" && r.Method == http.MethodPost {
		w.Header().Set("Mcp-Session-Id", "s1")
	}
	if step != nil && step(w, r) {
		return
	}
	p.listPeer.ServeHTTP(w, r)
}

func statusStep(code int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(code)
		return true
	}
}

func cutStep(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }

// answersForms accepts every form.
var answersForms = client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
	return client.AcceptForm(map[string]any{})
})
