package auth_test

import (
	"context"
	"net/url"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
)

// The functions here are the options of docs/authorization/providers.md.

func dialThere(ctx context.Context, server, folder string, options []auth.Option) (*client.Client, error) {
	store, err := auth.OpenFiles(folder)
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, server, client.WithAuthorizer(auth.Login(append(options, auth.WithStore(store))...)))
}

func atEntraID(tenantID, clientID string) []auth.Option {
	issuer := "https://login.microsoftonline.com/" + tenantID + "/v2.0"
	return []auth.Option{
		auth.WithClient(clientID, "", issuer),
		auth.WithOnlyScopes("api://tickets/Tickets.Read", "offline_access"),
		auth.WithoutResource(issuer),
		auth.WithAssumedPKCE(issuer),
		auth.WithAuthorizeParams(issuer, url.Values{"prompt": {"select_account"}}),
	}
}

func atCognito(clientID string) []auth.Option {
	issuer := "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Abc123"
	return []auth.Option{
		auth.WithClient(clientID, "", issuer),
		auth.WithAssumedPKCE(issuer),
	}
}

func atGoogle(clientID, secret string) []auth.Option {
	issuer := "https://accounts.google.com"
	return []auth.Option{
		auth.WithClient(clientID, secret, issuer),
		auth.WithIssuerSlash(),
		auth.WithOnlyScopes("https://www.googleapis.com/auth/calendar.readonly"),
		auth.WithAuthorizeParams(issuer, url.Values{"access_type": {"offline"}, "prompt": {"consent"}}),
	}
}

func atAuth0(clientID string) []auth.Option {
	issuer := "https://acme.eu.auth0.com/"
	return []auth.Option{
		auth.WithClient(clientID, "", issuer),
		auth.WithAuthorizeParams(issuer, url.Values{"audience": {"https://tickets.example.com/mcp"}}),
	}
}

func atAtlassian(clientID, secret string) []auth.Option {
	issuer := "https://auth.atlassian.com"
	return []auth.Option{
		auth.WithClient(clientID, secret, issuer),
		auth.WithOnlyScopes("read:jira-work", "offline_access"),
		auth.WithAuthorizeParams(issuer, url.Values{"audience": {"api.atlassian.com"}, "prompt": {"consent"}}),
	}
}

func atOkta(clientID string) []auth.Option {
	issuer := "https://acme.okta.com/oauth2/default"
	return []auth.Option{auth.WithClient(clientID, "", issuer)}
}

func atKeycloak() []auth.Option {
	issuer := "https://sso.example.com/realms/acme"
	return []auth.Option{
		auth.WithIssuer(issuer),
		auth.WithScopes("tickets"), // the client scope with the audience mapper
	}
}
