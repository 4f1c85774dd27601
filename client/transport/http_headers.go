package transport

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// headersFor calls a function of the application on a goroutine of its own: others may wait for
// this one.
func headersFor(ctx context.Context, f func(context.Context) (http.Header, error)) (header http.Header, err error) {
	callback.Aside("HTTP.HeaderFunc", func(e *callback.Error) { err = e }, func() { header, err = f(ctx) })
	return header, err
}

// checkHeader rejects headers that belong to the protocol or cannot be sent.
func checkHeader(header http.Header) error {
	for name, values := range header {
		if reserved(name) {
			return optionError("the header %s belongs to the protocol and cannot be set", name)
		}
		if name == "" || strings.ContainsAny(name, " :\t\r\n\x00") || slices.ContainsFunc(values, breaksHeader) {
			return optionError("the header %q has a name or value that cannot be sent", name)
		}
	}
	return nil
}
