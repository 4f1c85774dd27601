// Package clients puts every client behind one small interface: the raw floor,
// Mainstay, the official go-sdk and mcp-go, each set up the way its
// documentation shows it.
package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// The names of the clients, as they stand in tables.
const (
	// Floor is the same bytes without a client: a write and a read on pipes, or
	// a POST with net/http.
	Floor = "floor"
	// FloorGoroutine reads the pipe on a goroutine of its own and finds the
	// caller by id, which every client that takes concurrent calls must do.
	FloorGoroutine = "floor+goroutine"
	Mainstay       = "mainstay"
	GoSDK          = "gosdk"
	MCPGo          = "mcpgo"
)

// The revisions measured.
const (
	Legacy = "2025-11-25"
	Modern = "2026-07-28"
)

// Options say which server to reach and how.
type Options struct {
	// Argv starts the server for stdio; empty means HTTP at URL.
	Argv []string
	URL  string
	// Modern pins 2026-07-28, otherwise 2025-11-25 is pinned. Every client is
	// told, so none pays for finding out.
	Modern bool
	// Lift takes away limits on the size of messages, where the client has an
	// option for it.
	Lift bool
	// Listen keeps the server's own stream (GET) open.
	Listen bool
	// Pool gives the peers an http.Client that keeps its connections. Without
	// it they have the default one, which keeps two for each host. Mainstay
	// always has its own default.
	Pool bool
	// Shared is the round tripper of all clients of a process that has many; nil
	// means each has what its options give it.
	Shared http.RoundTripper
	// SkipList leaves the list of tools alone while connecting, for clients
	// that would fetch it.
	SkipList bool
}

// Client is one open connection. Call and List may be used from many goroutines
// at once, except on Floor over stdio.
type Client interface {
	// Call calls a tool and returns the length of the text it answered. args
	// is a map[string]any or a json.RawMessage. The floor does not decode: it
	// may return more for texts with escapes.
	Call(ctx context.Context, tool string, args any) (int, error)
	// List fetches the list of tools and returns its length.
	List(ctx context.Context) (int, error)
	Close() error
}

// Keeper is a client that keeps the list of tools.
type Keeper interface {
	// Known looks for a tool in the list, asking the server only if it must.
	// A tool the server does not have is an error.
	Known(ctx context.Context, tool string) error
}

// Dial connects the named client.
func Dial(ctx context.Context, name string, o Options) (Client, error) {
	switch name {
	case Floor:
		if len(o.Argv) > 0 {
			return dialPipe(ctx, o)
		}
		return dialPlainHTTP(ctx, o)
	case FloorGoroutine:
		if len(o.Argv) > 0 {
			return dialReader(ctx, o)
		}
		return dialPlainHTTP(ctx, o)
	case Mainstay:
		return dialMainstay(ctx, o)
	case GoSDK:
		return dialGoSDK(ctx, o)
	case MCPGo:
		return dialMCPGo(ctx, o)
	}
	return nil, fmt.Errorf("no client %q", name)
}

func version(o Options) string {
	if o.Modern {
		return Modern
	}
	return Legacy
}

// NewPool returns a transport that keeps a connection for each call in flight.
func NewPool() *http.Transport {
	return &http.Transport{MaxIdleConns: 0, MaxIdleConnsPerHost: 20_000}
}

// httpClient is what a peer is given: nil is its own default.
func httpClient(o Options) *http.Client {
	switch {
	case o.Shared != nil:
		return &http.Client{Transport: o.Shared}
	case o.Pool:
		return &http.Client{Transport: NewPool()}
	}
	return nil
}

// failed makes an error of a result that says the tool failed, or that has no text.
func failed(client, tool string) error {
	return fmt.Errorf("%s: tool %s failed or answered no text", client, tool)
}

// rawArgs is args as bytes, for the floors.
func rawArgs(args any) ([]byte, error) {
	if raw, ok := args.(json.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(args)
}
