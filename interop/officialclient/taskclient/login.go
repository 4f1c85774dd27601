package main

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/conformance/clientdriver"
)

// login is the Authorizer of a task, for all of its servers.
func login(l *clientdriver.Login) client.Option {
	var options []auth.Option
	if l.DPoP {
		options = append(options, auth.WithDPoP())
	}
	switch l.Flow {
	case clientdriver.FlowSecret:
		return client.WithAuthorizer(auth.ClientCredentials(l.ClientID, l.ClientSecret, append(options, auth.WithIssuer(l.Issuer))...))
	case clientdriver.FlowKey:
		return client.WithAuthorizer(auth.PrivateKeyJWT(l.ClientID, []byte(l.PrivateKey), "ES256", append(options, auth.WithIssuer(l.Issuer))...))
	}
	if l.ClientID != "" {
		options = append(options, auth.WithClient(l.ClientID, l.ClientSecret, l.Issuer))
	}
	if l.ClientMetadata != "" {
		options = append(options, auth.WithClientMetadata(l.ClientMetadata))
	}
	return client.WithAuthorizer(auth.Login(append(options, auth.WithPrompt(visit))...))
}

// visit is the browser: the suite's pages send it back at once.
func visit(ctx context.Context, p auth.Prompt) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return errors.New("the login page has no usable URL")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return errors.New("the login page cannot be reached")
	}
	_, _ = io.Copy(io.Discard, resp.Body) // what it says is for people
	return resp.Body.Close()
}
