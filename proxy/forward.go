package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/handshake"
)

// unforwarded are headers that do not cross, with the reason.
var unforwarded = map[string]string{
	"Authorization": ofProxy, "Proxy-Authorization": ofProxy, "Proxy-Authenticate": ofProxy, "Dpop": ofProxy,
	"Cookie": "cookies are for the host's connection to the proxy", "Set-Cookie": "cookies are for the host's connection to the proxy",
	"Host": ofPlace, "Origin": ofPlace,
	"Connection": ofHop, "Proxy-Connection": ofHop, "Keep-Alive": ofHop, "Te": ofHop, "Trailer": ofHop, "Transfer-Encoding": ofHop, "Upgrade": ofHop,
	"Expect": ofHop, "Content-Length": ofHop,
	"Accept": ofProtocol, "Accept-Encoding": ofProtocol, "Content-Type": ofProtocol, "Content-Encoding": ofProtocol, "Last-Event-Id": ofProtocol,
	"Idempotency-Key": ofRetry, "X-Idempotency-Key": ofRetry,
}

const (
	ofProxy    = "the credentials of a host are for the proxy alone; those for the server are the proxy's own"
	ofPlace    = "it says where the proxy is"
	ofHop      = "it belongs to one connection"
	ofProtocol = "the proxy writes its own for each message"
	ofRetry    = "HTTP would repeat requests that may have run"
)

func checkForwarded(name string) error {
	why := unforwarded[name]
	switch {
	case strings.HasPrefix(name, "Mcp-"):
		why = ofProtocol
	case name == "":
		return errors.New("the name of a header is empty")
	case strings.ContainsFunc(name, notInToken):
		return fmt.Errorf("%q is no name of a header", name)
	}
	if why != "" {
		return fmt.Errorf("%s cannot cross: %s", name, why)
	}
	return nil
}

// notInToken reports whether a character is not of the token of RFC 9110 section 5.6.2.
func notInToken(c rune) bool {
	return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
}

// forwarded returns the headers of a request that have these names and cross, nil for none.
func forwarded(names []string, from http.Header) http.Header {
	var out http.Header
	for _, name := range names {
		values := from.Values(name)
		if len(values) == 0 || ofConnection(from, name) {
			continue
		}
		if out == nil {
			out = http.Header{}
		}
		out[name] = slices.Clone(values)
	}
	return out
}

// ofConnection reports whether a request says that a header belongs to its connection (RFC 9110
// section 7.6.1).
func ofConnection(header http.Header, name string) bool {
	for _, value := range header.Values("Connection") {
		for option := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(option), name) {
				return true
			}
		}
	}
	return false
}

// Keys of contexts for the http.Header of a call, and of what belongs to no call.
type (
	callHeadersKey struct{}
	ownHeadersKey  struct{}
)

// ForwardedHeaders returns the HeaderFunc of the transport of a [Target], whose context ctx is:
// see [WithForwardedHeaders]. It is nil if no header crosses.
func ForwardedHeaders(ctx context.Context) func(ctx context.Context) (http.Header, error) {
	own, forwards := ctx.Value(ownHeadersKey{}).(http.Header)
	if !forwards {
		return nil
	}
	return func(ctx context.Context) (http.Header, error) {
		of, called := ctx.Value(callHeadersKey{}).(http.Header)
		if !called || handshake.Is(ctx) { // which a call may have caused
			return own, nil
		}
		return of, nil
	}
}
