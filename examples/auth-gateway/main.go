// Command auth-gateway is a web application whose users call the tools of one MCP server,
// each with a login of their own.
//
//	go run ./examples/auth-gateway https://app.example https://example.com/mcp
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		log.Fatalln("auth-gateway:", err)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: auth-gateway URL-OF-THIS-APPLICATION URL-OF-THE-MCP-SERVER")
	}
	g := newGateway(args[0], args[1])
	defer g.close()
	web := &http.Server{Addr: "127.0.0.1:8080", Handler: g.handler(), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = web.Close() })
	if err := web.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// gateway has one Authorizer and one client for all users.
type gateway struct {
	server string
	login  *auth.Authorizer
	client atomic.Pointer[client.Client] // nil before the first user is logged in
}

// newGateway keeps tokens in memory; auth.WithStore keeps them when the program restarts.
func newGateway(app, server string, opts ...auth.Option) *gateway {
	opts = append(opts, auth.WithRedirect(app+"/callback"), auth.WithPrincipals(principal))
	return &gateway{server: server, login: auth.HandOff(opts...)}
}

func (g *gateway) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /call", g.call)
	mux.HandleFunc("GET /callback", g.callback)
	mux.HandleFunc("POST /logout", g.logout)
	// Pages of others must not make calls with the cookie of a user.
	return http.NewCrossOriginProtection().Handler(mux)
}

// call calls a tool for the user. One who is not logged in is sent to the login page.
func (g *gateway) call(w http.ResponseWriter, r *http.Request) {
	ctx := withUser(w, r)
	c, err := g.connected(ctx)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	result, err := c.CallTool(ctx, r.FormValue("tool"), map[string]any{"message": r.FormValue("message")})
	if err != nil {
		g.fail(w, r, err)
		return
	}
	fmt.Fprintln(w, result.Text())
}

// callback finishes the login of the user. The address of another user's login is refused,
// because the Authorizer looks only for logins that this user has begun.
func (g *gateway) callback(w http.ResponseWriter, r *http.Request) {
	if err := g.login.Finish(withUser(w, r), g.server, r.URL.String()); err != nil {
		log.Println("callback:", err) // the error has no secrets
		http.Error(w, "This login cannot be finished. Please begin again.", http.StatusForbidden)
		return
	}
	fmt.Fprintln(w, "You are logged in.")
}

func (g *gateway) logout(w http.ResponseWriter, r *http.Request) {
	if _, err := g.login.Logout(withUser(w, r), g.server); err != nil {
		g.fail(w, r, err)
	}
}

func (g *gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	var begun *auth.LoginPendingError
	if errors.As(err, &begun) {
		http.Redirect(w, r, begun.URL, http.StatusSeeOther)
		return
	}
	log.Println("call:", err)
	http.Error(w, "The call failed.", http.StatusBadGateway)
}

// connected returns the client of all users. The first request of a client needs a login,
// so the first user who is logged in opens it.
func (g *gateway) connected(ctx context.Context) (*client.Client, error) {
	if c := g.client.Load(); c != nil {
		return c, nil
	}
	c, err := client.Dial(ctx, g.server, client.WithAuthorizer(g.login))
	if err != nil || g.client.CompareAndSwap(nil, c) {
		return c, err
	}
	return g.client.Load(), c.Close() // another user was faster
}

func (g *gateway) close() {
	if c := g.client.Load(); c != nil {
		_ = c.Close()
	}
	_ = g.login.Close()
}

type userKey struct{}

// withUser returns the context of the user of a cookie. The name of the user in the store of
// tokens is a digest, so that it is not valid as a cookie.
func withUser(w http.ResponseWriter, r *http.Request) context.Context {
	cookie, err := r.Cookie("__Host-session")
	if err != nil {
		cookie = &http.Cookie{Name: "__Host-session", Value: rand.Text(), Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}
		http.SetCookie(w, cookie)
	}
	name := sha256.Sum256([]byte(cookie.Value))
	return context.WithValue(r.Context(), userKey{}, hex.EncodeToString(name[:]))
}

func principal(ctx context.Context) (string, error) {
	name, _ := ctx.Value(userKey{}).(string)
	return name, nil
}
