package auth

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/mainstay-mcp/mainstay/auth/internal/loopback"
)

// Prompt asks a person to log in.
type Prompt struct {
	// Server is the URL of the MCP server, and Issuer the authorization server that the
	// person sees.
	Server, Issuer string
	// URL is the page to open in a browser. It is good for this login only.
	URL string
	// Redirect is where the browser goes afterwards: a page on this machine.
	Redirect string
	// Paste takes the address line of the browser after the login. It is for a browser
	// on another machine, where the page at Redirect cannot be reached.
	Paste func(address string) error
}

// OpenBrowser opens a page in the person's browser. It is what a [WithPrompt] function
// calls that shows the URL in its own way.
func OpenBrowser(ctx context.Context, url string) error { return loopback.Open(ctx, url) }

// ErrNoBrowser means that this machine has no browser that could be opened.
var ErrNoBrowser = loopback.ErrNoBrowser

// openBrowser is the prompt of a program that sets none. Without a browser the person
// opens the printed URL.
func openBrowser(ctx context.Context, p Prompt) error {
	_, _ = fmt.Fprintf(os.Stderr, "To log in to %s, open this page:\n  %s\n", p.Server, p.URL)
	if err := OpenBrowser(ctx, p.URL); err != nil && !errors.Is(err, ErrNoBrowser) {
		return err
	}
	return nil
}
