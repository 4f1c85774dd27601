// Package authtest is a remote MCP server and its authorization server, for tests of
// logins. Every secret that they give out has "planted-secret" in it.
package authtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// World is an MCP server and its authorization server, both on this machine.
type World struct {
	MCP, AS *httptest.Server

	// Set these fields before the first request, and read them after the last one.

	Metadata map[string]any    // of the authorization server
	Resource map[string]any    // of the MCP server
	Needs    string            // the scope that a call needs
	NoError  bool              // a call without it is refused without an error code
	Lifetime int               // of tokens, in seconds
	Access   map[string]string // valid tokens and their scopes
	Callback func(url.Values)  // changes the answer of a login
	Seen     map[string]int    // calls that were run, by id
	Never    bool              // the MCP server refuses every token
	Public   bool              // only tools/call needs a token

	// Every is the number of calls after which all tokens expire, 0 for never. They expire
	// again only after each request that was refused for the last expiry has been accepted:
	// a client cannot tell two expiries in a row from a server that refuses new tokens. After
	// Expiries expiries, the result of a call is "enough" instead of "done".
	Every, Expiries int
	Expired         int // the number of expiries so far
	// Grace makes used refresh tokens work.
	Grace bool

	// AnyResource makes the authorization server accept any resource parameter.
	AnyResource bool

	mu      sync.Mutex
	lost    int                   // refresh tokens that were refused
	sent    map[string]int        // how often each refresh token was sent
	ran     int                   // calls since the last expiry
	waiting map[string]bool       // requests that were refused since, by id
	codes   map[string]url.Values // the authorization request of each code
	refresh map[string]bool
	bound   map[string]bool // clients that were registered to use DPoP always
	count   int
	asked   []string
	secrets []string // that programs sent
	grants
	clients []map[string]any
	// whose has the subject of each code and token.
	whose    map[string]string
	requests []Request
}

// New starts both servers, for the time of a test.
func New(t testing.TB) *World {
	w := &World{codes: map[string]url.Values{}, Access: map[string]string{}, refresh: map[string]bool{}, sent: map[string]int{}, bound: map[string]bool{}, Seen: map[string]int{}, Lifetime: 3600, waiting: map[string]bool{}, whose: map[string]string{}}
	w.grants = grants{pushed: map[string]url.Values{}, devices: map[string]*device{}}
	// The port may be that of an earlier server, which a client of another test still calls.
	w.mu.Lock()
	defer w.mu.Unlock()
	w.AS = httptest.NewServer(http.HandlerFunc(w.serveAS))
	t.Cleanup(w.AS.Close)
	w.MCP = httptest.NewServer(http.HandlerFunc(w.serveMCP))
	t.Cleanup(w.MCP.Close)
	w.Metadata = map[string]any{
		"issuer": w.AS.URL, "authorization_endpoint": w.AS.URL + "/authorize", "token_endpoint": w.AS.URL + "/token",
		"registration_endpoint": w.AS.URL + "/register", "revocation_endpoint": w.AS.URL + "/revoke", "code_challenge_methods_supported": []string{"S256"},
		"authorization_response_iss_parameter_supported": true, "response_types_supported": []string{"code"},
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"},
	}
	w.Resource = map[string]any{"resource": w.MCP.URL + "/mcp", "authorization_servers": []string{w.AS.URL}}
	return w
}

func (w *World) next(kind string) string {
	w.count++
	return kind + "-planted-secret-" + strconv.Itoa(w.count)
}

// Asked returns how many requests for something the authorization server got: for a kind of
// document, "register", "authorize", "push", "device", "revoke", or a type of grant.
func (w *World) Asked(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.asked {
		if c == what {
			n++
		}
	}
	return n
}

func answer(rw http.ResponseWriter, status int, v any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(v)
}

