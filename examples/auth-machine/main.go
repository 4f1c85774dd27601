// Command auth-machine calls a tool of an MCP server that demands a login, as a program
// of its own: with a secret, a private key or a token of its platform. Nobody is asked.
//
//	export MCP_CLIENT_ID=robot MCP_ISSUER=https://login.example.com
//	MCP_CLIENT_SECRET=... go run ./examples/auth-machine https://example.com/mcp greet '{"name": "Ada"}'
//	MCP_CLIENT_KEY=key.pem go run ./examples/auth-machine https://example.com/mcp greet '{"name": "Ada"}'
//
// MCP_CLIENT_KEY is a file with an EC key (P-256) for ES256; MCP_CLIENT_ALGORITHM names
// another algorithm. MCP_CLIENT_TOKEN is a file in which the platform keeps a token for
// the program, such as a service account token.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "auth-machine:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, env func(string) string, out io.Writer) error {
	if len(args) != 3 {
		return errors.New("usage: auth-machine URL TOOL ARGUMENTS")
	}
	login, err := credentials(env)
	if err != nil {
		return err
	}
	c, err := client.Dial(ctx, args[0], client.WithAuthorizer(login))
	if err != nil {
		return err
	}
	defer c.Close()
	result, err := c.CallTool(ctx, args[1], json.RawMessage(args[2]))
	if err == nil {
		err = c.ToolError(args[1], result)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, result.Text())
	return nil
}

// credentials are those of the environment. The issuer is set, so that no other
// authorization server gets the secret.
func credentials(env func(string) string) (*auth.Authorizer, error) {
	id, issuer := env("MCP_CLIENT_ID"), auth.WithIssuer(env("MCP_ISSUER"))
	if id == "" || env("MCP_ISSUER") == "" {
		return nil, errors.New("set MCP_CLIENT_ID and MCP_ISSUER")
	}
	if secret := env("MCP_CLIENT_SECRET"); secret != "" {
		return auth.ClientCredentials(id, secret, issuer), nil
	}
	if file := env("MCP_CLIENT_TOKEN"); file != "" {
		return auth.Workload(id, func(context.Context) (string, error) {
			token, err := os.ReadFile(file) // the platform replaces it from time to time
			return strings.TrimSpace(string(token)), err
		}, issuer), nil
	}
	file := env("MCP_CLIENT_KEY")
	if file == "" {
		return nil, errors.New("set MCP_CLIENT_SECRET, MCP_CLIENT_KEY or MCP_CLIENT_TOKEN")
	}
	key, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return auth.PrivateKeyJWT(id, key, cmp.Or(env("MCP_CLIENT_ALGORITHM"), "ES256"), issuer), nil
}
