// Command gosdk is the program beside it (../program) with go-sdk's client and go-sdk's
// package auth. That has no logout.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// patience bounds a connect and a call, with the login in it.
const patience = 20 * time.Second

func main() {
	ctx := context.Background()
	session, err := connect(ctx, os.Args[1])
	report(err)
	for in := bufio.NewScanner(os.Stdin); err == nil && in.Scan(); {
		if in.Text() == "logout" {
			report(errors.ErrUnsupported)
			continue
		}
		report(call(ctx, session, in.Text()))
	}
}

func report(err error) { fmt.Fprintf(os.Stdout, "%q\n", fmt.Sprint(err)) }

func connect(ctx context.Context, server string) (*mcp.ClientSession, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	answers := make(chan url.Values, 1)
	go func() { _ = http.Serve(listener, receive(answers)) }() //nolint:gosec // it ends with the program
	handler, err := auth.NewAuthorizationCodeHandler(config("http://"+listener.Addr().String()+"/callback", answers))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	return mcp.NewClient(&mcp.Implementation{Name: "gosdk", Version: "1"}, nil).
		Connect(ctx, &mcp.StreamableClientTransport{Endpoint: server, OAuthHandler: handler}, nil)
}

// receive passes on what the browser brings back.
func receive(answers chan<- url.Values) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		answers <- r.URL.Query()
	})
}

func config(redirect string, answers <-chan url.Values) *auth.AuthorizationCodeHandlerConfig {
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, RequestRefreshToken: true,
		AcceptUnadvertisedIss: true, // as mainstay does
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			fmt.Fprintln(os.Stderr, args.URL)
			select {
			case q := <-answers:
				if q.Has("error") {
					return nil, errors.New(q.Get("error") + ": " + q.Get("error_description"))
				}
				return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
	switch id, document := os.Getenv("CLIENT_ID"), os.Getenv("CLIENT_METADATA"); {
	case id != "":
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: id, Issuer: os.Getenv("ISSUER")}
		if secret := os.Getenv("CLIENT_SECRET"); secret != "" {
			c.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
		}
	case document != "":
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: document}
	default:
		c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "gosdk", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}}
	}
	return c
}

func call(ctx context.Context, session *mcp.ClientSession, line string) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	tool, arguments, _ := strings.Cut(line, " ")
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil || !result.IsError {
		return err
	}
	var text strings.Builder
	for _, block := range result.Content {
		if b, is := block.(*mcp.TextContent); is {
			text.WriteString(b.Text)
		}
	}
	return errors.New(cmp.Or(text.String(), "the tool failed"))
}
