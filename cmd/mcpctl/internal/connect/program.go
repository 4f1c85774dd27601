package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
)

// programLogin is the file of --auth program:@FILE: how a program logs in without a person. What
// it has decides the grant: an IDP, an assertion file, a private key, or else the secret.
type programLogin struct {
	ClientID     string   `json:"client_id"`
	ClientSecret string   `json:"client_secret"`
	Issuer       string   `json:"issuer"`
	Scopes       []string `json:"scopes"`
	DPoP         bool     `json:"dpop"`
	// PrivateKey is PEM, Algorithm the name for which the client was registered.
	PrivateKey string `json:"private_key"`
	Algorithm  string `json:"algorithm"`
	// AssertionFile has the JWT of the platform. It is read for each token.
	AssertionFile string `json:"assertion_file"`
	// IDP is the identity provider of a company, IDTokenFile the file of the user's ID token.
	IDP *struct {
		TokenURL     string `json:"token_url"`
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		IDTokenFile  string `json:"id_token_file"`
	} `json:"idp"`
}

// program returns the credentials of a program, from a file.
func (d *Dialer) program(from string) (transport.Authorizer, error) {
	file, ok := strings.CutPrefix(from, "@")
	if !ok {
		return nil, failure.Usage("--auth program: takes a file: write --auth program:@FILE")
	}
	text, err := operand.ReadText(file)
	if err != nil {
		return nil, failure.Usage("--auth program: this file cannot be read: %s", failure.RootCause(err))
	}
	var l programLogin
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&l); err != nil {
		return nil, failure.Usage("--auth program: %s", err)
	}
	d.keep(l.ClientSecret, l.PrivateKey)
	opts := []auth.Option{auth.WithTransport(d.LoginTransport()), auth.WithIssuer(l.Issuer), auth.WithScopes(l.Scopes...)}
	if l.DPoP {
		opts = append(opts, auth.WithDPoP())
	}
	switch {
	case l.IDP != nil:
		d.keep(l.IDP.ClientSecret)
		return auth.IDJAG(l.ClientID, l.ClientSecret, auth.IdentityProvider{
			TokenURL: l.IDP.TokenURL, ClientID: l.IDP.ClientID, ClientSecret: l.IDP.ClientSecret,
			Subject: func(context.Context) (string, string, error) {
				token, err := d.tokenIn(l.IDP.IDTokenFile)
				return token, auth.IDToken, err
			},
		}, opts...), nil
	case l.AssertionFile != "":
		return auth.Workload(l.ClientID, func(context.Context) (string, error) { return d.tokenIn(l.AssertionFile) }, opts...), nil
	case l.PrivateKey != "":
		return auth.PrivateKeyJWT(l.ClientID, []byte(l.PrivateKey), l.Algorithm, opts...), nil
	}
	return auth.ClientCredentials(l.ClientID, l.ClientSecret, opts...), nil
}

// tokenIn reads a token that a platform keeps in a file and replaces from time to time.
func (d *Dialer) tokenIn(file string) (string, error) {
	text, err := operand.ReadText(file)
	if err != nil {
		return "", err
	}
	token := string(bytes.TrimSpace(text))
	if token == "" {
		return "", errors.New("there is no token in " + file)
	}
	d.keep(token)
	return token, nil
}

// keep hides secrets of any length.
func (d *Dialer) keep(secrets ...string) {
	for _, s := range secrets {
		if s != "" {
			d.Secrets.Keep("client_secret", s)
		}
	}
}