func (w *World) serveAS(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		w.asked = append(w.asked, "metadata")
		answer(rw, 200, w.Metadata)
	case "/register":
		w.asked = append(w.asked, "register")
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked)
		w.clients = append(w.clients, maps.Clone(asked))
		id := "registered-" + strconv.Itoa(len(w.asked))
		asked["client_id"], w.bound[id] = id, asked["dpop_bound_access_tokens"] == true
		answer(rw, 201, asked)
	case "/authorize":
		w.asked = append(w.asked, "authorize")
		q := w.request(r.URL.Query())
		if q == nil {
			answer(rw, 400, map[string]any{"error": "invalid_request"})
			return
		}
		code := w.next("code")
		w.codes[code], w.whose[code] = q, person(r)
		to, _ := url.Parse(q.Get("redirect_uri"))
		back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {w.AS.URL}}
		if w.Callback != nil {
			w.Callback(back)
		}
		kept := to.Query() // RFC 6749 section 3.1.2
		maps.Copy(kept, back)
		to.RawQuery = kept.Encode()
		http.Redirect(rw, r, to.String(), http.StatusFound)
	case "/token":
		w.token(rw, r)
	case "/par":
		w.push(rw, r)
	case "/device_authorization":
		w.authorizeDevice(rw, r)
	case "/device":
		w.agree(rw, r)
	case "/revoke":
		_ = r.ParseForm()
		w.asked = append(w.asked, "revoke")
		delete(w.Access, r.PostForm.Get("token"))
		delete(w.refresh, r.PostForm.Get("token"))
	default:
		http.NotFound(rw, r)
	}
}

// Accepts reports whether the MCP server accepts an access token.
func (w *World) Accepts(token string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, valid := w.Access[token]
	return valid
}

