package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// tap stands at the issuer's URL in front of an authorization server. It passes
// everything on and notes what the clients of OAuth do.
type tap struct {
	*httptest.Server

	proxy atomic.Pointer[httputil.ReverseProxy]

	mu   sync.Mutex
	seen notes
}

// notes are what was seen since the last reset.
type notes struct {
	registrations int
	authorized    []string    // the scopes of each page that was opened
	challenged    bool        // each of them had a challenge of S256
	grants        []grant     // answered requests at the token endpoint
	revoked       int         // tokens that the server took back
	endpoint      string      // of tokens
	auth          http.Header // how the client authenticated there last
	form          url.Values  // and the parameters that it did that with
	pushed        bool        // a request was pushed (RFC 9126)
	refusals      []string    // error codes of the token endpoint
}

// grant is a token request and its answer.
type grant struct {
	kind    string // grant_type
	status  int
	used    string // the refresh token in the request
	refresh string // the refresh token in the answer
}

func newTap() *tap {
	t := &tap{}
	t.Server = httptest.NewServer(t)
	return t
}

// forward begins to pass requests on to the server at target.
func (t *tap) forward(target string) error {
	to, err := url.Parse(target)
	if err != nil {
		return err
	}
	t.proxy.Store(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // the server is to see the issuer
		},
		ModifyResponse: t.note,
		FlushInterval:  -1,                                                      // streams of events
		ErrorLog:       slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // what breaks off at the end
	})
	return nil
}

// ServeHTTP implements [http.Handler].
func (t *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	proxy := t.proxy.Load()
	if proxy == nil {
		http.Error(w, "the server has not started", http.StatusServiceUnavailable)
		return
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); r.Method == http.MethodPost && kind == "application/x-www-form-urlencoded" {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		form, _ := url.ParseQuery(string(body))
		r = r.WithContext(withForm(r.Context(), form))
	}
	proxy.ServeHTTP(w, r)
}

// note looks at an answer.
func (t *tap) note(resp *http.Response) error {
	r, form := resp.Request, formOf(resp.Request.Context())
	t.mu.Lock()
	defer t.mu.Unlock()
	query := r.URL.Query()
	switch {
	case form.Has("grant_type"):
		return t.noteGrant(resp, form)
	case form.Has("token") && strings.Contains(r.URL.Path, "revo"):
		if resp.StatusCode == http.StatusOK {
			t.seen.revoked++
		}
	case form.Get("response_type") == "code" && resp.StatusCode == http.StatusCreated:
		t.seen.pushed = true
		t.seen.authorized = append(t.seen.authorized, form.Get("scope"))
		t.seen.challenged = form.Get("code_challenge_method") == "S256"
	case r.Method == http.MethodGet && query.Get("response_type") == "code" && query.Has("client_id") && query.Has("redirect_uri") && !query.Has("sig"):
		t.seen.authorized = append(t.seen.authorized, query.Get("scope"))
		t.seen.challenged = query.Get("code_challenge_method") == "S256"
	case r.Method == http.MethodPost && resp.StatusCode == http.StatusCreated && strings.Contains(r.URL.Path, "reg"):
		t.seen.registrations++
	}
	return nil
}

func (t *tap) noteGrant(resp *http.Response, form url.Values) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var answer struct {
		Refresh string `json:"refresh_token"`
		Error   string `json:"error"`
	}
	_ = json.Unmarshal(body, &answer)
	if answer.Error == "use_dpop_nonce" { // not a refusal: the client is to repeat it
		return nil
	}
	t.seen.grants = append(t.seen.grants, grant{form.Get("grant_type"), resp.StatusCode, form.Get("refresh_token"), answer.Refresh})
	if answer.Error != "" {
		t.seen.refusals = append(t.seen.refusals, answer.Error)
	}
	t.seen.endpoint = t.URL + resp.Request.URL.Path
	t.seen.auth, t.seen.form = http.Header{}, url.Values{}
	if value := resp.Request.Header.Get("Authorization"); value != "" {
		t.seen.auth.Set("Authorization", value)
	}
	for _, name := range []string{"client_id", "client_secret"} {
		if form.Has(name) {
			t.seen.form.Set(name, form.Get(name))
		}
	}
	return nil
}

// notes returns what was seen since the last reset.
func (t *tap) notes() notes {
	if t == nil {
		return notes{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.seen
	n.grants, n.authorized = slices.Clone(n.grants), slices.Clone(n.authorized)
	return n
}

func (t *tap) reset() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = notes{}
}

// refreshes are the requests with a refresh token.
func (n *notes) refreshes() []grant {
	return slices.DeleteFunc(slices.Clone(n.grants), func(g grant) bool { return g.kind != "refresh_token" })
}

// lastRefresh is the refresh token that was issued last.
func (n *notes) lastRefresh() string {
	for _, g := range slices.Backward(n.grants) {
		if g.refresh != "" {
			return g.refresh
		}
	}
	return ""
}

// codes counts the codes that were exchanged for tokens.
func (n *notes) codes() (count int) {
	for _, g := range n.grants {
		if g.kind == "authorization_code" && g.status == http.StatusOK {
			count++
		}
	}
	return count
}

// refused counts the refreshes that gave no token.
func (n *notes) refused() (count int) {
	for _, g := range n.refreshes() {
		if g.status != http.StatusOK {
			count++
		}
	}
	return count
}
