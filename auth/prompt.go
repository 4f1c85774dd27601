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
	// URL is the page to open in a browser. It is for this login only, except with [Device],
	// where the person types UserCode.
	URL string
	// UserCode is the code to type at the page of [Device]. URLWithCode is that page with the
	// code filled in, for a link or a QR code; "" if the authorization server has none. The
	// person should still compare the code. Both are "" for other logins.
	UserCode, URLWithCode string
	// Expires is when the page or the code expires, zero if that is unknown.
	Expires time.Time
	// Redirect is the redirect URL on this machine, "" for [Device].
	Redirect string
	// Paste takes the address line of the browser after the login, for a browser on another
	// machine, which cannot reach Redirect. With [Device] it returns an error.
	Paste func(address string) error
}

// OpenBrowser opens a page in the person's browser. Functions of [WithPrompt] may call it.
func OpenBrowser(ctx context.Context, url string) error { return loopback.Open(ctx, url) }

// HasBrowser reports whether this machine has a program that opens pages, as [OpenBrowser] needs.
func HasBrowser() bool { return loopback.CanOpen() }

// ErrNoBrowser means that no browser can be opened on this machine.
var ErrNoBrowser = loopback.ErrNoBrowser

// openBrowser is the default prompt. Without a browser the person opens the printed URL. The
// page of [Device] is for another machine, and is only printed.
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
