package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const resourcePath = "/.well-known/oauth-protected-resource/mcp"

// logins is the authorization server of a site. Its page consents at once, and the
// record counts pages and refreshed tokens.
type logins struct {
	site    *site
	mu      sync.Mutex
	expires map[string]time.Time // access token to its end
}

func (l *logins) routes(mux *http.ServeMux, at *site) {
	l.site, l.expires = at, map[string]time.Time{}
	base := "http://" + at.address
	mux.HandleFunc(resourcePath, func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"resource": base + "/mcp", "authorization_servers": []string{base}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{
			"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
			"registration_endpoint": base + "/register", "response_types_supported": []string{"code"},
			"grant_types_supported":                 []string{"authorization_code", "refresh_token"},
			"code_challenge_methods_supported":      []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"},
		})
	})
	mux.HandleFunc("/register", register)
	mux.HandleFunc("/authorize", l.authorize)
	mux.HandleFunc("/token", l.token)
}

func register(w http.ResponseWriter, r *http.Request) {
	client := map[string]any{}
	if err := json.NewDecoder(r.Body).Decode(&client); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	client["client_id"] = rand.Text()
	client["token_endpoint_auth_method"] = "none"
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(client)
}

func (l *logins) authorize(w http.ResponseWriter, r *http.Request) {
	l.site.record.add("page", "")
	to, err := url.Parse(r.FormValue("redirect_uri"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	q := to.Query()
	q.Set("code", rand.Text())
	if state := r.FormValue("state"); state != "" {
		q.Set("state", state)
	}
	to.RawQuery = q.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

func (l *logins) token(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("grant_type") == "refresh_token" {
		l.site.record.add("refresh", "")
	}
	token := rand.Text()
	l.mu.Lock()
	l.expires[token] = time.Now().Add(l.site.tokenLife)
	l.mu.Unlock()
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, map[string]any{
		"access_token": token, "token_type": "Bearer", "refresh_token": rand.Text(),
		"expires_in": int(l.site.tokenLife.Seconds()),
	})
}

func (l *logins) admits(r *http.Request) bool {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.expires[token])
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
}

// browse is the subcommand "browser": it opens a page and follows its redirects to the
// program that waits for the code.
func browse(ctx context.Context, args []string, stderr io.Writer) int {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, page := range args {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, http.NoBody)
		if err != nil {
			fmt.Fprintln(stderr, "browser:", err)
			return exitUsage
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Fprintln(stderr, "browser:", err)
			return 1
		}
		_ = resp.Body.Close()
	}
	return 0
}

// loginEnd opens a login page and returns the address that it redirects to.
func loginEnd(ctx context.Context, page string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // follows no redirect
	if err != nil {
		return "", err
	}
	return resp.Header.Get("Location"), resp.Body.Close()
}
