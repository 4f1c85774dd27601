package auth_test

import (
	"context"
	"fmt"
	"os"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
)

// The browser opens when the server asks for a login.
func Example() {
	ctx := context.Background()
	c, err := client.Dial(ctx, "https://example.com/mcp", client.WithAuthorizer(auth.Login()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()
}

// A person logs in once; the next run of the program uses the stored token.
func ExampleLogin() {
	ctx := context.Background()
	store, err := auth.OpenFiles(os.ExpandEnv("$HOME/.config/my-program/tokens"))
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := client.Dial(ctx, "https://example.com/mcp", client.WithAuthorizer(auth.Login(auth.WithStore(store))))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()
}

// A program logs in with its own id and secret.
func ExampleClientCredentials() {
	c, err := client.Dial(context.Background(), "https://example.com/mcp", client.WithAuthorizer(auth.ClientCredentials("my-program", os.Getenv("CLIENT_SECRET"))))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()
}

// The document that is published at the URL of WithClientMetadata.
func ExampleClientMetadata() {
	document, err := auth.ClientMetadata("https://example.com/ticket-bot.json", auth.WithClientName("Ticket Bot"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(document))
	// Output:
	// {
	//   "client_id": "https://example.com/ticket-bot.json",
	//   "redirect_uris": [
	//     "http://127.0.0.1/callback"
	//   ],
	//   "client_name": "Ticket Bot",
	//   "application_type": "native",
	//   "grant_types": [
	//     "authorization_code",
	//     "refresh_token"
	//   ],
	//   "response_types": [
	//     "code"
	//   ],
	//   "token_endpoint_auth_method": "none"
	// }
}
