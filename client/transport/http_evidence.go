package transport

import (
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Bounds of the headers that an error keeps.
const (
	maxKeptHeaders = 20
	maxKeptValues  = 4
	maxKeptValue   = 500 // in runes
)

// telling returns the headers of a response that say what to do about it: who
// may ask, when to ask again, and what to tell the server's people. Others may
// hold anything, cookies included.
func telling(from http.Header) http.Header {
	var kept http.Header
	for name, values := range from {
		if !tells(strings.ToLower(name)) || len(kept) == maxKeptHeaders {
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

func tells(name string) bool {
	switch name {
	case "retry-after", "www-authenticate", "x-request-id", "date", "ratelimit":
		return true
	}
	return strings.HasPrefix(name, "ratelimit-") || strings.HasPrefix(name, "x-ratelimit-")
}
