package proxy

import (
	"context"
	"slices"

	"github.com/mainstay-mcp/mainstay/client"
)

// Target connects to the server behind a proxy. It is called for each host, and for a host
// of the stateless era once for each set of capabilities that it declares, with and without
// log messages. opts are what
// the proxy needs: pass them to [client.Connect] after options of your own.
type Target func(ctx context.Context, opts ...client.Option) (*client.Client, error)

// URL is a server that [client.Dial] reaches.
func URL(url string, own ...client.Option) Target {
	return func(ctx context.Context, opts ...client.Option) (*client.Client, error) {
		return client.Dial(ctx, url, slices.Concat(own, opts)...)
	}
}

// Command is a server that [client.DialCommand] starts.
func Command(argv []string, own ...client.Option) Target {
	return func(ctx context.Context, opts ...client.Option) (*client.Client, error) {
		return client.DialCommand(ctx, argv, slices.Concat(own, opts)...)
	}
}
