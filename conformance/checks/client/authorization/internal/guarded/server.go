package guarded

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Server is an authorization server.
type Server struct {
	w *World
	// Host is its name in requests, Base its origin, Issuer its identifier.
	Host, Base, Issuer string
	// Metadata are its metadata, and MetadataPaths where they are served.
	Metadata      map[string]any
	MetadataPaths []string
	// Callback changes the parameters of an authorization response.
	Callback func(request, answer url.Values)
	// Answer changes the answer of the token endpoint.
	Answer func(r *Request, answer map[string]any)
	// Grant changes the scopes of a token; nil grants what was asked for.
	Grant func(asked []string) []string
	// Method is how clients that register must authenticate: none if empty.
	Method string
	// Keeps: a refresh token stays valid, and no other is issued for it. Nonce is the DPoP
	// nonce that it demands.
	Keeps bool
	Nonce string
	// Key verifies the assertions of a client (private_key_jwt).
	Key *ecdsa.PublicKey

	mu      sync.Mutex
	clients map[string]Client
	codes   map[string]code
	grants  map[string]grant // by refresh token
}

// Client is a client that the server knows.
type Client struct{ ID, Secret, Method string }

// code is what an authorization code is good for.
type code struct {
	client, redirect, challenge string
	scopes                      []string
}

type grant struct {
	client string
	scopes []string
}

func newServer(w *World, host string) *Server {
	return &Server{w: w, Host: host, clients: map[string]Client{}, codes: map[string]code{}, grants: map[string]grant{}}
}

// Settle gives the server an issuer identifier below its origin, and the metadata of it
// at the place of RFC 8414.
func (s *Server) Settle(issuer string) {
	s.Issuer = issuer
	path := strings.TrimPrefix(issuer, s.Base)
	s.MetadataPaths = []string{"/.well-known/oauth-authorization-server" + strings.TrimSuffix(path, "/")}
	s.Metadata = map[string]any{
		"issuer": issuer, "authorization_endpoint": s.Base + "/authorize", "token_endpoint": s.Base + "/token", "registration_endpoint": s.Base + "/register",
		"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		"authorization_response_iss_parameter_supported": true,
	}
}

// OpenID makes the metadata those of an OpenID provider, at another path (OpenID Connect
// Discovery 1.0 section 3).
func (s *Server) OpenID(path string) {
	s.MetadataPaths = []string{path}
	s.Metadata["jwks_uri"] = s.Base + "/keys"
	s.Metadata["subject_types_supported"] = []string{"public"}
	s.Metadata["id_token_signing_alg_values_supported"] = []string{"RS256"}
}

// Know registers a client in advance.
func (s *Server) Know(c Client) {
	if c.Secret != "" {
		s.w.Keep("client secret", c.Secret)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[c.ID] = c
}

// Forget makes every refresh token a dead one.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.grants)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	r := s.w.received(s.Host, in)
	switch h := s.w.Handlers[s.Host+r.Path]; {
	case h != nil:
		h(out, in)
	case slices.Contains(s.MetadataPaths, r.Path):
		Document(out, http.StatusOK, s.Metadata)
	case r.Path == "/authorize":
		s.authorize(out, r)
	case r.Path == "/token" && r.Method == http.MethodPost:
		s.token(out, r)
	case r.Path == "/register" && r.Method == http.MethodPost:
		s.register(out, r)
	default:
		http.NotFound(out, in)
	}
}

// register registers a client (RFC 7591).
func (s *Server) register(out http.ResponseWriter, r *Request) {
	var asked map[string]any
	if json.Unmarshal(r.Body, &asked) != nil {
		refuse(out, "invalid_client_metadata")
		return
	}
	c := Client{ID: "client-" + rand.Text(), Method: s.Method}
	answer := maps.Clone(asked)
	if answer == nil {
		answer = map[string]any{}
	}
	answer["client_id"], answer["token_endpoint_auth_method"] = c.ID, "none"
	if s.Method != "" {
		c.Secret = s.w.Secret("client secret") + "/+ %" // which must be encoded in forms
		answer["client_secret"], answer["client_secret_expires_at"], answer["token_endpoint_auth_method"] = c.Secret, 0, s.Method
	}
	s.mu.Lock()
	s.clients[c.ID] = c
	s.mu.Unlock()
	Document(out, http.StatusCreated, answer)
}

// authorize sends the browser back at once: nobody has to log in.
func (s *Server) authorize(out http.ResponseWriter, r *Request) {
	q := r.Query
	to, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || to.Host == "" {
		http.Error(out, "no redirect_uri", http.StatusBadRequest)
		return
	}
	value := s.w.Secret("code")
	s.mu.Lock()
	s.codes[value] = code{q.Get("client_id"), q.Get("redirect_uri"), q.Get("code_challenge"), strings.Fields(q.Get("scope"))}
	s.mu.Unlock()
	answer := url.Values{"code": {value}, "state": q["state"]}
	if s.Metadata["authorization_response_iss_parameter_supported"] == true {
		answer.Set("iss", s.Issuer)
	}
	if s.Callback != nil {
		s.Callback(q, answer)
	}
	query := to.Query()
	maps.Copy(query, answer)
	to.RawQuery = query.Encode()
	out.Header().Set("Location", to.String())
	out.WriteHeader(http.StatusFound)
}

