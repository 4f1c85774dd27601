package auth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/loopback"
)

// Prompt asks a person to log in.
type Prompt struct {
	// Server is the URL of the MCP server, and Issuer the authorization server that the
	// person sees.
	Server, Issuer string
	// URL is the page to open in a browser. It is good for this login only, except that of
	// [Device], where the person types UserCode.
	URL string
	// UserCode is what the person types at the page of [Device]. URLWithCode is that page with
	// the code filled in, for a link or a QR code; "" if the authorization server has none. The
	// person compares the code all the same. Both are "" for other logins.
	UserCode, URLWithCode string
	// Expires is when the page or the code can no longer be used, zero if that is not known.
	Expires time.Time
	// Redirect is where the browser goes afterwards: a page on this machine. It is "" for
	// [Device].
	Redirect string
	// Paste takes the address line of the browser after the login. It is for a browser
	// on another machine, where the page at Redirect cannot be reached. With [Device] it
	// returns an error.
	Paste func(address string) error
}

// OpenBrowser opens a page in the person's browser. It is what a [WithPrompt] function
// calls that shows the URL in its own way.
func OpenBrowser(ctx context.Context, url string) error { return loopback.Open(ctx, url) }

// ErrNoBrowser means that this machine has no browser that could be opened.
var ErrNoBrowser = loopback.ErrNoBrowser

// openBrowser is the prompt of a program that sets none. Without a browser the person
// opens the printed URL. The page of [Device] is for another machine, and is only printed.
func openBrowser(ctx context.Context, p Prompt) error {
	if p.UserCode != "" {
		_, _ = fmt.Fprintf(os.Stderr, "To log in to %s, open this page on any device, and type the code %s:\n  %s\n", p.Server, p.UserCode, p.URL)
		return nil
	}
	_, _ = fmt.Fprintf(os.Stderr, "To log in to %s, open this page:\n  %s\n", p.Server, p.URL)
	if err := OpenBrowser(ctx, p.URL); err != nil && !errors.Is(err, ErrNoBrowser) {
		return err
	}
	return nil
}
