// Command foreign runs an authorization server made with a Go library of others, and the
// MCP server that it guards:
//
//	foreign zitadel|fosite|go-oauth2 ISSUER
//
// The issuer is the URL under which both are reached. It prints one JSON line when it
// listens, and ends with its stdin. POST /control/lifetime?seconds=S sets how long the
// access tokens live that are issued from then on. POST /control/end ends all logins.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
)

// What every server here knows: one client, one person, two scopes.
const (
	clientID                 = "known"
	redirect                 = "http://127.0.0.1/callback" // at any port (RFC 8252 section 7.3)
	userName, userPassword   = "ada", "secret"
	scopeRead, scopeWrite    = "mcp:read", "mcp:write"
	scopeOffline             = "offline_access"
	defaultLifetime          = time.Hour
	authorizePath, tokenPath = "/authorize", "/token"
	revokePath               = "/revoke"
)

// provider is an authorization server. Its methods run one at a time.
type provider interface {
	http.Handler
	// verify reports what an access token allows. Its error is for tokens that are not good.
	verify(ctx context.Context, token string) (*sdkauth.TokenInfo, error)
	setLifetime(d time.Duration)
	endLogins(ctx context.Context) error
}

var providers = map[string]func(ctx context.Context, issuer string) (provider, error){
	"zitadel":   newZitadel,
	"fosite":    newFosite,
	"go-oauth2": newGoOAuth2,
}

func main() {
	if err := serve(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "foreign:", err)
		os.Exit(2)
	}
}

func serve(ctx context.Context, args []string) error {
	if len(args) != 2 || providers[args[0]] == nil {
		return fmt.Errorf("want NAME ISSUER, not %q", args)
	}
	issuer := args[1]
	p, err := providers[args[0]](ctx, issuer)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "{\"event\":\"listening\",\"url\":\"http://%s\"}\n", listener.Addr())
	stopped := make(chan error, 1)
	go func() { stopped <- http.Serve(listener, site(issuer, &serial{provider: p})) }() //nolint:gosec // a server of one test on loopback
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stopped <- nil
	}()
	return <-stopped
}

// serial lets one request at a time into a provider: the libraries are safe for
// concurrent use, their settings are not.
type serial struct {
	provider

	mu sync.Mutex
}

func (s *serial) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.provider.ServeHTTP(w, r)
}

func (s *serial) verify(ctx context.Context, token string) (*sdkauth.TokenInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.provider.verify(ctx, token)
}

func (s *serial) control(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/end") {
		if err := s.endLogins(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
		return
	}
	seconds, err := strconv.Atoi(r.FormValue("seconds"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.setLifetime(time.Duration(seconds) * time.Second)
}
