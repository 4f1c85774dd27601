package keychain_test

import (
	"context"
	"fmt"
	"os"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/auth/keychain"
)

// The tokens of a login are encrypted in a folder, with a key of the keychain.
func ExampleOpen() {
	ctx, folder := context.Background(), os.ExpandEnv("$HOME/.config/my-program/tokens")
	store, err := keychain.Open(ctx, folder, "my program")
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = auth.Login(auth.WithStore(store)) // for client.WithAuthorizer
}
