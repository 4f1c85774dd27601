package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// facts are what the suite tells the scenarios of authorization.
type facts struct {
	ClientID         string `json:"client_id"`
	ClientSecret     string `json:"client_secret"`
	Issuer           string `json:"issuer"`
	PrivateKey       string `json:"private_key_pem"`
	Algorithm        string `json:"signing_algorithm"`
	ProviderClientID string `json:"idp_client_id"`
	ProviderIDToken  string `json:"idp_id_token"`
	ProviderTokenURL string `json:"idp_token_endpoint"`
	ValidJWT         string `json:"valid_jwt"`
}

// metadataURL is the client id of a program that has a metadata document. The
// suite's servers do not fetch it.
const metadataURL = "https://conformance-test.local/client-metadata.json"

// person logs in as a browser would that is sent back at once: the suite's servers
// show no page.
func person(more ...auth.Option) client.Option {
	return client.WithAuthorizer(auth.Login(append(more, auth.WithPrompt(visit), auth.WithClientMetadata(metadataURL))...))
}

func visit(ctx context.Context, p auth.Prompt) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}

// authorizations are the scenarios that need more than a person.
var authorizations = map[string]func(f *facts) client.Option{
	"auth/pre-registration": func(f *facts) client.Option {
		return person(auth.WithClient(f.ClientID, f.ClientSecret, f.Issuer))
	},
	"auth/client-credentials-basic": func(f *facts) client.Option {
		return client.WithAuthorizer(auth.ClientCredentials(f.ClientID, f.ClientSecret))
	},
	"auth/client-credentials-jwt": func(f *facts) client.Option {
		return client.WithAuthorizer(auth.PrivateKeyJWT(f.ClientID, []byte(f.PrivateKey), f.Algorithm))
	},
	"auth/enterprise-managed-authorization": func(f *facts) client.Option {
		return client.WithAuthorizer(auth.IDJAG(f.ClientID, f.ClientSecret, auth.IdentityProvider{
			TokenURL: f.ProviderTokenURL, ClientID: f.ProviderClientID,
			Subject: func(context.Context) (string, string, error) { return f.ProviderIDToken, auth.IDToken, nil },
		}))
	},
	"auth/wif-jwt-bearer": func(f *facts) client.Option {
		return client.WithAuthorizer(auth.Workload(f.ClientID, func(context.Context) (string, error) { return f.ValidJWT, nil }))
	},
	"auth/dpop":       func(*facts) client.Option { return person(auth.WithDPoP()) },
	"auth/dpop-nonce": func(*facts) client.Option { return person(auth.WithDPoP()) },
}

// authorization returns the option for a scenario.
func authorization(name string, told json.RawMessage) (client.Option, error) {
	option, ok := authorizations[name]
	if !ok {
		return person(), nil
	}
	var f facts
	if len(told) > 0 {
		if err := jsonrpc.Unmarshal(told, &f); err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", envContext, err)
		}
	}
	return option(&f), nil
}

// useTool is what the scenarios of authorization do once they are in.
func useTool(ctx context.Context, c *client.Client, _ json.RawMessage) error {
	tools, err := listed(ctx, c)
	if err != nil {
		return err
	}
	if len(tools) == 0 {
		return errors.New("the server lists no tool")
	}
	return called(ctx, c, tools[0].Name, map[string]any{})
}
