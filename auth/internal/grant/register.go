package grant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

// Registration is a request to register a client (RFC 7591 §2).
type Registration struct {
	RedirectURIs            []string `json:"redirect_uris,omitempty"`
	ClientName              string   `json:"client_name,omitempty"`
	ApplicationType         string   `json:"application_type,omitempty"` // "native" or "web"
	GrantTypes              []string `json:"grant_types,omitempty"`
	ResponseTypes           []string `json:"response_types,omitempty"`
	TokenEndpointAuthMethod string   `json:"token_endpoint_auth_method,omitempty"`
	DPoPBoundAccessTokens   bool     `json:"dpop_bound_access_tokens,omitempty"`
}

// Registered is a client that an authorization server knows.
type Registered struct {
	ClientID     string
	ClientSecret Secret
	Method       string    // of authentication; empty: chosen from those that the server supports
	IssuedAt     time.Time // zero: unknown
	ExpiresAt    time.Time // of the secret; zero: never
	Scope        string
	RedirectURIs []string // as the server registered them; empty: as requested
	GrantTypes   []string // likewise
	// DPoPBound is set if the client gets only tokens with DPoP (RFC 9449 section 5.2).
	DPoPBound bool

	// For changing or deleting the registration (RFC 7592).
	ManagementURI   string
	ManagementToken Secret
}

// Client returns the registered client. key is nil unless it authenticates with one.
func (r Registered) Client(key Signer) *Client {
	return &Client{ID: r.ClientID, Secret: r.ClientSecret.Text(), Method: r.Method, Key: key}
}

// String describes the registration without its secrets.
func (r Registered) String() string {
	s := r.Client(nil).String()
	if !r.ExpiresAt.IsZero() {
		s += ", expires " + r.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return s
}

// GoString is String, so that %#v shows no secrets either.
func (r Registered) GoString() string { return r.String() }

// Format writes String for every verb.
func (r Registered) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(r.String())) }

// LogValue implements [slog.LogValuer] with String.
func (r Registered) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalText writes String.
func (r Registered) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Register registers a client. The initial token is empty except for servers that require one. A
// refusal is an *Error.
func Register(ctx context.Context, h *fetch.Client, endpoint string, r Registration, initialToken string) (*Registered, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, errors.New("the registration cannot be encoded as JSON")
	}
	header := http.Header{"Accept": {"application/json"}}
	if initialToken != "" {
		if !visible(initialToken) {
			return nil, errors.New("the initial access token has characters that no header can carry")
		}
		header.Set("Authorization", typeBearer+" "+initialToken)
	}
	answer, err := h.Post(ctx, endpoint, "application/json", body, header)
	if err != nil {
		return nil, err
	}
	made, err := parseRegistered(endpoint, answer, secretsOf(nil, initialToken), r.TokenEndpointAuthMethod)
	if err == nil {
		made.DPoPBound = r.DPoPBoundAccessTokens
	}
	return made, err
}

// parseRegistered reads the answer of a registration endpoint. asked is the requested method.
func parseRegistered(endpoint string, a *fetch.Answer, sent secrets, asked string) (*Registered, error) {
	wrong := wrongAt(endpoint)
	m, err := granted(endpoint, a, sent)
	if err != nil {
		return nil, err
	}
	r := &Registered{
		ClientID:        m.text("client_id"),
		ClientSecret:    Hide(m.text("client_secret")),
		Method:          m.text("token_endpoint_auth_method"),
		IssuedAt:        m.moment("client_id_issued_at"),
		ExpiresAt:       m.moment("client_secret_expires_at"),
		Scope:           m.words("scope"),
		ManagementURI:   m.text("registration_client_uri"),
		ManagementToken: Hide(m.text("registration_access_token")),
	}
	if json.Unmarshal(m["redirect_uris"], &r.RedirectURIs) != nil {
		r.RedirectURIs = nil
	}
	if json.Unmarshal(m["grant_types"], &r.GrantTypes) != nil {
		r.GrantTypes = nil
	}
	if r.ClientID == "" {
		return nil, wrong("it has no client_id")
	}
	if secret := r.ClientSecret.Text(); printable(r.ClientID, len(r.ClientID)) != r.ClientID || printable(secret, len(secret)) != secret {
		return nil, wrong("its client_id or client_secret has characters that cannot be printed")
	}
	switch {
	case r.ClientSecret.Empty() && (r.Method == MethodBasic || r.Method == MethodPost):
		// Some servers always name their default method.
		if asked != MethodNone {
			return nil, wrong("it names " + r.Method + " but has no client_secret")
		}
		r.Method = MethodNone
	case r.ClientSecret.Empty() && r.Method == "":
		r.Method = asked
	}
	return r, nil
}