// token is the token endpoint.
func (s *Server) token(out http.ResponseWriter, r *Request) {
	client, known := s.client(r)
	if !known {
		Document(out, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	key := ""
	if r.Header.Get("DPoP") != "" {
		proof, problem := s.w.proof(r, s.Base+"/token", "")
		switch {
		case problem != "":
			s.w.problem(problem)
			refuse(out, "invalid_dpop_proof")
			return
		case s.Nonce != "" && proof.nonce != s.Nonce:
			out.Header().Set("DPoP-Nonce", s.Nonce)
			refuse(out, "use_dpop_nonce")
			return
		}
		key = proof.key
	}
	scopes, ok := s.granted(client, r)
	if !ok {
		refuse(out, "invalid_grant")
		return
	}
	if s.Grant != nil {
		scopes = s.Grant(scopes)
	}
	t := s.w.issue(s, scopes, r.Form.Get("resource"), key)
	answer := map[string]any{"access_token": t.Value, "token_type": "Bearer", "expires_in": 3600, "scope": strings.Join(scopes, " ")}
	if key != "" {
		answer["token_type"] = "DPoP"
	}
	if how := r.Form.Get("grant_type"); how == "authorization_code" || how == "refresh_token" && !s.Keeps {
		refresh := s.w.Secret("refresh token")
		answer["refresh_token"] = refresh
		s.mu.Lock()
		s.grants[refresh] = grant{client, scopes}
		s.mu.Unlock()
		s.w.renewable(refresh, s)
	}
	if s.Answer != nil {
		s.Answer(r, answer)
	}
	Document(out, http.StatusOK, answer)
}

// granted returns the scopes that a request is good for.
func (s *Server) granted(client string, r *Request) ([]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		c, ok := s.codes[r.Form.Get("code")]
		delete(s.codes, r.Form.Get("code"))
		return c.scopes, ok && c.client == client && Challenge(r.Form.Get("code_verifier")) == c.challenge
	case "refresh_token":
		g, ok := s.grants[r.Form.Get("refresh_token")]
		if !s.Keeps {
			delete(s.grants, r.Form.Get("refresh_token")) // OAuth 2.1 section 4.3.1: rotated
		}
		return g.scopes, ok && g.client == client
	case "client_credentials":
		return strings.Fields(r.Form.Get("scope")), true
	}
	return nil, false
}

// Challenge is the S256 code challenge of a verifier (RFC 7636 section 4.2).
func Challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Used is how a token request authenticated the client.
func Used(r *Request) (method, id, secret string) {
	if scheme, value := r.Bearer(); scheme == "basic" {
		raw, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return "client_secret_basic", "", ""
		}
		id, secret, _ = strings.Cut(string(raw), ":")
		id, _ = url.QueryUnescape(id) // RFC 6749 section 2.3.1
		secret, _ = url.QueryUnescape(secret)
		return "client_secret_basic", id, secret
	}
	id = r.Form.Get("client_id")
	switch {
	case r.Form.Get("client_assertion") != "":
		return "private_key_jwt", id, ""
	case r.Form.Get("client_secret") != "":
		return "client_secret_post", id, r.Form.Get("client_secret")
	}
	return "none", id, ""
}

// client returns who sends a token request.
func (s *Server) client(r *Request) (id string, known bool) {
	method, id, secret := Used(r)
	if method == "private_key_jwt" {
		id, problem := s.assertion(r)
		if problem != "" {
			s.w.problem(problem)
		}
		return id, problem == ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.clients[id]
	if strings.HasPrefix(id, "https://") && s.Metadata["client_id_metadata_document_supported"] == true {
		return id, method == "none"
	}
	if s.Metadata == nil || s.Metadata["registration_endpoint"] == nil && !known {
		return id, false
	}
	return id, known && secret == c.Secret
}

func refuse(out http.ResponseWriter, code string) {
	Document(out, http.StatusBadRequest, map[string]any{"error": code})
}

// Behind is an endpoint of the server at another host, as servers of 2025-03-26 have
// them at their own origin.
func (s *Server) Behind(path string) http.HandlerFunc {
	return func(out http.ResponseWriter, in *http.Request) {
		in.URL.Path = path
		s.ServeHTTP(out, in)
	}
}

// At are the metadata with an origin of another host as issuer and for its endpoints.
func (s *Server) At(base, authorize, token, register string) map[string]any {
	doc := maps.Clone(s.Metadata)
	doc["issuer"], doc["authorization_endpoint"], doc["token_endpoint"], doc["registration_endpoint"] = base, base+authorize, base+token, base+register
	return doc
}
