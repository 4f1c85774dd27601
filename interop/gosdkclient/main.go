// Command gosdkclient is the client of the official go-sdk for mcpctl conform client.
package main

import (
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mainstay-mcp/mainstay/conformance/clientdriver"
)

func main() { os.Exit(clientdriver.Run(context.Background(), connect)) }

func connect(ctx context.Context, t *clientdriver.Task) (*clientdriver.Session, error) {
	heard := &clientdriver.Notifications{}
	client := mcp.NewClient(&mcp.Implementation{Name: "gosdk", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, ElicitationHandler: clientdriver.Answer[*mcp.ElicitRequest, mcp.ElicitResult](t.Answers.Elicit),
		CreateMessageHandler:   clientdriver.Answer[*mcp.CreateMessageRequest, mcp.CreateMessageResult](t.Answers.Sample), //nolint:staticcheck // in force in older revisions
		ResourceUpdatedHandler: clientdriver.Notified(heard, "notifications/resources/updated", func(r *mcp.ResourceUpdatedNotificationRequest) any { return r.Params }),
	})
	var to mcp.Transport = &mcp.CommandTransport{Command: t.Cmd()}
	if t.Transport == "http" {
		handler, err := login(t.Login)
		if err != nil {
			return nil, err
		}
		to = &mcp.StreamableClientTransport{Endpoint: t.URL, OAuthHandler: handler}
	}
	s, err := client.Connect(ctx, to, &mcp.ClientSessionOptions{ProtocolVersion: t.Pinned()})
	if err != nil {
		return nil, err
	}
	return &clientdriver.Session{Calls: map[string]clientdriver.Call{
		"tools/list": clientdriver.List("tools", s.Tools), "tools/call": clientdriver.Method(s.CallTool),
		"resources/list": clientdriver.List("resources", s.Resources), "resources/read": clientdriver.Method(s.ReadResource),
		"resources/subscribe": heard.During(clientdriver.Action(s.Subscribe), clientdriver.Action(s.Unsubscribe)),
		"prompts/list":        clientdriver.List("prompts", s.Prompts), "prompts/get": clientdriver.Method(s.GetPrompt),
		"completion/complete": clientdriver.Method(s.Complete), "logging/setLevel": clientdriver.LogLevel(s.SetLoggingLevel), //nolint:staticcheck // as above
	}, Close: s.Close, Describe: clientdriver.Code(func(e *jsonrpc.Error) int64 { return e.Code })}, nil
}

func login(l *clientdriver.Login) (auth.OAuthHandler, error) {
	if l == nil {
		return nil, nil
	}
	return auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		RedirectURL: clientdriver.RedirectURL, RequestRefreshToken: true,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			RedirectURIs: []string{clientdriver.RedirectURL}, GrantTypes: []string{"authorization_code", "refresh_token"},
		}},
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			q, err := clientdriver.Browse(ctx, a.URL)
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, err
		},
	})
}
