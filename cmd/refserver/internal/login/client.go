package login

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/models"

	autherrors "github.com/go-oauth2/oauth2/v4/errors"
)

const (
	maxRedirects = 8
	maxRedirect  = 512 // bytes
	maxName      = 100 // bytes
)

// client is a program that has registered. Its id is all that the server knows of it: an
// id outlives the server, and registrations fill no memory.
type client struct {
	Name      string   `json:"n,omitempty"`
	Redirects []string `json:"r"`
}

// id returns the client as text.
func (c *client) id() (string, error) {
	text, err := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString(text), err
}

var errUnknown = errors.New("this program is not registered here")

// read returns the client of an id.
func read(id string) (*client, error) {
	text, err := base64.RawURLEncoding.DecodeString(id)
	var c client
	if err != nil || json.Unmarshal(text, &c) != nil || c.fault() != "" {
		return nil, errUnknown
	}
	return &c, nil
}

// fault returns what is wrong with a client, "" if nothing is. Only this machine may receive
// codes: the server is not reached from another one.
func (c *client) fault() string {
	switch {
	case len(c.Name) > maxName:
		return "client_name is too long"
	case len(c.Redirects) == 0 || len(c.Redirects) > maxRedirects:
		return "redirect_uris must have one to eight URLs"
	case slices.ContainsFunc(c.Redirects, func(redirect string) bool { return !onThisMachine(redirect) }):
		return "each of redirect_uris must be an http URL of this machine, such as http://127.0.0.1/callback"
	}
	return ""
}

// onThisMachine reports whether a URL leads to a program on this machine.
func onThisMachine(text string) bool {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxRedirect || u.User != nil || u.Fragment != "" || strings.ContainsAny(text, " #") {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return (u.Scheme == "http" || u.Scheme == "https") && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}

// allows reports whether a code may go to a URL. Its port may differ from the registered
// one if its host is a loopback address (RFC 8252 section 7.3).
func (c *client) allows(redirect string) bool {
	return onThisMachine(redirect) && slices.ContainsFunc(c.Redirects, func(registered string) bool {
		return registered == redirect || anyPort(registered) == anyPort(redirect)
	})
}

// anyPort is a URL without the port of a loopback address.
func anyPort(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil && u.Scheme == "http" {
		u.Host = u.Hostname()
	}
	return u.String()
}

// clients finds clients for the library.
type clients struct{}

// GetByID implements [oauth2.ClientStore].
func (clients) GetByID(_ context.Context, id string) (oauth2.ClientInfo, error) {
	c, err := read(id)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // for the library this is an unknown client
	}
	return &models.Client{ID: id, Domain: strings.Join(c.Redirects, " "), Public: true}, nil
}

// exact compares a redirect URL with those that GetByID has joined.
func exact(registered, redirect string) error {
	if (&client{Redirects: strings.Fields(registered)}).allows(redirect) {
		return nil
	}
	return autherrors.ErrInvalidRedirectURI
}

// register registers a program (RFC 7591). Every program is public: a secret in the hands
// of anybody who asks would protect nothing.
func register(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Name      string   `json:"client_name"`
		Redirects []string `json:"redirect_uris"`
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil {
		refuse(w, invalidMetadata, "the body is no JSON object of client metadata")
		return
	}
	c := client{Name: asked.Name, Redirects: asked.Redirects}
	if text := c.fault(); text != "" {
		refuse(w, invalidRedirect, text)
		return
	}
	id, err := c.id()
	if err != nil {
		refuse(w, invalidMetadata, "the client has no JSON form")
		return
	}
	answer(w, http.StatusCreated, map[string]any{
		"client_id": id, "client_name": c.Name, "redirect_uris": c.Redirects,
		"token_endpoint_auth_method": "none", "grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
	})
}