func (w *World) token(rw http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	w.secret(r)
	grantType := r.PostForm.Get("grant_type")
	w.asked = append(w.asked, grantType)
	scope, subject := r.PostForm.Get("scope"), ""
	if !w.AnyResource && r.PostForm.Get("resource") != w.MCP.URL+"/mcp" {
		answer(rw, 400, map[string]any{"error": "invalid_target"})
		return
	}
	kind := "Bearer"
	if r.Header.Get("DPoP") != "" { // the proof is not looked at
		kind = "DPoP"
	} else if w.bound[r.PostForm.Get("client_id")] {
		answer(rw, 400, map[string]any{"error": "invalid_grant", "error_description": "this client must use DPoP"})
		return
	}
	switch grantType {
	case "authorization_code":
		asked := w.codes[r.PostForm.Get("code")]
		subject = w.whose[r.PostForm.Get("code")]
		delete(w.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if asked == nil || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") ||
			asked.Get("redirect_uri") != r.PostForm.Get("redirect_uri") {
			answer(rw, 400, map[string]any{"error": "invalid_grant"})
			return
		}
		scope = asked.Get("scope")
	case "urn:ietf:params:oauth:grant-type:device_code":
		var refusal string
		if scope, refusal = w.deviceScope(r.PostForm.Get("device_code")); refusal != "" {
			answer(rw, 400, map[string]any{"error": refusal})
			return
		}
	case "refresh_token":
		subject = w.whose[r.PostForm.Get("refresh_token")]
		w.sent[r.PostForm.Get("refresh_token")]++
		if !w.refresh[r.PostForm.Get("refresh_token")] {
			w.lost++
			answer(rw, 400, map[string]any{"error": "invalid_grant"})
			return
		}
		if !w.Grace {
			delete(w.refresh, r.PostForm.Get("refresh_token"))
		}
	case "client_credentials":
		if id, secret, _ := r.BasicAuth(); id != "robot" || secret != "robot-planted-secret" {
			answer(rw, 401, map[string]any{"error": "invalid_client"})
			return
		}
	}
	access, refresh := w.next("access"), w.next("refresh")
	w.Access[access], w.refresh[refresh] = scope, true
	w.whose[access], w.whose[refresh] = subject, subject
	out := map[string]any{"access_token": access, "token_type": kind, "expires_in": w.Lifetime}
	switch grantType {
	case "client_credentials":
	case "urn:ietf:params:oauth:grant-type:token-exchange":
		out["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
	default:
		out["refresh_token"] = refresh
	}
	answer(rw, 200, out)
}

// place returns where the metadata of the MCP server is: for its origin, or for its path.
func (w *World) place() string {
	const place = "/.well-known/oauth-protected-resource"
	if w.Resource["resource"] == w.MCP.URL {
		return place
	}
	return place + "/mcp"
}

func (w *World) serveMCP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.URL.Path == w.place() {
		w.asked = append(w.asked, "resource")
		answer(rw, 200, w.Resource)
		return
	}
	if r.URL.Path != "/mcp" || r.Method != http.MethodPost {
		rw.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
	}
	_ = json.Unmarshal(body, &m)
	id, _ := json.Marshal(m.ID)
	if m.Method == "tools/call" {
		w.expire()
	}
	_, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	scope, valid := w.Access[token]
	if (!ok || !valid || w.Never) && !(w.Public && m.Method != "tools/call") {
		if m.ID != nil {
			w.waiting[string(id)] = true
		}
		rw.Header().Add("WWW-Authenticate", "Negotiate")
		rw.Header().Add("WWW-Authenticate", `Bearer resource_metadata="`+w.MCP.URL+w.place()+`", scope="read"`)
		rw.WriteHeader(http.StatusUnauthorized)
		return
	}
	if m.Method == "tools/call" && w.Needs != "" && !strings.Contains(" "+scope+" ", " "+w.Needs+" ") {
		code := `error="insufficient_scope", `
		if w.NoError {
			code = ""
		}
		rw.Header().Set("WWW-Authenticate", `Bearer `+code+`scope="`+w.Needs+`"`)
		rw.WriteHeader(http.StatusForbidden)
		return
	}
	delete(w.waiting, string(id))
	var result any
	switch m.Method {
	case "initialize":
		result = map[string]any{"protocolVersion": asked(body), "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "w", "version": "1"}}
	case "tools/list":
		w.note(w.whose[token], m.Method, body)
		result = map[string]any{"tools": tools(w.whose[token])}
	case "tools/call":
		w.Seen[string(id)]++
		w.ran++
		text := "done"
		if w.Every > 0 && w.Expired == w.Expiries && w.ran >= w.Every {
			text = "enough"
		}
		if subject := w.whose[token]; subject != "" {
			text += " for " + subject
		}
		w.note(w.whose[token], m.Method, body)
		result = map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
	default:
		if m.ID == nil {
			rw.WriteHeader(http.StatusAccepted)
			return
		}
		answer(rw, 200, map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "no"}})
		return
	}
	answer(rw, 200, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

// Lost returns how many refresh tokens were refused.
func (w *World) Lost() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// Sent returns how often each refresh token was sent.
func (w *World) Sent() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.sent)
}

// Registered returns the descriptions with which programs registered.
func (w *World) Registered() []map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.clients)
}

// Abandon drops the requests that were refused and not sent again, because their process exited.
func (w *World) Abandon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.waiting)
}

// Runs returns the calls that were run, by id.
func (w *World) Runs() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.Seen)
}

// expire makes all tokens invalid when it is time.
func (w *World) expire() {
	if w.Every > 0 && w.Expired < w.Expiries && w.ran >= w.Every && len(w.waiting) == 0 {
		clear(w.Access)
		w.Expired++
		w.ran = 0
	}
}

// asked returns the revision of an initialize request.
func asked(body []byte) string {
	var m struct {
		Params struct {
			Version string `json:"protocolVersion"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &m)
	return m.Params.Version
}

// Revoke makes all access tokens invalid.
func (w *World) Revoke() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.Access)
}

// Forget makes all tokens invalid, refresh tokens included.
func (w *World) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.Access)
	clear(w.refresh)
}
