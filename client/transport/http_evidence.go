package transport

import (
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Limits of the headers in an error.
const (
	maxKeptHeaders = 20
	maxKeptValues  = 4
	maxKeptValue   = 500 // in runes
)

// keptHeaders returns the headers of a response that help to handle its error: authorization, retry
// times, and ids for the operators of the server. Other headers may have secrets, such as
// cookies.
func keptHeaders(from http.Header) http.Header {
	var kept http.Header
	for name, values := range from {
		if !isKeptHeader(strings.ToLower(name)) || len(kept) == maxKeptHeaders {
			continue
		}
		for _, v := range values[:min(len(values), maxKeptValues)] {
			if kept == nil {
				kept = http.Header{}
			}
			kept[name] = append(kept[name], jsonrpc.Printable(v, maxKeptValue))
		}
	}
	return kept
}

func isKeptHeader(name string) bool {
	switch name {
	case "retry-after", "www-authenticate", "x-request-id", "date", "ratelimit":
		return true
	}
	return strings.HasPrefix(name, "ratelimit-") || strings.HasPrefix(name, "x-ratelimit-")
}
