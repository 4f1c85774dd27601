package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// formatVersion is the version of the text that Encode writes.
const formatVersion = 1

// form is a record as text. Unlike Record it shows its secrets.
type form struct {
	Version    int      `json:"version"`
	Key        Key      `json:"key"`
	Generation uint64   `json:"generation"`
	Token      token    `json:"token"`
	Client     client   `json:"client"`
	Server     Server   `json:"server"`
	Scopes     []string `json:"scopes,omitempty"`
	Proof      []byte   `json:"dpop_key,omitempty"`

	Ended    string    `json:"ended,omitempty"`
	Login    string    `json:"login,omitempty"`
	Obtained time.Time `json:"obtained,omitzero"`
	Pending  *pending  `json:"pending,omitempty"`

	Refused map[string]time.Time `json:"refused,omitempty"`
}

type token struct {
	Access     string    `json:"access_token,omitempty"`
	Type       string    `json:"token_type,omitempty"`
	Refresh    string    `json:"refresh_token,omitempty"`
	IDToken    string    `json:"id_token,omitempty"`
	IssuedType string    `json:"issued_token_type,omitempty"`
	Scope      string    `json:"scope,omitempty"`
	Expiry     time.Time `json:"expiry,omitzero"`
}

type client struct {
	ClientID        string    `json:"client_id,omitempty"`
	ClientSecret    string    `json:"client_secret,omitempty"`
	Method          string    `json:"token_endpoint_auth_method,omitempty"`
	IssuedAt        time.Time `json:"issued_at,omitzero"`
	ExpiresAt       time.Time `json:"secret_expires_at,omitzero"`
	Scope           string    `json:"scope,omitempty"`
	RedirectURIs    []string  `json:"redirect_uris,omitempty"`
	GrantTypes      []string  `json:"grant_types,omitempty"`
	DPoPBound       bool      `json:"dpop_bound_access_tokens,omitempty"`
	ManagementURI   string    `json:"registration_client_uri,omitempty"`
	ManagementToken string    `json:"registration_access_token,omitempty"`
}

func tokenForm(t grant.Token) token {
	return token{
		Access: t.Access.Text(), Type: t.Type, Refresh: t.Refresh.Text(), IDToken: t.IDToken.Text(),
		IssuedType: t.IssuedType, Scope: t.Scope, Expiry: t.Expiry,
	}
}

func (t token) read() grant.Token {
	return grant.Token{
		Access: grant.Hide(t.Access), Type: t.Type, Refresh: grant.Hide(t.Refresh), IDToken: grant.Hide(t.IDToken),
		IssuedType: t.IssuedType, Scope: t.Scope, Expiry: t.Expiry,
	}
}

func clientForm(c grant.Registered) client {
	return client{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret.Text(), Method: c.Method, IssuedAt: c.IssuedAt, ExpiresAt: c.ExpiresAt, Scope: c.Scope,
		RedirectURIs: c.RedirectURIs, GrantTypes: c.GrantTypes, DPoPBound: c.DPoPBound,
		ManagementURI: c.ManagementURI, ManagementToken: c.ManagementToken.Text(),
	}
}

func (c client) read() grant.Registered {
	return grant.Registered{
		ClientID: c.ClientID, ClientSecret: grant.Hide(c.ClientSecret), Method: c.Method, IssuedAt: c.IssuedAt, ExpiresAt: c.ExpiresAt, Scope: c.Scope,
		RedirectURIs: c.RedirectURIs, GrantTypes: c.GrantTypes, DPoPBound: c.DPoPBound,
		ManagementURI: c.ManagementURI, ManagementToken: grant.Hide(c.ManagementToken),
	}
}

// Encode writes the record and its key with all secrets, for a store.
func (r Record) Encode(key Key) ([]byte, error) {
	return json.MarshalIndent(form{
		Version: formatVersion, Key: key, Generation: r.Generation, Token: tokenForm(r.Token),
		Client: clientForm(r.Client), Server: r.Server, Scopes: r.Scopes, Proof: []byte(r.Proof.Text()),
		Ended: r.Ended, Login: r.Login, Obtained: r.Obtained, Pending: r.Pending.form(), Refused: r.Refused,
	}, "", "  ")
}

// Decode reads the output of Encode. Its errors never quote the text.
func Decode(text []byte) (Key, Record, error) {
	var f form
	if err := json.Unmarshal(text, &f); err != nil {
		return Key{}, Record{}, errors.New("it is not the JSON text of a record")
	}
	if f.Version != formatVersion {
		return Key{}, Record{}, fmt.Errorf("it has version %d, this program reads version %d", f.Version, formatVersion)
	}
	return f.Key, Record{
		Generation: f.Generation, Token: f.Token.read(), Client: f.Client.read(),
		Server: f.Server, Scopes: f.Scopes, Proof: grant.Hide(string(f.Proof)),
		Ended: f.Ended, Login: f.Login, Obtained: f.Obtained, Pending: f.Pending.read(), Refused: f.Refused,
	}, nil
}
